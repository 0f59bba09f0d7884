-- Makes the server finish what loading left behind: the command "settle".

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local settling = dofile(here .. "../../sysbench/scripts/settling.lua")
local client = dofile(here .. "client.lua")
local tables = dofile(here .. "tables.lua")

local driver -- kept for as long as its connection: Lua would end it otherwise

local function settle()
   driver = sysbench.sql.driver()
   local con, own = driver:connect(), client.connect()
   con:query(client.WITHOUT_TIMEOUTS[driver:name()])
   client.query(own, client.WITHOUT_TIMEOUTS[driver:name()])
   settling(con, driver:name(), tables.names(own))
   own:close()
   con:disconnect()
end

sysbench.cmdline.commands = {settle = {settle}}
