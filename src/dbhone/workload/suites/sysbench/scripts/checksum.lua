-- Checksums of what a server returned: CRC-32 (ISO 3309), as 8 hexadecimal digits.

local bit = require("bit")

local checksum = {}

local POLYNOMIAL = bit.tobit(0xEDB88320)
local TABLE = {}

for byte = 0, 255 do
   local value = bit.tobit(byte)
   for _ = 1, 8 do
      local odd = bit.band(value, 1) == 1
      value = bit.rshift(value, 1)
      value = odd and bit.bxor(value, POLYNOMIAL) or value
   end
   TABLE[byte] = value
end

local function extend(value, text)
   for at = 1, #text do
      local byte = bit.band(bit.bxor(value, text:byte(at)), 255)
      value = bit.bxor(bit.rshift(value, 8), TABLE[byte])
   end
   return value
end

local function of_row(value, row, columns)
   for column = 1, columns do
      value = extend(value, row[column] or "NULL")
      value = extend(value, "|")
   end
   return value
end

local function in_hexadecimal(value)
   return bit.tohex(bit.bnot(value))
end

-- Return the checksum of a result's rows, which must come in a known order.
function checksum.of_rows(result)
   local value = bit.tobit(-1)
   for _ = 1, result.nrows do
      value = of_row(value, result:fetch_row(), result.nfields)
   end
   return in_hexadecimal(value)
end

-- Return a checksum of a result's rows that does not depend on their order.
function checksum.of_set(result)
   local sum = 0
   for _ = 1, result.nrows do
      sum = bit.tobit(sum + of_row(bit.tobit(-1), result:fetch_row(), result.nfields))
   end
   return in_hexadecimal(sum)
end

-- Return a checksum of rows that are added one by one, lists of texts, in whatever order.
function checksum.set()
   local sum, count = 0, 0
   return {
      add = function (row)
         sum, count = bit.tobit(sum + of_row(bit.tobit(-1), row, #row)), count + 1
      end,
      count = function ()
         return count
      end,
      digest = function ()
         return in_hexadecimal(sum)
      end,
   }
end

return checksum
