-- How a server finishes what a load or writes left behind.
--
-- PostgreSQL: vacuum, statistics, a checkpoint. MySQL's family: statistics, and all changed
-- pages written (InnoDB) or all of memory flushed (MyRocks).

local PATIENCE = 1800 -- seconds

local function settle_pgsql(con, names)
   local version = tonumber((con:query_row("SHOW server_version_num")))
   -- Since version 12 a vacuum leaves indexes alone where few rows are dead, unless told not to.
   local how = version >= 120000 and "(ANALYZE, INDEX_CLEANUP ON)" or "ANALYZE"
   for _, name in ipairs(names) do
      con:query("VACUUM " .. how .. " " .. name)
   end
   con:query("CHECKPOINT")
end

-- Return the value of a variable or status of a MySQL server, nil if it has none of the name.
local function value(con, kind, name)
   local _, found = con:query_row(string.format("SHOW GLOBAL %s LIKE '%s'", kind, name))
   return found
end

-- By themselves servers write 200 pages or fewer in a second, for minutes.
local WRITE_ALL = {
   -- The lower mark first: it may not be above the upper one. Of the capacities the larger one first.
   {"innodb_max_dirty_pages_pct_lwm", 0},
   {"innodb_max_dirty_pages_pct", 0},
   {"innodb_io_capacity_max", 20000},
   {"innodb_io_capacity", 20000},
}

local function write_innodb_pages(con)
   local before = {}
   for _, setting in ipairs(WRITE_ALL) do
      local name, wanted = unpack(setting)
      local had = value(con, "VARIABLES", name)
      before[#before + 1] = {name, had}
      -- A capacity is never lowered: the server would lower the other one with it.
      con:query(string.format(
         "SET GLOBAL %s = %d", name, wanted > 0 and math.max(wanted, tonumber(had)) or 0))
   end
   local deadline = os.time() + PATIENCE
   while tonumber(value(con, "STATUS", "Innodb_buffer_pool_pages_dirty")) > 0 do
      if os.time() > deadline then
         error("InnoDB did not write its changed pages in time")
      end
      con:query("SELECT SLEEP(0.1)")
   end
   for at = #before, 1, -1 do
      con:query(string.format("SET GLOBAL %s = %s", before[at][1], before[at][2]))
   end
end

local function flush_rocksdb(con)
   -- The second one exists since 2023.
   for _, name in ipairs({"rocksdb_force_flush_memtable_now", "rocksdb_compact_lzero_now"}) do
      if value(con, "VARIABLES", name) then
         con:query("SET GLOBAL " .. name .. " = 1")
      end
   end
end

local function settle_mysql(con, names)
   for _, name in ipairs(names) do
      con:query("ANALYZE TABLE " .. name)
   end
   if value(con, "VARIABLES", "innodb_max_dirty_pages_pct_lwm") then
      write_innodb_pages(con)
   end
   flush_rocksdb(con)
end

-- Settle the tables NAMES on a server; KIND is the name of sysbench's driver.
return function (con, kind, names)
   local settle = kind == "pgsql" and settle_pgsql or settle_mysql
   settle(con, names)
end
