-- Asks for known answers and prints their checksums: the command "verify". On the data that
-- load.lua makes, and in one connection, two sound servers of one DBMS print the same.
--
-- Each line is "answer NAME ROWS CHECKSUM", "sound NAME" for a check that found nothing, or
-- "damage NAME: WHAT" for one that did. "verified" is the last line.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local checksum = dofile(here .. "checksum.lua")
local rows = dofile(here .. "rows.lua")

local ROUNDS = 40

sysbench.cmdline.options = {
   tables = {"how many tables", 1},
   table_size = {"how many rows in each table", 10000},
}

local driver -- kept for as long as its connection: Lua would end it otherwise
local con, is_pgsql

local function query(text, ...)
   return con:query(text:format(...))
end

local function answer(name, result, in_order)
   local digest = in_order and checksum.of_rows or checksum.of_set
   print(string.format("answer %s %d %s", name, tonumber(result.nrows), digest(result)))
end

local function judge(name, complaint)
   print(complaint and "damage " .. name .. ": " .. complaint or "sound " .. name)
end

-- What a step's script reads: the name, the columns, the condition, and whether the rows come
-- in a known order. In the condition %d is a random id.
local READS = {
   {"point", "c", "id = %d"},
   {"row", "id, k, c, pad", "id = %d"},
   {"inlist", "id, c", "id IN (%d, %d, %d, %d, %d, %d, %d, %d, %d, %d)"},
   {"inlist-k", "k, c", "k IN (%d, %d, %d, %d, %d, %d, %d, %d, %d, %d)"},
   {"inlist-k-covered", "k", "k IN (%d, %d, %d, %d, %d, %d, %d, %d, %d, %d)"},
   {"range", "c", "id BETWEEN %d AND %d"},
   {"range-covered", "id", "id BETWEEN %d AND %d"},
   {"range-k", "k, c", "k BETWEEN %d AND %d"},
   {"range-k-covered", "k", "k BETWEEN %d AND %d"},
   {"sum", "SUM(k)", "id BETWEEN %d AND %d"},
   {"count", "COUNT(c)", "id BETWEEN %d AND %d"},
   {"order", "c", "id BETWEEN %d AND %d ORDER BY c", true},
   {"distinct", "DISTINCT c", "id BETWEEN %d AND %d ORDER BY c", true},
   {"order-down", "id, k", "k BETWEEN %d AND %d ORDER BY k DESC, id", true},
   {"grouped", "k, COUNT(*), MIN(pad), MAX(c)", "id BETWEEN %d AND %d GROUP BY k ORDER BY k", true},
   {"compared", "id", "id BETWEEN %d AND %d AND c < pad AND LENGTH(pad) > 10"},
   {"matched", "id", "id BETWEEN %d AND %d AND c LIKE '%%7%%42%%'"},
}

-- Return what fills a condition's places: ids, or the ends of a range with up to 300 ids.
local function values(condition, source, size)
   local _, places = condition:gsub("%%d", "")
   local list = {}
   for at = 1, places do
      list[at] = source() % size + 1
   end
   if condition:find("BETWEEN", 1, true) then
      list[2] = list[1] + source() % 300
   end
   return unpack(list)
end

local function read(source, number, size)
   for _, each in ipairs(READS) do
      local name, columns, condition, in_order = unpack(each)
      for round = 1, ROUNDS do
         local where = condition:format(values(condition, source, size))
         local result = query("SELECT %s FROM sbtest%d WHERE %s", columns, number, where)
         answer(string.format("%d/%s/%d", number, name, round), result, in_order)
      end
   end
   answer(number .. "/scan", query("SELECT id FROM sbtest%d WHERE LENGTH(c) < 0", number))
   answer(number .. "/joined", query(
      "SELECT a.id, b.k FROM sbtest%d a JOIN sbtest%d b ON a.k = b.id WHERE a.id <= 200",
      number, number))
end

-- Prepared statements: of their results sysbench can only tell how many rows there are.
local function read_prepared(source, number, size)
   for _, condition in ipairs({"id = ?", "k = ?", "id < ?"}) do
      local statement = con:prepare(
         string.format("SELECT id, k, c, pad FROM sbtest%d WHERE %s", number, condition))
      local param = statement:bind_create(sysbench.sql.type.INT)
      statement:bind_param(param)
      local found = {}
      for round = 1, ROUNDS do
         param:set(source() % math.min(size, 1000) + 1)
         found[round] = tonumber(statement:execute().nrows)
      end
      statement:close()
      print(string.format("answer %d/prepared/%s %s", number, condition:gsub("%W", ""),
                          table.concat(found, ",")))
   end
