-- Inserts rows one at a time, not prepared. The server gives the ids: threads never collide,
-- whatever other steps deleted.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")
local rows = dofile(here .. "rows.lua")

common.step({}, function (con)
   return function ()
      con:query(string.format(
         "INSERT INTO sbtest%d (k, c, pad) VALUES (%d, '%s', '%s')",
         common.any_table(), common.any_id(),
         sysbench.rand.string(rows.C), sysbench.rand.string(rows.PAD)))
   end
end)
