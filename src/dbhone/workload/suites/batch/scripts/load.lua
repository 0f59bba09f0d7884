-- Makes and fills t1: the command "prepare".

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../../sysbench/scripts/common.lua")
local tables = dofile(here .. "tables.lua")

local AT_ONCE = 1000

common.declare(tables.OPTIONS)

local driver -- kept for as long as its connection: Lua would end it otherwise

-- Few of so many random pairs are equal. The index refuses the second one, which is left out.
local function around(kind)
   if kind == "pgsql" then
      return "INSERT INTO t1 (id_1, id_2, id_3) VALUES ", " ON CONFLICT DO NOTHING"
   end
   return "INSERT IGNORE INTO t1 (id_1, id_2, id_3) VALUES ", ""
end

local function fill(con, kind, size)
   local before, after = around(kind)
   local value = tables.source(sysbench.opt.data_seed)
   local rows = {}
   for id = 1, size do
      rows[#rows + 1] = string.format("(%d,'%d','%d')", id, value(), value())
      if #rows == AT_ONCE or id == size then
         con:query(before .. table.concat(rows, ",") .. after)
         rows = {}
      end
   end
end

local function prepare()
   driver = sysbench.sql.driver()
   local con, kind = driver:connect(), driver:name()
   con:query(tables.create(kind))
   fill(con, kind, sysbench.opt.table_size)
   if kind == "pgsql" then -- what is inserted later gets the ids after these
      con:query(string.format("SELECT setval('t1_id_1_seq', %d)", sysbench.opt.table_size))
   end
   con:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare}}
