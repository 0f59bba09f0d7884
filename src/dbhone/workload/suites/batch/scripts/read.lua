-- Reads all of t1 to fill caches: by the table, and in MySQL's family by its secondary index, too.

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
