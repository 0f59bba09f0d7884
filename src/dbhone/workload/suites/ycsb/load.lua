-- Makes and fills the table: the command "prepare".

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../sysbench/scripts/common.lua")
local records = dofile(here .. "records.lua")

common.declare({})

local driver -- kept for as long as its connection: Lua would end it otherwise

local function prepare()
   driver = sysbench.sql.driver()
   local con, value = driver:connect(), records.values(1)
   con:query(records.create_table())
   con:bulk_insert_init("INSERT INTO usertable VALUES")
   for number = 0, sysbench.opt.table_size - 1 do
      local values = {records.key(number)}
      for field = 1, records.FIELDS do
         values[field + 1] = value()
      end
      con:bulk_insert_next("('" .. table.concat(values, "','") .. "')")
   end
   con:bulk_insert_done()
   con:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare}}
