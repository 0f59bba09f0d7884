-- Replays one statement, which fails in every third transaction, without a server: "replay" is
-- replay.lua, on scripts that only pretend to connect and to read.

local read = dofile
local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
   .. "../../src/dbhone/workload/suites/replay/scripts/"
local transactions = read(folder .. "transactions.lua")
local scripts = {
   client = {
      connect = function ()
         return {text = function () end, close = function () end}
      end,
   },
   transactions = transactions,
}

function transactions.open()
   return {parts = 1, stretches = 1}
end

function transactions.reader()
   return function (execute)
      execute({flags = 0, part = 0}, "SELECT 1")
   end
end

local executed = 0
function transactions.execute()
   executed = executed + 1
   return executed % 3 == 0 and "the server refused it" or nil
end

function dofile(path)
   return scripts[path:match("(%w+)%.lua$")] or read(path)
end

read(folder .. "replay.lua")
