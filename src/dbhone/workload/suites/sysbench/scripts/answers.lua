-- What the commands "verify" of all suites print: a server's answers, which another's are compared
-- with, and what checks of its tables found.
--
-- Each line is "answer NAME ROWS CHECKSUM", "sound NAME" for a check that found nothing, or
-- "damage NAME: WHAT" for one that did. "verified" is the last line.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local checksum = dofile(here .. "checksum.lua")

local answers = {}
local driver -- kept for as long as its connection: Lua would end it otherwise
local con

-- Return the result of a statement, whose values take the places in the text.
function answers.query(text, ...)
   return con:query(text:format(...))
end

function answers.answer(name, result, in_order)
   local digest = in_order and checksum.of_rows or checksum.of_set
   print(string.format("answer %s %d %s", name, tonumber(result.nrows), digest(result)))
end

-- Return what adds up a column of texts, so that the sum tells whether one was changed.
function answers.sum_of(column)
   return (driver:name() == "pgsql" and "SUM(('x' || SUBSTR(MD5(%s), 1, 8))::BIT(32)::BIGINT)"
      or "SUM(CRC32(%s))"):format(column)
end

local function judge(name, complaint)
   print(complaint and "damage " .. name .. ": " .. complaint or "sound " .. name)
end

local function found(sums, table_name, condition)
   return table.concat({con:query_row("SELECT " .. sums .. " FROM " .. table_name .. condition)}, " ")
end

local function compare(name, seen, expected)
   local complaint = string.format("the index has %s, the table %s", seen, expected)
   judge(name, seen ~= expected and complaint or nil)
end

-- Let PostgreSQL read a table in one way only, wherever that way leads to the answer.
local function only_by(way)
   for _, each in ipairs({"seqscan", "indexscan", "indexonlyscan", "bitmapscan"}) do
      answers.query("SET enable_%s = %s", each, each == way and "on" or "off")
   end
end

local OTHER_INDEXES = [[SELECT COALESCE(
      'ALTER TABLE %s DROP CONSTRAINT ' || quote_ident(conname), 'DROP INDEX ' || indexrelid::regclass)
   FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
   LEFT JOIN pg_constraint ON conindid = indexrelid
   WHERE indrelid = '%s'::regclass AND NOT (CASE WHEN indisprimary THEN '' ELSE relname END = '%s')]]

-- PostgreSQL chooses among indexes by itself, so that the others are away meanwhile.
local function with_one_index(table_name, index, ask)
   answers.query("BEGIN")
   local others = answers.query(OTHER_INDEXES, table_name, table_name, index.key or "")
   local removals = {}
   for at = 1, tonumber(others.nrows) do
      removals[at] = others:fetch_row()[1]
   end
   for _, removal in ipairs(removals) do
      answers.query(removal)
   end
   local answer = ask()
   answers.query("ROLLBACK")
   return answer
end

local function check_pgsql(name, table_name, sums, indexes)
   answers.query("SET max_parallel_workers_per_gather = 0")
   only_by("seqscan")
   local expected = found(sums, table_name, "")
   only_by("indexscan")
   for _, index in ipairs(indexes) do
      local by_index = with_one_index(table_name, index, function ()
         return found(sums, table_name, " WHERE " .. index.all)
      end)
      compare(name .. "/" .. index.name, by_index, expected)
   end
   answers.query("RESET ALL")
end

local function check_mysql(name, table_name, sums, indexes)
   local expected = found(sums, table_name, " FORCE INDEX (PRIMARY)")
   for _, index in ipairs(indexes) do
      if index.key then
         local by_index = string.format(" FORCE INDEX (%s) WHERE %s", index.key, index.all)
         compare(name .. "/" .. index.name, found(sums, table_name, by_index), expected)
      end
   end
   local result, complaint = answers.query("CHECK TABLE %s EXTENDED", table_name), nil
   for _ = 1, tonumber(result.nrows) do
      local _, _, kind, text = unpack(result:fetch_row(), 1, 4)
      -- An engine that cannot check says so in a note.
      if kind ~= "note" and not (kind == "status" and text == "OK") then
         complaint = (complaint and complaint .. "; " or "") .. kind .. ": " .. text
      end
   end
   judge(name .. "/check", complaint)
end

-- Check a table. Each of its INDEXES must lead to the same rows, which SUMS tell apart, as the table
-- itself. An index has a name, a condition by which it leads to ALL rows, and, unless it is the
-- primary key, the KEY that is its name in the table.
function answers.check(name, table_name, sums, indexes)
   local check = driver:name() == "pgsql" and check_pgsql or check_mysql
   check(name, table_name, sums, indexes)
end

-- Declare the command, which asks what VERIFY asks.
function answers.declare(verify)
   sysbench.cmdline.options = {
      tables = {"how many tables", 1},
      table_size = {"how many rows in each table", 10000},
   }
   sysbench.cmdline.commands = {verify = {function ()
      driver = sysbench.sql.driver()
      con = driver:connect()
      verify(con, driver:name())
      con:disconnect()
      print("verified")
   end}}
end

return answers
