-- Reads the transactions that hone wrote for its clients: see workload/replay_file.py, which has
-- the same layout. The file is mapped, so that it may be as long as it likes.

local ffi = require("ffi")

ffi.cdef[[
   struct dbhone_replay {
      char magic[8]; uint32_t parts, stretches; uint64_t index;
   };
   struct dbhone_statement {
      uint32_t template, part, flags, length, parameters;
   };
   int open(const char *path, int flags, ...);
   void *mmap(void *address, size_t length, int protection, int flags, int file, long offset);
   long lseek(int file, long offset, int whence);
]]

local transactions = {}
local READ, SHARED, END = 1, 1, 2
local MOST_PARAMETERS = 65535

transactions.FAILED, transactions.BOUND, transactions.NAMED, transactions.STABLE = 1, 2, 4, 8
local FRAME = 16 -- it begins or ends a transaction

-- Return what is in the file at PATH.
function transactions.open(path)
   local file = ffi.C.open(path, 0)
   local length = file >= 0 and ffi.C.lseek(file, 0, END) or 0
   local start = length > 0 and ffi.C.mmap(nil, length, READ, SHARED, file, 0)
   if not start or ffi.cast("intptr_t", start) == -1 then
      error("the transactions cannot be mapped: " .. path, 0)
   end
   local bytes = ffi.cast("const uint8_t *", start)
   local head = ffi.cast("const struct dbhone_replay *", bytes)
   if ffi.string(head.magic, 8) ~= "DBHONE-1" then
      error("these are no transactions: " .. path, 0)
   end
   return {
      parts = head.parts,
      stretches = head.stretches,
      bytes = bytes,
      index = ffi.cast("const uint64_t *", bytes + head.index),
      values = ffi.new("const char *[?]", MOST_PARAMETERS),
   }
end

-- Return the least number from FIRST on that has no divisor in common with COUNT: steps of it come by
-- everything.
local function coprime(first, count)
   local function common(one, other)
      return other == 0 and one or common(other, one % other)
   end
   while common(count, first) > 1 do
      first = first + 1
   end
   return first
end

-- Return how far the next stretch is, of so many, so that any stretches in a row lie evenly over the
-- whole workload: multiples of the golden ratio do (the Kronecker sequence of lowest discrepancy).
local function stride(count)
   return coprime(math.max(1, math.floor(count * (math.sqrt(5) - 1) / 2 + 0.5)), count)
end

-- Return a function that calls DO with every statement of the next transaction, or AGAIN with those of
-- the last one: its head, its text, and how many parameters it has, which are in FILE.values. DO
-- returns whether to go on.
-- The client is the NUMBER-th of so many CLIENTS, from nought, and all begin behind each other at the
-- stretch FIRST. Each has stretches of its own first, so that nothing is replayed twice before all of
-- it was replayed once, and then takes the others': a slow one does not change the shares for long.
-- Without CLIENTS there is one, which takes the stretches in their order. With a PART these are the
-- transactions that have statements of this kind, without the others of their statements. BACKWARDS
-- they begin with the stretches that others take last.
function transactions.reader(file, first, number_of_client, clients, part, backwards)
   local count = file.stretches
   local far = clients and stride(count) or 1
   local parties, own = clients or 1, number_of_client or 0
   local index = own
   local left, at, start = 0, 0, 0
   local bytes, values = file.bytes, file.values

   local function number()
      local value = ffi.cast("const uint32_t *", bytes + at)[0]
      at = at + 4
      return value
   end

   local function text(length)
      local start = bytes + at
      at = at + length + 4 - length % 4 -- a zero at least, and a multiple of four bytes
      return ffi.cast("const char *", start)
   end

   local function next_stretch()
      while index >= count do
         own = (own + 1) % parties
         index = own
      end
      local place = backwards and -1 - index or index
      local found = (first + far * place) % count
      index = index + parties
      return found
   end

   -- Go to the next transaction.
   local function advance()
      if left == 0 then
         at = tonumber(file.index[next_stretch()])
         left = number()
      end
      left = left - 1
   end

   -- Call DO with every statement of the transaction that begins here, and go behind it.
   local function walk(do_statement)
      local going = true
      for _ = 1, number() do
         local head = ffi.cast("const struct dbhone_statement *", bytes + at)
         at = at + ffi.sizeof("struct dbhone_statement")
         local sql = text(head.length)
         for parameter = 0, tonumber(head.parameters) - 1 do
            local length = number()
            values[parameter] = length ~= 0xFFFFFFFF and text(length) or nil
         end
         going = going and do_statement(head, sql)
      end
   end

   if not part then
      return function (do_statement, again)
         if not again then
            advance()
            start = at
         end
         at = start
         walk(do_statement)
      end
   end

   local found
   local function look(head)
      found = found or head.part == part
      return true
   end

   -- Go to the next transaction that has a statement of the part.
   local function seek()
      local begun = 0
      found = false
      while not found do
         begun = begun + (left == 0 and 1 or 0)
         if begun > count + 1 then
            error("no transaction here has a statement of the kind that was chosen", 0)
         end
         advance()
         start = at
         walk(look)
      end
   end

   return function (do_statement, again)
      if not again then
         seek()
      end
      at = start
      walk(function (head, sql)
         if head.part == part or bit.band(head.flags, FRAME) ~= 0 then
            return do_statement(head, sql)
         end
         return true
      end)
   end
end

-- Have the server execute a statement; return its SQLSTATE or number if it failed, else nil.
function transactions.execute(con, file, head, sql, read)
   if bit.band(head.flags, transactions.BOUND) == 0 then
      return con:text(sql, head.length, read)
   end
   local named = bit.band(head.flags, transactions.NAMED) ~= 0
   return con:bound(named, sql, head.parameters, file.values, read)
end

-- Return whether a statement that failed may be sent in another way.
function transactions.another_way(con, file, head, sql, failure)
   return bit.band(head.flags, transactions.BOUND) ~= 0
      and con:another_way(sql, head.parameters, file.values, failure)
end

-- Return a function that executes the next transaction of a reader, and undoes it at the first failure
-- that the original did not have. What may be sent in another way is executed once more, from its
-- beginning. EXECUTE executes a statement, and returns its failure. DONE gets the statement, whether it
-- failed as the original did not, the failure, and whether all is executed again because of it. The
-- function returns whether it failed at last.
function transactions.performer(con, file, next_transaction, execute, done)
   local failed, again
   local function go_on(head, sql)
      local failure = execute(head, sql)
      failed = failure ~= nil and bit.band(head.flags, transactions.FAILED) == 0
      again = failed and transactions.another_way(con, file, head, sql, failure)
      done(head, failed, failure, again)
      return not failed
   end
   return function ()
      again = false
      repeat
         failed = false
         next_transaction(go_on, again)
         if failed then
            con:text("ROLLBACK", 8)
         end
      until not again
      return failed
   end
end

return transactions
