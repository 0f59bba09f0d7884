-- The tables and their rows: the columns, sizes and kinds of content that sysbench's own
-- OLTP tables have, so that figures compare with other people's.
--
-- What is loaded depends on the number of the table and of its rows alone. It does not
-- depend on sysbench's random numbers, nor on how many threads load.

local bit = require("bit")
local ffi = require("ffi")

local rows = {}

rows.C = "###########-###########-###########-###########-###########-"
   .. "###########-###########-###########-###########-###########"
rows.PAD = "###########-###########-###########-###########-###########"

-- Return the name of a table.
function rows.name(number)
   return "sbtest" .. number
end

-- Return the statement that makes a table. MySQL's storage engine is the server's default.
function rows.create_table(driver, number)
   local id = driver == "pgsql" and "SERIAL" or "INTEGER NOT NULL AUTO_INCREMENT"
   return string.format(
      "CREATE TABLE %s (id %s, k INTEGER DEFAULT 0 NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, "
         .. "pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))",
      rows.name(number), id)
end

-- Return the statement that makes a table's secondary index.
function rows.create_index(number)
   return string.format("CREATE INDEX k_%d ON %s (k)", number, rows.name(number))
end

-- Return a source of repeatable random numbers: a function that gives one from 0 to 2^32 - 1.
-- It is Marsaglia's xorshift (Journal of Statistical Software 8(14), 2003) of 32 bits.
function rows.source(seed)
   local state = bit.tobit(seed * 7919 + 88172645)
   return function ()
      state = bit.bxor(state, bit.lshift(state, 13))
      state = bit.bxor(state, bit.rshift(state, 17))
      state = bit.bxor(state, bit.lshift(state, 5))
      return state % 4294967296
   end
end

-- Return a function that makes strings like the pattern, with a random digit for each "#".
function rows.texts(pattern, source)
   local buffer = ffi.new("uint8_t[?]", #pattern)
   local places = {}
   ffi.copy(buffer, pattern, #pattern)
   for at = 1, #pattern do
      if pattern:byte(at) == 35 then
         places[#places + 1] = at - 1
      end
   end
   return function ()
      local digits, left = 0, 0
      for at = 1, #places do
         if left == 0 then
            digits, left = source(), 9
         end
         local rest = math.floor(digits / 10)
         buffer[places[at]] = 48 + digits - rest * 10
         digits, left = rest, left - 1
      end
      return ffi.string(buffer, #pattern)
   end
end

return rows
