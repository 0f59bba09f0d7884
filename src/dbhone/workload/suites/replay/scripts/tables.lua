-- The tables of a database that a user brought.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local client = dofile(here .. "client.lua")

local tables = {}

local POSTGRESQL = [[
   SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
     AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
   ORDER BY 1]]
local MYSQL = [[
   SELECT CONCAT('`', REPLACE(table_schema, '`', '``'), '`.`', REPLACE(table_name, '`', '``'), '`')
   FROM information_schema.tables
   WHERE table_type = 'BASE TABLE'
     AND table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
   ORDER BY 1]]

-- Return the names of all tables, as statements write them.
function tables.names(con)
   local names = {}
   for _, row in ipairs(client.query(con, sysbench.opt.db_driver == "pgsql" and POSTGRESQL or MYSQL)) do
      names[#names + 1] = row[1]
   end
   return names
end

return tables
