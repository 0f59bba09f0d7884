-- What the scripts of the steps share: options, connections, prepared statements, random rows.
--
-- A step's script calls step() once. Each of sysbench's threads then has a connection of its
-- own, prepares its statements when it starts, and runs the step's event over and over.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local counting = dofile(here .. "counting.lua")

local common = {}

common.INT = {sysbench.sql.type.INT}
common.C = {sysbench.sql.type.CHAR, 120}
common.PAD = {sysbench.sql.type.CHAR, 60}

-- Return a random table's number.
function common.any_table()
   return sysbench.rand.uniform(1, sysbench.opt.tables)
end

-- Return a random row's id, distributed as --rand-type says.
function common.any_id()
   return sysbench.rand.default(1, sysbench.opt.table_size)
end

-- Prepare a statement for each table, whose number takes the place of "%d". TYPES are those of
-- its parameters. Return the statements by table; what gets an event's values is .params.
function common.prepare(con, sql, types)
   local prepared = {}
   for number = 1, sysbench.opt.tables do
      local statement, params = con:prepare(string.format(sql, number)), {}
      for at, of in ipairs(types) do
         params[at] = statement:bind_create(of[1], of[2])
      end
      if #params > 0 then
         statement:bind_param(unpack(params))
      end
      prepared[number] = {statement = statement, params = params}
   end
   return prepared
end

-- Return a list with VALUE so many times.
function common.times(count, value)
   local list = {}
   for at = 1, count do
      list[at] = value
   end
   return list
end

-- Return so many placeholders, for an IN list.
function common.placeholders(count)
   return table.concat(common.times(count, "?"), ", ")
end

-- Return a function that draws one of CHOICES, each of which has a SHARE of all draws.
function common.any_of(choices)
   local sums, sum = {}, 0
   for at, choice in ipairs(choices) do
      sum = sum + choice.share
      sums[at] = sum
   end
   return function ()
      local drawn = sysbench.rand.uniform_double() * sum
      for at = 1, #sums - 1 do
         if drawn < sums[at] then
            return choices[at]
         end
      end
      return choices[#choices]
   end
end

-- Declare a script that sysbench runs, with options of its own.
function common.declare(options)
   options.tables = {"how many tables", 1}
   options.table_size = {"how many rows in each table", 10000}
   sysbench.cmdline.options = options

   -- One connection before all threads. MariaDB's client library, with which distributions link
   -- sysbench, loads a plugin for the server's authentication when it first meets it; in some of
   -- its versions all threads but one fail if several meet it at once ("it is already loaded").
   function init()
      local driver = sysbench.sql.driver()
      driver:connect():disconnect()
   end
end

-- Declare a step. OPTIONS are its own; START gets a thread's connection and driver's name, and what
-- does a part of an event and counts it (counting.performer). It returns the function that is one
-- event.
function common.step(options, start)
   options.parts = {"the names of the parts of events that are counted, with commas", ""}
   options.counts = {"a file in which events are counted while they go on", ""}
   common.declare(options)

   -- The driver is kept for as long as its connection: Lua would end it otherwise.
   local driver, con

   function thread_init(thread)
      local perform = counting.performer(
         sysbench.opt.parts, sysbench.opt.counts, thread, sysbench.opt.threads)
      driver = sysbench.sql.driver()
      con = driver:connect()
      event = start(con, driver:name(), perform)
      if sysbench.opt.counts ~= "" then
         event = counting.counted(event, sysbench.opt.counts, thread)
      end
   end

   function event() -- sysbench looks for it before a thread starts
   end

   function thread_done()
      con:disconnect()
   end
end

return common
