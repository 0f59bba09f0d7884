-- Replays transactions in a closed loop: each event is one of them, without think times.
--
-- A client takes stretches of sessions, each of which is some transactions of one session in
-- their order. What clients take in a row lies evenly over the workload, so that a short slice has
-- all of its phases; --order says where they begin.
--
-- With --part only the statements of one kind are executed, and what begins and ends the
-- transactions that have any.
--
-- An error that the original had, too, is what is expected. With any other the transaction is
-- undone and left, and counts as refused.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local counting = dofile(here .. "../../sysbench/scripts/counting.lua")
local client = dofile(here .. "client.lua")
local transactions = dofile(here .. "transactions.lua")

sysbench.cmdline.options = {
   transactions = {"the file with the transactions", ""},
   order = {"the number from which it follows where the clients begin", 0},
   backwards = {"whether they begin where others would end", false},
   part = {"the number of the statements' kind, if one is chosen", -1},
   counts = {"a file in which events are counted while they go on", ""},
   parts = {"how many kinds of statements the file of counts has room for", 0},
}

local con, file, perform, parts
local generation, before, now

local function execute(head, sql)
   before = before or counting.now()
   local failure = transactions.execute(con, file, head, sql)
   now = counting.now()
   return failure
end

local function count(head, failed, _, again)
   if parts and parts.generation() == generation and not again then
      local part = parts.counts[head.part]
      if failed then
         part.failed = part.failed + 1
      else
         part.finished, part.seconds = part.finished + 1, part.seconds + (now - before)
      end
   end
   before = not again and now or nil -- to undo it takes time, too
end

local function replay()
   generation, before = parts and parts.generation(), counting.now()
   return not perform()
end

-- One connection before all threads, for the same reason as in common.lua.
function init()
   client.connect():close()
end

function thread_init(thread)
   con = client.connect()
   file = transactions.open(sysbench.opt.transactions)
   local next_transaction = transactions.reader(
      file, sysbench.opt.order % file.stretches, thread, sysbench.opt.threads,
      sysbench.opt.part >= 0 and sysbench.opt.part or nil, sysbench.opt.backwards)
   perform = transactions.performer(con, file, next_transaction, execute, count)
   -- A set without parts has no room for them in the file: nobody reads them.
   parts = sysbench.opt.parts > 0
      and counting.parts(sysbench.opt.counts, thread, sysbench.opt.threads, file.parts) or nil
   event = counting.counted(replay, sysbench.opt.counts, thread)
end

function event() -- sysbench looks for it before a thread starts
end

function thread_done()
   con:close()
end
