-- An event is one operation on a record, drawn by the shares of a workload.
--
-- Requests are distributed as the original's are (B. F. Cooper and others, "Benchmarking cloud
-- serving systems with YCSB", SoCC 2010). "zipfian": ten thousand million ranks with the exponent
-- 0.99, whose hashes are scattered over all records. "latest": the same exponent, by how lately a
-- record was inserted. Zipf's numbers are exact here; the original approximates them.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../sysbench/scripts/common.lua")
local zipf = dofile(here .. "../sysbench/scripts/zipf.lua")
local records = dofile(here .. "records.lua")

local EXPONENT, RANKS = 0.99, 1e10
local LONGEST_SCAN = 100
local KEY = {sysbench.sql.type.VARCHAR, records.KEY_LENGTH}
local FIELD = {sysbench.sql.type.VARCHAR, records.LENGTH}
local VALUE = ("@"):rep(records.LENGTH)

local options = {
   reads = {"how many of a hundred operations read a record", 0},
   updates = {"how many change one field", 0},
   inserts = {"how many insert a record", 0},
   scans = {"how many read up to a hundred records in the order of their keys", 0},
   read_modify_writes = {"how many read a record and then change one field", 0},
   requests = {"which records: zipfian, latest or uniform", "zipfian"},
}

-- The records that a client knows: those that were loaded, and behind them its own. Two clients,
-- or two runs, do not insert the same ones: each begins somewhere in 2^50 numbers.
local function known_records()
   local loaded, inserted = sysbench.opt.table_size, 0
   local first = 2 ^ 50 + math.floor(sysbench.rand.uniform_double() * 2 ^ 50)
   return {
      count = function ()
         return loaded + inserted
      end,
      key = function (number)
         return records.key(number < loaded and number or first + number - loaded)
      end,
      next_key = function ()
         inserted = inserted + 1
         return records.key(first + inserted - 1)
      end,
   }
end

-- Each of these returns a function that draws a record's number.
local REQUESTS = {
   uniform = function (known)
      return function ()
         return sysbench.rand.uniform(0, known.count() - 1)
      end
   end,
   zipfian = function (known)
      local rank = zipf.source(RANKS, EXPONENT)
      return function ()
         return tonumber(records.hash(rank() - 1) % known.count())
      end
   end,
   latest = function (known)
      local count, age = 0, nil
      return function ()
         if count ~= known.count() then
            count = known.count()
            age = zipf.source(count, EXPONENT)
         end
         return count - age()
      end
   end,
}

local function operations(con, known, draw)
   local function prepare(sql, ...)
      return common.prepare(con, sql, {...})[1]
   end
   local select = prepare("SELECT * FROM usertable WHERE ycsb_key = ?", KEY)
   local scan = prepare(
      "SELECT * FROM usertable WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?", KEY, common.INT)
   local insert = prepare(
      "INSERT INTO usertable VALUES (" .. common.placeholders(records.FIELDS + 1) .. ")",
      KEY, unpack(common.times(records.FIELDS, FIELD)))
   local updates = {}
   for field = 0, records.FIELDS - 1 do
      updates[field] = prepare(
         "UPDATE usertable SET field" .. field .. " = ? WHERE ycsb_key = ?", FIELD, KEY)
   end

   local function read(key)
      select.params[1]:set(key)
      select.statement:execute()
   end

   local function change(key)
      local update = updates[sysbench.rand.uniform(0, records.FIELDS - 1)]
      update.params[1]:set_rand_str(VALUE)
      update.params[2]:set(key)
      update.statement:execute()
   end

   return {
      reads = {"read", function ()
         read(known.key(draw()))
      end},
      updates = {"update", function ()
         change(known.key(draw()))
      end},
      inserts = {"insert", function ()
         insert.params[1]:set(known.next_key())
         for field = 1, records.FIELDS do
            insert.params[field + 1]:set_rand_str(VALUE)
         end
         insert.statement:execute()
      end},
      scans = {"scan", function ()
         scan.params[1]:set(known.key(draw()))
         scan.params[2]:set(sysbench.rand.uniform(1, LONGEST_SCAN))
         scan.statement:execute()
      end},
      read_modify_writes = {"read-modify-write", function ()
         local key = known.key(draw())
         read(key)
         change(key)
      end},
   }
end

common.step(options, function (con, _, perform)
   local known = known_records()
   local draw = REQUESTS[sysbench.opt.requests](known)
   local shares = {}
   for option, operation in pairs(operations(con, known, draw)) do
      shares[#shares + 1] = {share = sysbench.opt[option], part = operation[1], act = operation[2]}
   end
   local any = common.any_of(shares)

   return function ()
      local operation = any()
      perform(operation.part, operation.act)
   end
end)
