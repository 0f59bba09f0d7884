-- Rows by their keys: one "=", or an IN list.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")

local options = {
   points = {"how many keys are asked for at once", 1},
   hot = {"always ask for the same keys, which lie side by side", false},
   on_id = {"ask by the primary key, otherwise by the secondary index", true},
   columns = {"what is read: c, pad, key, or key,c", "c"},
}

common.step(options, function (con)
   local count = sysbench.opt.points
   local key = sysbench.opt.on_id and "id" or "k"
   local columns = sysbench.opt.columns:gsub("key", key)
   local condition = count == 1 and "=?" or " IN (" .. common.placeholders(count) .. ")"
   local sql = "SELECT " .. columns .. " FROM sbtest%d WHERE " .. key .. condition
   local selects = common.prepare(con, sql, common.times(count, common.INT))
   local hot = sysbench.opt.hot and math.floor(sysbench.opt.table_size / 2)

   return function ()
      local select = selects[common.any_table()]
      for at = 1, count do
         select.params[at]:set(hot and hot + at or common.any_id())
      end
      select.statement:execute()
   end
end)
