-- The graph of the suite "linkbench": nodes, the links that each is loaded with, and what they hold.
--
-- It is an own implementation of what was published: T. G. Armstrong, V. Ponnekanti, D. Borthakur,
-- M. Callaghan, "LinkBench: a database benchmark based on the Facebook social graph", SIGMOD 2013,
-- and the configuration files of github.com/facebookarchive/linkbench.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local zipf = dofile(here .. "../sysbench/scripts/zipf.lua")

local graph = {}

graph.NODE_TYPE = 2048
graph.LINK_TYPES = {123456789, 123456790}
graph.LOADED_AT = 1000000000000 -- the time of what is loaded, in milliseconds

-- What share of nodes has more links than so many (config/Distribution.dat). Between these numbers
-- a power of the share is taken.
local OUTDEGREES = {
   {0, 0.546684}, {1, 0.225374}, {2, 0.130419}, {3, 0.0800695}, {4, 0.055492}, {5, 0.0417193},
   {6, 0.0327747}, {7, 0.0267991}, {8, 0.0223858}, {9, 0.0192232}, {10, 0.0167197}, {12, 0.0129974},
   {15, 0.0097312}, {20, 0.0067304}, {30, 0.0044306}, {50, 0.0027844}, {100, 0.0016864},
   {264, 0.001}, {500, 0.00072536}, {1000, 0.00049341}, {2000, 0.00030628}, {6051, 0.0001},
   {20000, 0.0000146}, {49994, 1.86e-6}, {99383, 3.72e-7}, {297564, 2.63e-8}, {961963, 1e-9},
}

local function links_by_share(share)
   if share >= OUTDEGREES[1][2] then
      return 0
   end
   for at = 2, #OUTDEGREES do
      local fewer, more = OUTDEGREES[at - 1], OUTDEGREES[at]
      if share >= more[2] then
         local least = fewer[1] + 1
         local steepness = math.log(more[1] / least) / math.log(fewer[2] / more[2])
         return math.floor(least * (fewer[2] / share) ^ steepness)
      end
   end
   return OUTDEGREES[#OUTDEGREES][1]
end

local function common_divisor(one, other)
   return other == 0 and one or common_divisor(other, one % other)
end

-- Return a permutation of the ids, which scatters ranks from nought, the FIRST to behind that share of
-- all ids: a function from ranks to ids, and its inverse.
local function scattered(count, share, first)
   local far, start = math.max(1, math.floor(count * share)), math.floor(count * first)
   while common_divisor(count, far) > 1 do
      far = far + 1
   end
   local back, previous, rest, divisor = 0, 1, count, far % count -- Euclid's extended algorithm
   while divisor > 0 do
      local times = math.floor(rest / divisor)
      rest, divisor = divisor, rest - times * divisor
      back, previous = previous, back - times * previous
   end
   return function (rank)
      return (rank * far + start) % count + 1
   end, function (id)
      return (id - 1 - start) * back % count
   end
end

-- Return the graph of so many nodes: how many LINKS of a type a node is loaded with, and, as
-- functions that draw an id, which nodes requests are about.
function graph.of(count)
   local by_links, rank_of = scattered(count, 0.618034, 0)

   local function skewed(exponent, share, first)
      local rank, id = zipf.source(count, exponent), scattered(count, share, first)
      return function ()
         return id(rank() - 1)
      end
   end

   -- Few requests for links go to nodes the more often the more links these have.
   local function mixed(exponent, uncorrelated, share, first)
      local rank, other = zipf.source(count, exponent), skewed(exponent, share, first)
      return function ()
         return sysbench.rand.uniform_double() < uncorrelated and other() or by_links(rank() - 1)
      end
   end

   return {
      links = function (id, type_number)
         local all = links_by_share((rank_of(id) + 0.5) / count)
         return math.floor((all + 2 - type_number) / 2)
      end,
      any_read_of_links = mixed(0.8, 0.995, 0.414214, 0.31),
      any_write_of_links = mixed(0.741, 0.95, 0.732051, 0.57),
      any_read_of_node = skewed(0.625, 0.236068, 0.13),
      any_update_of_node = skewed(0.606, 0.318310, 0.79),
      any_node = function ()
         return sysbench.rand.uniform(1, count)
      end,
   }
end

-- The characters of what links and nodes hold, without those that a literal would have to escape,
-- and how much of it is not repeated.
local function characters(first, last)
   local list = {}
   for code = first, last do
      if code ~= 39 and code ~= 92 then -- ' and \
         list[#list + 1] = string.char(code)
      end
   end
   return list
end

graph.LINK = {characters = characters(32, 100), unique = 0.225, median = 8, longest = 255}
graph.NODE = {characters = characters(50, 126), unique = 0.63, median = 128, longest = 1048576}
local CHUNK, REPEATED = 128, 512

-- Return a source of contents of this KIND: their lengths are log-normal, and their chunks random or
-- cut out of a text that is always the same. DRAW gives random numbers from 0 to below 1.
function graph.contents(kind, draw)
   local function fresh(length)
      local list = {}
      for at = 1, length do
         list[at] = kind.characters[math.floor(draw() * #kind.characters) + 1]
      end
      return table.concat(list)
   end

   local repeated = fresh(REPEATED)
   return function ()
      -- Box and Muller's normal numbers; sigma is 1.
      local normal = math.sqrt(-2 * math.log(1 - draw())) * math.cos(2 * math.pi * draw())
      local left = math.min(math.floor(kind.median * math.exp(normal)), kind.longest)
      local chunks = {}
      while left > 0 do
         local length = math.min(left, CHUNK)
         local from = math.floor(draw() * (REPEATED - length + 1)) + 1
         chunks[#chunks + 1] = draw() < kind.unique and fresh(length)
            or repeated:sub(from, from + length - 1)
         left = left - length
      end
      return table.concat(chunks)
   end
end

return graph
