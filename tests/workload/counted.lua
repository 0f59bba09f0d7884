-- A step without a database: each event sleeps, and is counted as those of a server's suite are.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local scripts = here .. "../../src/dbhone/workload/suites/sysbench/scripts/"
local counting = dofile(scripts .. "counting.lua")
local ffi = require("ffi")

sysbench.cmdline.options = {
   counts = {"the file of counts", ""},
   sleep = {"milliseconds that an event takes", 1},
   refuse = {"every so many events one is refused; never, with 0", 0},
   die = {"after so many events of a thread the program fails; never, with 0", 0},
}

local events = 0

function thread_init(thread)
   local function work()
      events = events + 1
      ffi.C.usleep(1000 * sysbench.opt.sleep)
      if sysbench.opt.die > 0 and events >= sysbench.opt.die then
         error("the server has gone away")
      end
      if sysbench.opt.refuse > 0 and events % sysbench.opt.refuse == 0 then
         error({errcode = sysbench.error.RESTART_EVENT})
      end
   end
   event = counting.counted(work, sysbench.opt.counts, thread)
end

function event()
end

function thread_done()
   if sysbench.opt.die == 0 then -- else the last words are the error's
      print("a thread worked " .. events .. " events")
   end
end
