-- Makes the server finish what a load or writes left behind: the command "settle".

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local rows = dofile(here .. "rows.lua")
local settling = dofile(here .. "settling.lua")

sysbench.cmdline.options = {
   tables = {"how many tables", 1},
   table_size = {"how many rows in each table", 10000},
}

local driver -- kept for as long as its connection: Lua would end it otherwise

local function settle()
   driver = sysbench.sql.driver()
   local con = driver:connect()
   local names = {}
   for number = 1, sysbench.opt.tables do
      names[number] = rows.name(number)
   end
   settling(con, driver:name(), names)
   con:disconnect()
end

sysbench.cmdline.commands = {settle = {settle}}
