-- The tables of the suites "batch": t1, which is loaded, and t2, which is filled from it.
--
-- They are Kinoshita's (Yasufumi Kinoshita, "MySQL 8.0 is getting slower; why? (1)", in Japanese,
-- buildup-db.blogspot.com, 8 September 2024): a unique secondary index on two random columns
-- of bytes, which no character set slows down.

local tables = {}

tables.OPTIONS = {
   data_seed = {"the seed of the random values", 1},
}

-- Return the statement that makes t1. MySQL's storage engine is the server's default. From
-- 8.0.23 on MySQL logs each growth of a file: it is to grow in few and large steps, as his does.
-- MariaDB ignores the comment.
function tables.create(kind)
   if kind == "pgsql" then
      return "CREATE TABLE t1 (id_1 SERIAL, id_2 BYTEA NOT NULL, id_3 BYTEA NOT NULL,"
         .. " PRIMARY KEY (id_1), CONSTRAINT ukey UNIQUE (id_2, id_3))"
   end
   return "CREATE TABLE t1 (id_1 INT NOT NULL AUTO_INCREMENT, id_2 VARBINARY(11) NOT NULL,"
      .. " id_3 VARBINARY(11) NOT NULL, PRIMARY KEY (id_1), UNIQUE KEY ukey (id_2, id_3))"
      .. " /*!80023 AUTOEXTEND_SIZE=64M */"
end

-- Make t2 like t1 and empty, whatever a run that was cut off has left.
function tables.make_target(con, kind)
   con:query("DROP TABLE IF EXISTS t2")
   con:query(kind == "pgsql" and "CREATE TABLE t2 (LIKE t1 INCLUDING ALL)"
      or "CREATE TABLE t2 LIKE t1")
end

-- What is timed.
tables.FILL = "INSERT INTO t2 SELECT * FROM t1"

-- Return a source of repeatable random values: whole numbers from 0 to 999999, as his are.
-- It is the generator of Park and Miller (Communications of the ACM 31(10), 1988, 1192-1201)
-- with the multiplier that they gave later (36(7), 1993, 108). Its SEED is from 1 to 2^31 - 2.
function tables.source(seed)
   local state = seed
   return function ()
      state = state * 48271 % 2147483647
      return state % 1000000
   end
end

return tables
