-- Sends a statement and prints the rows that come back: the command "ask".
sysbench.cmdline.options = {sql = {"the statement", ""}}

local driver, con

local function ask()
   driver = sysbench.sql.driver()
   con = driver:connect()
   local result = con:query(sysbench.opt.sql)
   for _ = 1, result ~= nil and result.nfields > 0 and tonumber(result.nrows) or 0 do
      print(table.concat(result:fetch_row(), " "))
   end
end

sysbench.cmdline.commands = {ask = {ask}}
