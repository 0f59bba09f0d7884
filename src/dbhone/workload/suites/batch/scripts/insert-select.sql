-- The tables and the statement of insert-select.lua for SQLite's shell. The temporary table
-- "asked" says how many rows, and the seed. The values are the same as there: Park and Miller's
-- generator, two steps for a row. A run of the statement is a step: its line, what the shell's
-- timer says, and the rows.
--
-- ORDER BY: without it SQLite copies table and index page by page (its "transfer optimisation"),
-- and no row is looked for in the index, which is what is to be measured. The rows come in that
-- order anyway.

SELECT 'version', sqlite_version();
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16777216;
CREATE TABLE t1 (id_1 INTEGER PRIMARY KEY AUTOINCREMENT, id_2 BLOB NOT NULL, id_3 BLOB NOT NULL,
  UNIQUE (id_2, id_3));
INSERT OR IGNORE INTO t1
  WITH RECURSIVE drawn (id, two, three) AS (
    SELECT 1, seed * 48271 % 2147483647, seed * 48271 % 2147483647 * 48271 % 2147483647
    FROM asked
    UNION ALL
    SELECT id + 1, three * 48271 % 2147483647, three * 48271 % 2147483647 * 48271 % 2147483647
    FROM drawn WHERE id < (SELECT row_count FROM asked)
  )
  SELECT id, CAST(two % 1000000 AS BLOB), CAST(three % 1000000 AS BLOB) FROM drawn;

CREATE TABLE t2 (id_1 INTEGER PRIMARY KEY AUTOINCREMENT, id_2 BLOB NOT NULL, id_3 BLOB NOT NULL,
  UNIQUE (id_2, id_3));
SELECT 'step', 'run-1', 'INSERT … SELECT, first run after the load';
.timer on
INSERT INTO t2 SELECT * FROM t1 ORDER BY id_1;
.timer off
SELECT 'rows', changes();
DROP TABLE t2;

CREATE TABLE t2 (id_1 INTEGER PRIMARY KEY AUTOINCREMENT, id_2 BLOB NOT NULL, id_3 BLOB NOT NULL,
  UNIQUE (id_2, id_3));
SELECT 'step', 'run-2', 'INSERT … SELECT, second run';
.timer on
INSERT INTO t2 SELECT * FROM t1 ORDER BY id_1;
.timer off
SELECT 'rows', changes();
DROP TABLE t2;

CREATE TABLE t2 (id_1 INTEGER PRIMARY KEY AUTOINCREMENT, id_2 BLOB NOT NULL, id_3 BLOB NOT NULL,
  UNIQUE (id_2, id_3));
SELECT 'step', 'run-3', 'INSERT … SELECT, third run';
.timer on
INSERT INTO t2 SELECT * FROM t1 ORDER BY id_1;
.timer off
SELECT 'rows', changes();

SELECT 'answer', COUNT(*) || ',' || SUM(id_1) || ',' || SUM(CAST(id_2 AS INTEGER)) || ','
  || SUM(CAST(id_3 AS INTEGER)) || ','
  || SUM((id_1 * CAST(id_2 AS INTEGER) + CAST(id_3 AS INTEGER)) % 1000003) FROM t2;
SELECT 'answer', COUNT(*) FROM t1 JOIN t2 USING (id_1, id_2, id_3);
SELECT 'end';
