-- Asks for known answers and prints them: the command "verify". Two sound servers print the same.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local answers = dofile(here .. "../sysbench/scripts/answers.lua")
local rows = dofile(here .. "../sysbench/scripts/rows.lua")
local graph = dofile(here .. "graph.lua")
local statements = dofile(here .. "statements.lua")

local ROUNDS = 500

local function check()
   answers.check("links", "linktable",
      "COUNT(*), SUM(id1), SUM(id2), SUM(visibility), SUM(version), " .. answers.sum_of("data"),
      {{name = "primary", all = "link_type >= 0"}, {name = "id1_type", key = "id1_type", all = "id1 >= 0"}})
   answers.check("nodes", "nodetable", "COUNT(*), SUM(id), SUM(version), " .. answers.sum_of("data"),
                 {{name = "primary", all = "id >= 0"}})
   answers.check("counts", "counttable", "COUNT(*), SUM(id), SUM(count), SUM(version)",
                 {{name = "primary", all = "id >= 0"}})
   -- Links are counted in the same transactions in which they come and go.
   answers.answer("miscounted", answers.query(
      "SELECT id, link_type FROM counttable c WHERE count <> (SELECT COUNT(*) FROM linktable l"
         .. " WHERE l.id1 = c.id AND l.link_type = c.link_type AND l.visibility = 1)"))
end

local function read(ask, name, source, size)
   for round = 1, ROUNDS do
      local id, link_type = source() % size + 1, graph.LINK_TYPES[source() % 2 + 1]
      local function answer(what, result)
         answers.answer(string.format("%s/%s/%d", name, what, round), result)
      end
      answer("node", ask.get_node(id))
      answer("count", ask.count_links(id, link_type))
      answer("list", ask.get_link_list(id, link_type, 2 * graph.LOADED_AT))
      answer("links", ask.get_links(id, link_type, {id, id + 1, id + 3}))
   end
end

local function write(ask, source, size)
   local function draw()
      return source() / 4294967296
   end
   local data, time = graph.contents(graph.LINK, draw), graph.LOADED_AT + 1e6
   for round = 1, ROUNDS do
      local id, link_type = source() % size + 1, graph.LINK_TYPES[source() % 2 + 1]
      ask.add_link(id, id + source() % 4, link_type, data(), time + round)
      ask.delete_link(id, id + source() % 4, link_type, time + round)
      ask.add_node(data(), round)
      ask.update_node(source() % size + 1, data(), round)
      ask.delete_node(source() % size + 1)
   end
end

answers.declare(function (con, kind)
   local source, size = rows.source(1000003), sysbench.opt.table_size
   local ask = statements.of(con, kind)
   check()
   read(ask, "loaded", source, size)
   write(ask, source, size)
   read(ask, "changed", source, size)
   check()
end)
