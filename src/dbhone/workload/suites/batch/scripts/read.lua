-- Reads all of t1, by the table and by its secondary index, to fill caches.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../../sysbench/scripts/common.lua")
local tables = dofile(here .. "tables.lua")

common.step(tables.OPTIONS, function (con, kind)
   local sums = "SELECT COUNT(*), SUM(LENGTH(id_2)), SUM(LENGTH(id_3)) FROM t1"

   return function ()
      if kind == "pgsql" then
         con:query(sums)
         return
      end
      con:query(sums .. " FORCE INDEX (PRIMARY)")
      con:query(sums .. " FORCE INDEX (ukey) WHERE id_2 >= ''")
   end
end)
