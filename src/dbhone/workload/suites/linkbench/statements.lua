-- What the operations of LinkBench ask a server, by statements that are not prepared, as the
-- original's are.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local graph = dofile(here .. "graph.lua")

local statements = {}

local LIST_AT_MOST = 10000

-- What the two kinds of servers say in their own words. "changed" asks MySQL's family what an insert
-- did, which sysbench does not tell.
local MYSQL = {
   add = "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version)"
      .. " VALUES (%d, %d, %d, 1, '%s', %d, 0) ON DUPLICATE KEY UPDATE visibility = VALUES(visibility)",
   changed = "SELECT ROW_COUNT()",
   count = "INSERT INTO counttable (id, link_type, count, time, version) VALUES (%d, %d, %d, %d, 0)"
      .. " ON DUPLICATE KEY UPDATE count = GREATEST(CAST(count AS SIGNED) + %d, 0),"
      .. " time = VALUES(time), version = version + 1",
   index = " FORCE INDEX (id1_type)",
   outcomes = {["1"] = "added", ["2"] = "shown"},
}
local PGSQL = {
   add = "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version)"
      .. " VALUES (%d, %d, %d, 1, '%s', %d, 0) ON CONFLICT (link_type, id1, id2) DO UPDATE"
      .. " SET visibility = 1 WHERE linktable.visibility <> 1 RETURNING xmax = 0",
   count = "INSERT INTO counttable (id, link_type, count, time, version) VALUES (%d, %d, %d, %d, 0)"
      .. " ON CONFLICT (id, link_type) DO UPDATE SET count = GREATEST(counttable.count + %d, 0),"
      .. " time = EXCLUDED.time, version = counttable.version + 1",
   index = "",
   outcomes = {t = "added", f = "shown"},
}
local LINK = " WHERE id1 = %d AND id2 = %d AND link_type = %d"
local LINKS = "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable"

-- Return the operations on a connection of a KIND of servers. Those that read return the result.
function statements.of(con, kind)
   local words, own = kind == "pgsql" and PGSQL or MYSQL, {}

   local function query(sql, ...)
      return con:query(sql:format(...))
   end

   local function first_value(sql, ...)
      return (con:query_row(sql:format(...)))
   end

   -- Add a link, or change the one that is there. Its node has one more unless it was there to be seen.
   function own.add_link(id1, id2, link_type, data, time)
      query("BEGIN")
      local outcome
      if words.changed then
         query(words.add, id1, id2, link_type, data, time)
         outcome = words.outcomes[first_value(words.changed)]
      else
         outcome = words.outcomes[first_value(words.add, id1, id2, link_type, data, time)]
      end
      if outcome then
         query(words.count, id1, link_type, 1, time, 1)
      end
      if outcome ~= "added" then
         query("UPDATE linktable SET visibility = 1, data = '%s', time = %d, version = version + 1" .. LINK,
               data, time, id1, id2, link_type)
      end
      query("COMMIT")
   end

   -- Hide a link, and count one less, if it is there to be seen.
   function own.delete_link(id1, id2, link_type, time)
      query("BEGIN")
      if first_value("SELECT visibility FROM linktable" .. LINK .. " FOR UPDATE", id1, id2, link_type) == "1" then
         query("UPDATE linktable SET visibility = 0" .. LINK, id1, id2, link_type)
         query(words.count, id1, link_type, 0, time, -1)
      end
      query("COMMIT")
   end

   function own.count_links(id1, link_type)
      return query("SELECT count FROM counttable WHERE id = %d AND link_type = %d", id1, link_type)
   end

   function own.get_links(id1, link_type, id2s)
      return query(LINKS .. " WHERE id1 = %d AND link_type = %d AND id2 IN (%s)", id1, link_type,
                   table.concat(id2s, ", "))
   end

   -- Return the links to be seen that are no newer than TIME, and whether there may be older ones.
   function own.get_link_list(id1, link_type, time)
      local result = query(
         LINKS .. words.index .. " WHERE id1 = %d AND link_type = %d AND time >= 0 AND time <= %d"
            .. " AND visibility = 1 ORDER BY time DESC LIMIT %d", id1, link_type, time, LIST_AT_MOST)
      return result, result.nrows == LIST_AT_MOST
   end

   function own.get_node(id)
      return query("SELECT id, type, version, time, data FROM nodetable WHERE id = %d", id)
   end

   function own.add_node(data, time)
      query("INSERT INTO nodetable (type, version, time, data) VALUES (%d, 1, %d, '%s')",
            graph.NODE_TYPE, time, data)
   end

   function own.update_node(id, data, time)
      query("UPDATE nodetable SET version = 2, time = %d, data = '%s' WHERE id = %d AND type = %d",
            time, data, id, graph.NODE_TYPE)
   end

   function own.delete_node(id)
      query("DELETE FROM nodetable WHERE id = %d AND type = %d", id, graph.NODE_TYPE)
   end

   return own
end

return statements
