-- Fills t2 from t1 with one statement, which is the event. t2 is made before and dropped after
-- it, and neither is timed: so nothing of a run is left for the server to write out while
-- another is measured.

local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "../../sysbench/scripts/common.lua")
local tables = dofile(here .. "tables.lua")

common.declare(tables.OPTIONS)

local driver, con -- the driver is kept for as long as its connection: Lua would end it otherwise

function thread_init()
   driver = sysbench.sql.driver()
   con = driver:connect()
   tables.make_target(con, driver:name())
end

function event()
   con:query(tables.FILL)
end

function thread_done()
   print("operations: " .. con:query_row("SELECT COUNT(*) FROM t2"))
   con:query("DROP TABLE t2")
   con:disconnect()
end
