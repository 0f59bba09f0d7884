-- Reads a whole table and returns nothing of it, not prepared. A thread has one table, which others
-- have, too, where there are more threads than tables.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")

common.step({}, function (con)
   local number = sysbench.tid % sysbench.opt.tables + 1
   local sql = string.format("SELECT * FROM sbtest%d WHERE LENGTH(c) < 0", number)

   return function ()
      con:query(sql)
   end
end)
