-- Makes the server finish what the load left behind: the command "settle".

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../../sysbench/scripts/common.lua")
local settling = dofile(here .. "../../sysbench/scripts/settling.lua")
local tables = dofile(here .. "tables.lua")

common.declare(tables.OPTIONS)

local driver -- kept for as long as its connection: Lua would end it otherwise

local function settle()
   driver = sysbench.sql.driver()
   local con = driver:connect()
   settling(con, driver:name(), {"t1"})
   con:disconnect()
end

sysbench.cmdline.commands = {settle = {settle}}
