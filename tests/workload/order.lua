-- Prints what clients of a replay would ask, each in its turn: the command "walk".

local ffi = require("ffi")

sysbench.cmdline.options = {
   reader = {"the script that reads transactions", ""},
   transactions = {"the file with the transactions", ""},
   clients = {"how many clients there are", 1},
   walked = {"how many transactions they replay", 1},
   backwards = {"whether they begin with what others take last", false},
}

local function walk()
   local transactions = dofile(sysbench.opt.reader)
   local file, readers = transactions.open(sysbench.opt.transactions), {}
   for number = 0, sysbench.opt.clients - 1 do
      readers[number] = transactions.reader(
         file, 7 % file.stretches, number, sysbench.opt.clients,
         nil, sysbench.opt.backwards)
   end
   for event = 0, sysbench.opt.walked - 1 do
      readers[event % sysbench.opt.clients](function (_, sql)
         print(ffi.string(sql))
         return true
      end)
   end
end

sysbench.cmdline.commands = {walk = {walk}}
