-- Reads a whole table and returns nothing of it, not prepared. A thread has one table, which others
-- have, too, where there are more threads than tables. With --all it reads one table after the other.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")

common.step({all = {"whether a thread reads all tables in turn", false}}, function (con)
   local number = sysbench.tid % sysbench.opt.tables

   return function ()
      con:query(string.format("SELECT * FROM sbtest%d WHERE LENGTH(c) < 0", number + 1))
      if sysbench.opt.all then
         number = (number + 1) % sysbench.opt.tables
      end
   end
end)
