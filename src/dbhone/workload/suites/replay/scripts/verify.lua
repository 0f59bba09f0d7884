-- Replays the beginning of the workload by one client, and prints checksums of what the server
-- answers: the command "verify". Two sound servers print the same.
--
-- Each line is "answer NAME ROWS CHECKSUM". Answers that vary by themselves are not printed. A line
-- "refused TEMPLATE ERROR MESSAGE" is of a statement that failed and in the original did not. Last
-- come the rows of each table, and "verified".

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local checksum = dofile(here .. "../../sysbench/scripts/checksum.lua")
local client = dofile(here .. "client.lua")
local transactions = dofile(here .. "transactions.lua")
local tables = dofile(here .. "tables.lua")

local STATEMENTS = 2000
local LONGEST_MESSAGE = 300

sysbench.cmdline.options = {
   transactions = {"the file with the transactions", ""},
}

local con

local function read(number)
   return function (own, result, has_rows)
      local all = checksum.set()
      own:rows(result, has_rows, all.add)
      print(string.format("answer %d %d %s", number, all.count(), all.digest()))
   end
end

local function replay(file)
   local asked, taken = 0, 0
   local function execute(head, sql)
      asked = asked + 1
      local stable = bit.band(head.flags, transactions.STABLE) ~= 0
      local failure = transactions.execute(con, file, head, sql, stable and read(asked) or nil)
      if failure then
         print(string.format("answer %d failed %s", asked, failure))
      end
      return failure
   end
   local function tell(head, failed, failure, again)
      if failed and not again then
         local message = con.message:gsub("%s+", " "):sub(1, LONGEST_MESSAGE)
         print(string.format("refused %d %s %s", head.template, failure, message))
      end
   end
   local perform = transactions.performer(con, file, transactions.reader(file, 0), execute, tell)
   while asked < STATEMENTS and taken < STATEMENTS do
      taken = taken + 1
      perform()
   end
   con:text("ROLLBACK", 8)
end

local function verify()
   con = client.connect()
   client.query(con, client.WITHOUT_TIMEOUTS[sysbench.opt.db_driver])
   replay(transactions.open(sysbench.opt.transactions))
   for _, name in ipairs(tables.names(con)) do
      local rows = client.query(con, "SELECT COUNT(*) FROM " .. name)[1][1]
      print(string.format("answer %s %s", name:gsub("%s", "_"), rows))
   end
   con:close()
   print("verified")
end

sysbench.cmdline.commands = {verify = {verify}}
