-- Rows whose keys lie in a range.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")

local options = {
   range_size = {"how far the range's last key lies above its first", 100},
   on_id = {"ask by the primary key, otherwise by the secondary index", true},
   columns = {"what is read: key, or key,c", "key"},
}

common.step(options, function (con)
   local key = sysbench.opt.on_id and "id" or "k"
   local columns = sysbench.opt.columns:gsub("key", key)
   local sql = "SELECT " .. columns .. " FROM sbtest%d WHERE " .. key .. " BETWEEN ? AND ?"
   local selects = common.prepare(con, sql, {common.INT, common.INT})
   local size = sysbench.opt.range_size

   return function ()
      local select = selects[common.any_table()]
      local first = common.any_id()
      select.params[1]:set(first)
      select.params[2]:set(first + size)
      select.statement:execute()
   end
end)
