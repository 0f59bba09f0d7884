-- Deletes random rows, one at a time; a row that is gone already costs a search only.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")

common.step({}, function (con)
   local deletes = common.prepare(con, "DELETE FROM sbtest%d WHERE id=?", {common.INT})

   return function ()
      local delete = deletes[common.any_table()]
      delete.params[1]:set(common.any_id())
      delete.statement:execute()
   end
end)
