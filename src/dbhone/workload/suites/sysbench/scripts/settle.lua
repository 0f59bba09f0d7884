-- Makes the server finish what a load or writes left behind: the command "settle". It is about all
-- tables of the database, whichever suite made them.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local settling = dofile(here .. "settling.lua")

local TABLES = {
   pgsql = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()",
   mysql = "SELECT CONCAT('`', table_name, '`') FROM information_schema.tables"
      .. " WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
}

local driver -- kept for as long as its connection: Lua would end it otherwise

local function settle()
   driver = sysbench.sql.driver()
   local con, names = driver:connect(), {}
   local result = con:query(TABLES[driver:name()] .. " ORDER BY 1")
   for at = 1, tonumber(result.nrows) do
      names[at] = result:fetch_row()[1]
   end
   settling(con, driver:name(), names)
   con:disconnect()
end

sysbench.cmdline.commands = {settle = {settle}}
