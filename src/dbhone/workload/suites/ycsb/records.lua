-- The table of the suite "ycsb" and the keys of its records.

local ffi = require("ffi")
local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local rows = dofile(here .. "../sysbench/scripts/rows.lua")

local records = {}

records.FIELDS = 10
records.LENGTH = 100 -- of a field, in characters
records.KEY_LENGTH = 24

-- Return the statement that makes the table. MySQL's storage engine is the server's default.
function records.create_table()
   local columns = {"ycsb_key VARCHAR(255) PRIMARY KEY"}
   for field = 0, records.FIELDS - 1 do
      columns[#columns + 1] = "field" .. field .. " TEXT"
   end
   return "CREATE TABLE usertable (" .. table.concat(columns, ", ") .. ")"
end

local OFFSET, PRIME = 0xCBF29CE484222325ULL, 1099511628211ULL

-- Return a number's hash, a signed number of 64 bits that is not negative: FNV-1a (Fowler, Noll,
-- Vo) of its eight bytes, and then its amount, as the original has it.
function records.hash(number)
   local rest, hash = ffi.cast("uint64_t", number), OFFSET
   for _ = 1, 8 do
      hash = bit.bxor(hash, bit.band(rest, 0xFFULL)) * PRIME
      rest = bit.rshift(rest, 8)
   end
   local signed = ffi.cast("int64_t", hash)
   return signed < 0 and -signed or signed
end

-- Return the key of the record with this number, from nought.
function records.key(number)
   return "user" .. tostring(records.hash(number)):sub(1, -3) -- without LuaJIT's "LL"
end

-- Return a source of values of fields, repeatable by its seed.
function records.values(seed)
   return rows.texts(("#"):rep(records.LENGTH), rows.source(seed))
end

return records
