-- Makes and fills the tables, each by one thread: the command "prepare".

local ffi = require("ffi")

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local rows = dofile(here .. "rows.lua")

sysbench.cmdline.options = {
   tables = {"how many tables", 1},
   table_size = {"how many rows in each table", 10000},
}

ffi.cdef[[
   void flockfile(void *file);
   void funlockfile(void *file);
]]

local driver -- kept for as long as its connection: Lua would end it otherwise

local function fill(con, number, size)
   local source = rows.source(number)
   local c, pad = rows.texts(rows.C, source), rows.texts(rows.PAD, source)
   con:bulk_insert_init("INSERT INTO " .. rows.name(number) .. " (id, k, c, pad) VALUES")
   for id = 1, size do
      local k = source() % size + 1
      con:bulk_insert_next(string.format("(%d,%d,'%s','%s')", id, k, c(), pad()))
   end
   con:bulk_insert_done()
end

local function load_table(con, number, size)
   con:query(rows.create_table(driver:name(), number))
   fill(con, number, size)
   if driver:name() == "pgsql" then -- what is inserted later gets the ids after these
      con:query(string.format("SELECT setval('%s_id_seq', %d)", rows.name(number), size))
   end
   con:query(rows.create_index(number))
end

-- One thread after the other, since the client library cannot do it at once: see common.lua. The lock
-- of the standard output is one that all threads have in common.
local function connect()
   ffi.C.flockfile(io.stdout)
   local connected, con = pcall(driver.connect, driver)
   ffi.C.funlockfile(io.stdout)
   if not connected then
      error(con, 0)
   end
   return con
end

local function prepare()
   driver = sysbench.sql.driver()
   local con = connect()
   local threads = sysbench.opt.threads
   for number = sysbench.tid % threads + 1, sysbench.opt.tables, threads do
      load_table(con, number, sysbench.opt.table_size)
   end
   con:disconnect()
end

sysbench.cmdline.commands = {prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND}}
