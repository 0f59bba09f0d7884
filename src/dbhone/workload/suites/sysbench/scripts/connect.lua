-- A connection for each event: made, asked for nothing or for one row, and closed.
--
-- When connect() returns, the server has let the client in: MySQL's family has given it a
-- thread, PostgreSQL a process. So nothing need be asked to know that it is there.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")

common.declare({
   query = {"read one random row by its id before the connection is closed", false},
})

local driver -- kept for as long as its connections: Lua would end it otherwise

function thread_init()
   driver = sysbench.sql.driver()
end

function event()
   local con = driver:connect()
   if sysbench.opt.query then
      con:query(string.format("SELECT c FROM sbtest%d WHERE id=%d", common.any_table(),
                              common.any_id()))
   end
   con:disconnect()
end
