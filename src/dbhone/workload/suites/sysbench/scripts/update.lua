-- Updates rows by their ids: the indexed column k, or c, which no index has.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")
local rows = dofile(here .. "rows.lua")
local zipf = dofile(here .. "zipf.lua")

local options = {
   column = {"what is updated: k or c", "c"},
   points = {"how many rows at once", 1},
   zipfian = {"update some rows far more often than others", false},
}

common.step(options, function (con)
   local count = sysbench.opt.points
   local any_id = sysbench.opt.zipfian and zipf.source(sysbench.opt.table_size) or common.any_id
   local sets_c = sysbench.opt.column == "c"
   local types = common.times(count, common.INT)
   if sets_c then
      table.insert(types, 1, common.C)
   end
   local condition = count == 1 and "id=?" or "id IN (" .. common.placeholders(count) .. ")"
   local sql = "UPDATE sbtest%d SET " .. (sets_c and "c=?" or "k=k+1") .. " WHERE " .. condition
   local updates = common.prepare(con, sql, types)

   return function ()
      local update, before = updates[common.any_table()], 0
      if sets_c then
         update.params[1]:set_rand_str(rows.C)
         before = 1
      end
      for at = 1, count do
         update.params[before + at]:set(any_id())
      end
      update.statement:execute()
   end
end)
