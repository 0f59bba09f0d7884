-- Fills t2, asks for known answers on both tables and prints them: the command "verify". Two
-- sound servers print the same, whichever DBMS they are. The lines are those of
-- sysbench/scripts/verify.lua.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../../sysbench/scripts/common.lua")
local tables = dofile(here .. "tables.lua")

common.declare(tables.OPTIONS)

local driver -- kept for as long as its connection: Lua would end it otherwise
local con, is_pgsql

local function row(query)
   return table.concat({con:query_row(query)}, " ")
end

local function judge(name, complaint)
   print(complaint and "damage " .. name .. ": " .. complaint or "sound " .. name)
end

-- A sum that tells whether rows were lost, changed or exchanged: FROM is a table with what
-- follows it.
local function total(from)
   local number = is_pgsql and "CONVERT_FROM(%s, 'LATIN1')::BIGINT" or "CAST(%s AS UNSIGNED)"
   local two, three = number:format("id_2"), number:format("id_3")
   return string.format(
      "SELECT COUNT(*), MIN(id_1), MAX(id_1), SUM(%s), SUM(%s), SUM(MOD(id_1 * %s + %s, 1000003))"
         .. " FROM %s", two, three, two, three, from)
end

-- The secondary index must lead to the same rows as the table.
local function compare(name, by_table, by_index)
   print(string.format("answer %s %s", name, by_table))
   judge(name .. "/ukey", by_index ~= by_table and "the index has " .. by_index or nil)
end

local function check_mysql(name)
   compare(name, row(total(name .. " FORCE INDEX (PRIMARY)")),
           row(total(name .. " FORCE INDEX (ukey) WHERE id_2 >= ''")))
   local _, _, kind, text = con:query_row("CHECK TABLE " .. name .. " EXTENDED")
   -- An engine that cannot check says so in a note; other DBMS have nothing to say here.
   if kind ~= "note" and text ~= "OK" then
      judge(name .. "/check", kind .. ": " .. text)
   end
end

local function check_pgsql(name)
   con:query("SET max_parallel_workers_per_gather = 0")
   con:query("SET enable_bitmapscan = off")
   con:query("SET enable_indexscan = off")
   local by_table = row(total(name))
   con:query("SET enable_indexscan = on")
   con:query("SET enable_seqscan = off")
   compare(name, by_table, row(total(name .. " WHERE id_2 >= ''")))
   con:query("RESET ALL")
end

local function verify()
   driver = sysbench.sql.driver()
   con, is_pgsql = driver:connect(), driver:name() == "pgsql"
   local check = is_pgsql and check_pgsql or check_mysql
   check("t1")
   tables.make_target(con, driver:name())
   con:query(tables.FILL)
   check("t2")
   print("answer both " .. row("SELECT COUNT(*) FROM t1 JOIN t2 ON t1.id_1 = t2.id_1"
      .. " AND t1.id_2 = t2.id_2 AND t1.id_3 = t2.id_3"))
   con:disconnect()
   print("verified")
end

sysbench.cmdline.commands = {verify = {verify}}