end

-- The columns that tell all rows of a table apart, added up by the server.
local function totals(number, condition)
   local add = is_pgsql and "SUM(('x' || SUBSTR(MD5(%s), 1, 8))::BIT(32)::BIGINT)" or "SUM(CRC32(%s))"
   return query("SELECT COUNT(*), SUM(id), SUM(k), %s, %s FROM sbtest%d WHERE %s",
                add:format("c"), add:format("pad"), number, condition)
end

local function write(source, number, size)
   local c, pad = rows.texts(rows.C, source), rows.texts(rows.PAD, source)
   local function id()
      return source() % size + 1
   end
   for round = 1, 5 * ROUNDS do
      query("BEGIN")
      query("UPDATE sbtest%d SET k = k + 1 WHERE id = %d", number, id())
      query("UPDATE sbtest%d SET c = '%s' WHERE id = %d", number, c(), id())
      query("UPDATE sbtest%d SET c = '%s' WHERE id IN (%d, %d, %d)", number, c(), id(), id(), id())
      local again = id()
      query("DELETE FROM sbtest%d WHERE id = %d", number, again)
      query("INSERT INTO sbtest%d (id, k, c, pad) VALUES (%d, %d, '%s', '%s')",
            number, again, id(), c(), pad())
      query("DELETE FROM sbtest%d WHERE id = %d", number, id())
      -- Every fourth transaction never happened.
      query(round % 4 == 0 and "ROLLBACK" or "COMMIT")
      -- The server gives the id.
      query("INSERT INTO sbtest%d (k, c, pad) VALUES (%d, '%s', '%s')", number, id(), c(), pad())
   end
   answer(number .. "/inserted", query(
      "SELECT COUNT(*), SUM(k), MIN(c), MAX(pad) FROM sbtest%d WHERE id > %d", number, size))
   answer(number .. "/contents", totals(number, "id <= " .. size))
end

-- Return what the server finds on its way through a table: each column's sum, and how many.
local function found(number, condition)
   return table.concat({con:query_row(string.format(
      "SELECT COUNT(*), SUM(id), SUM(k) FROM sbtest%d ", number) .. condition)}, " ")
end

-- Each index must lead to the same rows as the table itself.
local function compare(number, name, seen, expected)
   local complaint = string.format("the index has %s, the table %s", seen, expected)
   judge(number .. "/" .. name, seen ~= expected and complaint or nil)
end

-- Let PostgreSQL read a table in one way only, wherever that way leads to the answer.
local function only_by(way)
   for _, each in ipairs({"seqscan", "indexscan", "indexonlyscan", "bitmapscan"}) do
      query("SET enable_%s = %s", each, each == way and "on" or "off")
   end
end

local function check_pgsql(number)
   query("SET max_parallel_workers_per_gather = 0")
   only_by("seqscan")
   local expected = found(number, "")
   only_by("indexscan")
   compare(number, "primary", found(number, "WHERE id >= 0"), expected)
   compare(number, "secondary", found(number, "WHERE k >= 0"), expected)
   query("RESET ALL")
end

local function check_mysql(number)
   local expected = found(number, "FORCE INDEX (PRIMARY)")
   local by_index = found(number, "FORCE INDEX (k_" .. number .. ") WHERE k >= 0")
   compare(number, "secondary", by_index, expected)
   local result, complaint = query("CHECK TABLE sbtest%d EXTENDED", number), nil
   for _ = 1, tonumber(result.nrows) do
      local _, _, kind, text = unpack(result:fetch_row(), 1, 4)
      -- An engine that cannot check says so in a note.
      if kind ~= "note" and not (kind == "status" and text == "OK") then
         complaint = (complaint and complaint .. "; " or "") .. kind .. ": " .. text
      end
   end
   judge(number .. "/check", complaint)
end

local function verify_table(number, size)
   local check = is_pgsql and check_pgsql or check_mysql
   local source = rows.source(1000003 + number)
   check(number) -- before writes, which could mend what is damaged
   answer(number .. "/loaded", totals(number, "id > 0"))
   read(source, number, size)
   read_prepared(source, number, size)
   write(source, number, size)
   read(source, number, size)
   check(number)
end

local function verify()
   driver = sysbench.sql.driver()
   con, is_pgsql = driver:connect(), driver:name() == "pgsql"
   for number = 1, sysbench.opt.tables do
      verify_table(number, sysbench.opt.table_size)
   end
   con:disconnect()
   print("verified")
end

sysbench.cmdline.commands = {verify = {verify}}
