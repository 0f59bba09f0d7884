-- An event is one request, drawn by the published shares of the ten operations.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../sysbench/scripts/common.lua")
local graph = dofile(here .. "graph.lua")
local statements = dofile(here .. "statements.lua")

local options = {
   add_link = {"how many of a hundred requests add a link", 8.9886601},
   delete_link = {"how many delete one", 2.9907664},
   update_link = {"how many update one", 8.0122125},
   count_link = {"how many ask how many links a node has", 4.8863567},
   get_link = {"how many ask for some links of a node", 0.5261142},
   get_link_list = {"how many ask for a node's links, the newest first", 50.7119145},
   get_node = {"how many read a node", 12.9326683},
   add_node = {"how many add a node", 2.5732789},
   update_node = {"how many update one", 7.366437},
   delete_node = {"how many delete one", 1.0115914},
}

local OLDER = 0.003 -- the share of lists that ask for what an earlier list was too short for
local EXISTS = {get = 0.5, update = 0.9, delete = 0.9, add = 0.05}
local MORE, MOST = 1 - 0.382, 128 -- links that are got at once are geometrically distributed
local draw = sysbench.rand.uniform_double

local function now()
   return os.time() * 1000
end

-- Return a node's other end, which is linked with it by about that chance.
local function any_other(id1, count, exists)
   return id1 + sysbench.rand.uniform(0, math.max(1, math.ceil(count / exists)) - 1)
end

local function some_others(id1, count)
   local wanted = 1
   while wanted < MOST and draw() < MORE do
      wanted = wanted + 1
   end
   local seen, list, tries = {}, {}, 0
   while #list < wanted and tries < 100 do
      local id2 = any_other(id1, math.max(count, wanted * EXISTS.get), EXISTS.get)
      tries = tries + 1
      if not seen[id2] then
         seen[id2], list[#list + 1] = true, id2
      end
   end
   return list
end

local function requests(ask, nodes)
   local link_contents = graph.contents(graph.LINK, draw)
   local node_contents = graph.contents(graph.NODE, draw)
   local longer = {} -- the list that was cut off last

   local function any_type()
      return sysbench.rand.uniform(1, #graph.LINK_TYPES)
   end

   -- Return a link that is written: its node, the other end, and its type.
   local function any_link(exists)
      local id1, number = nodes.any_write_of_links(), any_type()
      return id1, any_other(id1, nodes.links(id1, number), exists), graph.LINK_TYPES[number]
   end

   local function list(id1, link_type, time)
      local result, more = ask.get_link_list(id1, link_type, time)
      if more then
         local last
         for _ = 1, tonumber(result.nrows) do
            last = result:fetch_row()
         end
         longer = {id1, link_type, last[6]}
      end
   end

   local function put_link(exists)
      local id1, id2, link_type = any_link(exists)
      ask.add_link(id1, id2, link_type, link_contents(), now())
   end

   return {
      add_link = function ()
         put_link(EXISTS.add)
      end,
      update_link = function ()
         put_link(EXISTS.update)
      end,
      delete_link = function ()
         local id1, id2, link_type = any_link(EXISTS.delete)
         ask.delete_link(id1, id2, link_type, now())
      end,
      count_link = function ()
         ask.count_links(nodes.any_read_of_links(), graph.LINK_TYPES[any_type()])
      end,
      get_link = function ()
         local id1, number = nodes.any_read_of_links(), any_type()
         ask.get_links(id1, graph.LINK_TYPES[number], some_others(id1, nodes.links(id1, number)))
      end,
      get_link_list = function ()
         if longer[1] and draw() < OLDER then
            list(unpack(longer))
         else
            list(nodes.any_read_of_links(), graph.LINK_TYPES[any_type()], now())
         end
      end,
      get_node = function ()
         ask.get_node(nodes.any_read_of_node())
      end,
      add_node = function ()
         ask.add_node(node_contents(), os.time())
      end,
      update_node = function ()
         ask.update_node(nodes.any_update_of_node(), node_contents(), os.time())
      end,
      delete_node = function ()
         ask.delete_node(nodes.any_node())
      end,
   }
end

common.step(options, function (con, kind, perform)
   local shares = {}
   local nodes = graph.of(sysbench.opt.table_size)
   for name, act in pairs(requests(statements.of(con, kind), nodes)) do
      shares[#shares + 1] = {share = sysbench.opt[name], part = name:gsub("_", "-"), act = act}
   end
   local any = common.any_of(shares)

   return function ()
      local request = any()
      perform(request.part, request.act)
   end
end)
