-- Calls a procedure that reads twice by the client of captured workloads, then asks something else;
-- prints all rows: the command "ask". FOLDER is that of the client.
sysbench.cmdline.options = {folder = {"where the client's script is", ""}}

local function ask()
   local con = dofile(sysbench.opt.folder .. "/client.lua").connect()
   local function execute(sql)
      local failure = con:text(sql, #sql, function (own, result, has_rows)
         own:rows(result, has_rows, function (row)
            print(table.concat(row, " "))
         end)
      end)
      if failure then
         print("failed: " .. failure)
      end
   end
   execute("CREATE PROCEDURE twice() BEGIN SELECT 'first'; SELECT 'second'; END")
   execute("CALL twice()")
   execute("SELECT 'afterwards'")
   execute("CREATE PROCEDURE fails() BEGIN SELECT 'before'; SELECT * FROM nosuch; END")
   execute("CALL fails()")
   execute("SELECT 'at last'")
   con:close()
end

sysbench.cmdline.commands = {ask = {ask}}
