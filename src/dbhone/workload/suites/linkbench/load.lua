-- Makes and fills the three tables: the command "prepare".

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../sysbench/scripts/common.lua")
local rows = dofile(here .. "../sysbench/scripts/rows.lua")
local graph = dofile(here .. "graph.lua")

common.declare({})

local driver -- kept for as long as its connection: Lua would end it otherwise

-- MySQL's storage engine and character set are the server's defaults. There the table of links has
-- partitions, as its authors advise; PostgreSQL's has none.
local TABLES = {
   mysql = {
      "CREATE TABLE linktable (id1 BIGINT UNSIGNED NOT NULL, id2 BIGINT UNSIGNED NOT NULL,"
         .. " link_type BIGINT UNSIGNED NOT NULL, visibility TINYINT NOT NULL,"
         .. " data VARCHAR(255) NOT NULL, time BIGINT UNSIGNED NOT NULL,"
         .. " version INT UNSIGNED NOT NULL, PRIMARY KEY (link_type, id1, id2),"
         .. " KEY id1_type (id1, link_type, visibility, time, id2, version, data))"
         .. " PARTITION BY KEY (id1) PARTITIONS 16",
      "CREATE TABLE counttable (id BIGINT UNSIGNED NOT NULL, link_type BIGINT UNSIGNED NOT NULL,"
         .. " count INT UNSIGNED NOT NULL, time BIGINT UNSIGNED NOT NULL,"
         .. " version BIGINT UNSIGNED NOT NULL, PRIMARY KEY (id, link_type))",
      "CREATE TABLE nodetable (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, type INT UNSIGNED NOT NULL,"
         .. " version BIGINT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL,"
         .. " data MEDIUMTEXT NOT NULL, PRIMARY KEY (id))",
   },
   pgsql = {
      "CREATE TABLE linktable (id1 BIGINT NOT NULL, id2 BIGINT NOT NULL, link_type BIGINT NOT NULL,"
         .. " visibility SMALLINT NOT NULL, data VARCHAR(255) NOT NULL, time BIGINT NOT NULL,"
         .. " version INT NOT NULL, PRIMARY KEY (link_type, id1, id2))",
      "CREATE INDEX id1_type ON linktable"
         .. " (id1, link_type, visibility, time, id2, version, data)",
      "CREATE TABLE counttable (id BIGINT NOT NULL, link_type BIGINT NOT NULL, count INT NOT NULL,"
         .. " time BIGINT NOT NULL, version BIGINT NOT NULL, PRIMARY KEY (id, link_type))",
      "CREATE TABLE nodetable (id BIGSERIAL PRIMARY KEY, type INT NOT NULL, version BIGINT NOT NULL,"
         .. " time INT NOT NULL, data TEXT NOT NULL)",
   },
}

-- Call ADD with each row of a table, as a statement has it, for all nodes.
local function fill(con, table_name, each_node)
   con:bulk_insert_init("INSERT INTO " .. table_name .. " VALUES")
   for id = 1, sysbench.opt.table_size do
      each_node(id, function (...)
         con:bulk_insert_next(string.format(...))
      end)
   end
   con:bulk_insert_done()
end

local function prepare()
   driver = sysbench.sql.driver()
   local con = driver:connect()
   local loaded, source = graph.of(sysbench.opt.table_size), rows.source(1)
   local function draw()
      return source() / 4294967296
   end
   local link_contents = graph.contents(graph.LINK, draw)
   local node_contents = graph.contents(graph.NODE, draw)
   for _, sql in ipairs(TABLES[driver:name()]) do
      con:query(sql)
   end
   fill(con, "nodetable", function (id, add)
      add("(%d,%d,0,%d,'%s')", id, graph.NODE_TYPE, graph.LOADED_AT / 1000, node_contents())
   end)
   fill(con, "linktable", function (id, add)
      for number, link_type in ipairs(graph.LINK_TYPES) do
         for at = 0, loaded.links(id, number) - 1 do
            add("(%d,%d,%d,1,'%s',%d,0)", id, id + at, link_type, link_contents(),
                graph.LOADED_AT + at)
         end
      end
   end)
   fill(con, "counttable", function (id, add)
      for number, link_type in ipairs(graph.LINK_TYPES) do
         local count = loaded.links(id, number)
         if count > 0 then
            add("(%d,%d,%d,%d,0)", id, link_type, count, graph.LOADED_AT)
         end
      end
   end)
   if driver:name() == "pgsql" then -- what is inserted later gets the ids after these
      con:query(string.format("SELECT setval('nodetable_id_seq', %d)", sysbench.opt.table_size))
   end
   con:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare}}
