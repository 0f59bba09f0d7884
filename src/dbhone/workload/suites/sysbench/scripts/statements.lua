-- Executes the statements in a file of SQL, one after the other. As a step, all of them together are
-- an event; as "prepare" they load the tables; as "verify" each answer is printed as those of
-- answers.lua are.
--
-- A statement ends where a line ends with ";". A line that begins with "--" is a comment. ":NAME" is
-- replaced by a value: "rows", "tables", "seed", what --values has, and in a step "random", the id
-- of a random row.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local answers = dofile(here .. "answers.lua")
local common = dofile(here .. "common.lua")

local driver -- kept for as long as its connection: Lua would end it otherwise

local function statements()
   local list, lines = {}, {}
   local function finish()
      if #lines > 0 then
         list[#list + 1] = table.concat(lines, "\n"):gsub(";%s*$", "")
      end
      lines = {}
   end
   for line in io.lines(sysbench.opt.file) do
      if line:find("%S") and not line:find("^%s*%-%-") then
         lines[#lines + 1] = line
         if line:find(";%s*$") then
            finish()
         end
      end
   end
   finish()
   return list
end

local function values()
   local named = {
      rows = sysbench.opt.table_size,
      tables = sysbench.opt.tables,
      seed = sysbench.opt.data_seed,
   }
   for name, value in sysbench.opt.values:gmatch("([^=\n]+)=([^\n]*)") do
      named[name] = value
   end
   return named
end

local function filled(text, named)
   return (text:gsub(":(%a[%w_]*)", named))
end

local function execute(use)
   return function ()
      driver = sysbench.sql.driver()
      local con, named = driver:connect(), values()
      for number, statement in ipairs(statements()) do
         use(number, statement, con:query(filled(statement, named)))
      end
      con:disconnect()
   end
end

common.step({
   file = {"the file with the statements", ""},
   values = {"NAME=VALUE, each on a line of its own", ""},
   data_seed = {"the seed of the random values", 1},
}, function (con)
   local list, named = statements(), values()
   local any = setmetatable({}, {__index = function (_, name)
      return name == "random" and common.any_id() or named[name]
   end})
   return function ()
      for _, statement in ipairs(list) do
         con:query(filled(statement, any))
      end
   end
end)

sysbench.cmdline.commands = {
   prepare = {execute(function () end)},
   verify = {function ()
      execute(function (number, statement, result)
         if result ~= nil then -- a statement without an answer has a null pointer
            answers.answer(number, result, statement:lower():find("order%s+by") ~= nil)
         end
      end)()
      print("verified")
   end},
}
