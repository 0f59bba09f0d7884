-- A transaction of several statements, each kind so many times.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")
local rows = dofile(here .. "rows.lua")

local options = {
   explicit = {"begin and commit; otherwise each statement is a transaction", true},
   range_size = {"how many rows a range has", 100},
   point_selects = {"how many selects of one row", 0},
   simple_ranges = {"how many selects of a range", 0},
   sum_ranges = {"how many sums over a range", 0},
   order_ranges = {"how many sorted ranges", 0},
   distinct_ranges = {"how many ranges of distinct values", 0},
   count_ranges = {"how many counts over a range", 0},
   index_updates = {"how many updates of the indexed column", 0},
   other_updates = {"how many updates of a column without an index", 0},
   replacements = {"how many rows are deleted and inserted again", 0},
   every_range = {"how many more of each kind of range but counts", 0},
   every_write = {"how many more of each kind of write", 0},
}

local WHERE_RANGE = " FROM sbtest%d WHERE id BETWEEN ? AND ?"
local RANGES = {
   {"simple_ranges", "SELECT c" .. WHERE_RANGE},
   {"sum_ranges", "SELECT SUM(k)" .. WHERE_RANGE},
   {"order_ranges", "SELECT c" .. WHERE_RANGE .. " ORDER BY c"},
   {"distinct_ranges", "SELECT DISTINCT c" .. WHERE_RANGE .. " ORDER BY c"},
}

-- Each of these returns what is done once for each time that its option asks for.

local function range(con, sql)
   local prepared = common.prepare(con, sql, {common.INT, common.INT})
   return function (number)
      local each, first = prepared[number], common.any_id()
      each.params[1]:set(first)
      each.params[2]:set(first + sysbench.opt.range_size - 1)
      each.statement:execute()
   end
end

local function by_id(con, sql)
   local prepared = common.prepare(con, sql, {common.INT})
   return function (number)
      prepared[number].params[1]:set(common.any_id())
      prepared[number].statement:execute()
   end
end

local function other_update(con)
   local prepared = common.prepare(
      con, "UPDATE sbtest%d SET c=? WHERE id=?", {common.C, common.INT})
   return function (number)
      local each = prepared[number]
      each.params[1]:set_rand_str(rows.C)
      each.params[2]:set(common.any_id())
      each.statement:execute()
   end
end

local function replacement(con)
   local deletes = common.prepare(con, "DELETE FROM sbtest%d WHERE id=?", {common.INT})
   local inserts = common.prepare(
      con, "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)",
      {common.INT, common.INT, common.C, common.PAD})
   return function (number)
      local id, insert = common.any_id(), inserts[number]
      deletes[number].params[1]:set(id)
      insert.params[1]:set(id)
      insert.params[2]:set(common.any_id())
      insert.params[3]:set_rand_str(rows.C)
      insert.params[4]:set_rand_str(rows.PAD)
      deletes[number].statement:execute()
      insert.statement:execute()
   end
end

common.step(options, function (con)
   local actions, opt = {}, sysbench.opt
   local function add(times, make, sql)
      if times > 0 then
         actions[#actions + 1] = {times = times, act = make(con, sql)}
      end
   end

   add(opt.point_selects, by_id, "SELECT c FROM sbtest%d WHERE id=?")
   for _, each in ipairs(RANGES) do
      add(opt[each[1]] + opt.every_range, range, each[2])
   end
   add(opt.count_ranges, range, "SELECT COUNT(c)" .. WHERE_RANGE)
   add(opt.index_updates + opt.every_write, by_id, "UPDATE sbtest%d SET k=k+1 WHERE id=?")
   add(opt.other_updates + opt.every_write, other_update)
   add(opt.replacements + opt.every_write, replacement)
   local begin = opt.explicit and con:prepare("BEGIN")
   local commit = opt.explicit and con:prepare("COMMIT")

   return function ()
      if begin then
         begin:execute()
      end
      for _, each in ipairs(actions) do
         local number = common.any_table() -- one table for all of a kind
         for _ = 1, each.times do
            each.act(number)
         end
      end
      if commit then
         commit:execute()
      end
   end
end)
