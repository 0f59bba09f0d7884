-- Asks for known answers and prints their checksums: the command "verify". On the data that
-- load.lua makes, and in one connection, two sound servers of one DBMS print the same.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local answers = dofile(here .. "answers.lua")
local rows = dofile(here .. "rows.lua")

local ROUNDS = 40

local query, answer = answers.query, answers.answer
local con, kind

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

local PREPARED = {{"point", "id = "}, {"key", "k = "}, {"range", "id < "}}
local PREPARED_READ = "SELECT id, k, c, pad FROM sbtest%d WHERE %s%s"

-- By the client's protocol: of the results sysbench can only tell how many rows there are.
local function read_prepared(source, number, size)
   for _, each in ipairs(PREPARED) do
      local name, condition = unpack(each)
      local statement = con:prepare(PREPARED_READ:format(number, condition, "?"))
      local param = statement:bind_create(sysbench.sql.type.INT)
      statement:bind_param(param)
      local found = {}
      for round = 1, ROUNDS do
         param:set(source() % math.min(size, 1000) + 1)
         found[round] = tonumber(statement:execute().nrows)
      end
      statement:close()
      print(string.format("answer %d/prepared/%s %s", number, name, table.concat(found, ",")))
   end
end

local BY_SQL = {
   pgsql = {parameter = "$1", prepare = "PREPARE hone (INT) AS %s", execute = "EXECUTE hone (%d)"},
   mysql = {parameter = "?", prepare = "PREPARE hone FROM '%s'", value = "SET @value = %d",
            execute = "EXECUTE hone USING @value"},
}

-- By SQL: the server has the same plans, and the rows are told.
local function read_prepared_by_sql(source, number, size)
   local words = BY_SQL[kind]
   for _, each in ipairs(PREPARED) do
      local name, condition = unpack(each)
      query(words.prepare, PREPARED_READ:format(number, condition, words.parameter))
      for _ = 1, ROUNDS do
         local value = source() % math.min(size, 200) + 1
         if words.value then
            query(words.value, value)
         end
         answer(string.format("%d/prepared-by-sql/%s", number, name), query(words.execute, value))
      end
      query("DEALLOCATE PREPARE hone")
   end
end

-- The columns that tell all rows of a table apart, added up by the server.
local function totals(number, condition)
   return query("SELECT COUNT(*), SUM(id), SUM(k), %s, %s FROM sbtest%d WHERE %s",
                answers.sum_of("c"), answers.sum_of("pad"), number, condition)
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

local function check(number)
   answers.check(number, rows.name(number), "COUNT(*), SUM(id), SUM(k)", {
      {name = "primary", all = "id >= 0"},
      {name = "secondary", key = "k_" .. number, all = "k >= 0"},
   })
end

local function verify_table(number, size)
   local source = rows.source(1000003 + number)
   check(number) -- before writes, which could mend what is damaged
   answer(number .. "/loaded", totals(number, "id > 0"))
   read(source, number, size)
   read_prepared(source, number, size)
   read_prepared_by_sql(source, number, size)
   write(source, number, size)
   read(source, number, size)
   check(number)
end

answers.declare(function (connection, name)
   con, kind = connection, name
   for number = 1, sysbench.opt.tables do
      verify_table(number, sysbench.opt.table_size)
   end
end)
