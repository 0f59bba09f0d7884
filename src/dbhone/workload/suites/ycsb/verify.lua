-- Asks for known answers and prints them: the command "verify". Two sound servers print the same.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local answers = dofile(here .. "../sysbench/scripts/answers.lua")
local rows = dofile(here .. "../sysbench/scripts/rows.lua")
local records = dofile(here .. "records.lua")

local ROUNDS = 300

local function read(name, source, size)
   for round = 1, ROUNDS do
      local key = records.key(source() % size)
      answers.answer(name .. "/read/" .. round, answers.query(
         "SELECT * FROM usertable WHERE ycsb_key = '%s'", key))
      answers.answer(name .. "/scan/" .. round, answers.query(
         "SELECT * FROM usertable WHERE ycsb_key >= '%s' ORDER BY ycsb_key LIMIT %d", key,
         source() % 100 + 1), true)
   end
end

local function write(source, size)
   local value = records.values(2)
   for round = 1, ROUNDS do
      answers.query("UPDATE usertable SET field%d = '%s' WHERE ycsb_key = '%s'",
                    source() % records.FIELDS, value(), records.key(source() % size))
      answers.query("INSERT INTO usertable (ycsb_key, field0) VALUES ('%s', '%s')",
                    records.key(size + round), value())
   end
end

local function check()
   local sums = {"COUNT(*)", answers.sum_of("ycsb_key")}
   for field = 0, records.FIELDS - 1 do
      sums[#sums + 1] = answers.sum_of("field" .. field)
   end
   local all = table.concat(sums, ", ")
   answers.check("usertable", "usertable", all, {{name = "primary", all = "ycsb_key >= ''"}})
   answers.answer("usertable/contents", answers.query("SELECT %s FROM usertable", all))
end

answers.declare(function ()
   local source, size = rows.source(1000003), sysbench.opt.table_size
   check()
   read("loaded", source, size)
   write(source, size)
   read("changed", source, size)
   check()
end)
