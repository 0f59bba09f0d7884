-- Asks for known answers on pgbench's tables and prints them: two sound servers print the same. The
-- lines are those of sysbench/scripts/answers.lua.

SET client_min_messages = error;
SET max_parallel_workers_per_gather = 0;

-- Transactions as of tpcb-like, with numbers that are always the same.
DO $$
DECLARE
  accounts int := (SELECT count(*) FROM pgbench_accounts);
  tellers int := (SELECT count(*) FROM pgbench_tellers);
  branches int := (SELECT count(*) FROM pgbench_branches);
  account int;
  teller int;
  branch int;
  amount int;
BEGIN
  FOR round IN 1..2000 LOOP
    account := round * 7919 % accounts + 1;
    teller := round * 104729 % tellers + 1;
    branch := round * 1299709::bigint % branches + 1;
    amount := round * 15485863::bigint % 10001 - 5000;
    UPDATE pgbench_accounts SET abalance = abalance + amount WHERE aid = account;
    UPDATE pgbench_tellers SET tbalance = tbalance + amount WHERE tid = teller;
    UPDATE pgbench_branches SET bbalance = bbalance + amount WHERE bid = branch;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
      VALUES (teller, branch, account, amount, 'epoch');
  END LOOP;
END $$;

SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT concat_ws(' ', count(*), sum(aid), sum(bid), sum(abalance), sum(abalance * aid::numeric))
  AS by_table FROM pgbench_accounts \gset
SET enable_indexscan = on;
SET enable_seqscan = off;
SELECT concat_ws(' ', count(*), sum(aid), sum(bid), sum(abalance), sum(abalance * aid::numeric))
  AS by_index FROM pgbench_accounts WHERE aid > 0 \gset
RESET ALL;

SELECT 'answer accounts ' || :'by_table';
SELECT CASE WHEN :'by_index' = :'by_table' THEN 'sound accounts/primary'
  ELSE 'damage accounts/primary: the index has ' || :'by_index' || ', the table ' || :'by_table' END;
SELECT 'answer tellers ' || concat_ws(' ', count(*), sum(tid), sum(tbalance * tid::numeric))
  FROM pgbench_tellers;
SELECT 'answer branches ' || concat_ws(' ', count(*), sum(bid), sum(bbalance * bid::numeric))
  FROM pgbench_branches;
SELECT 'answer history ' || concat_ws(' ', count(*), sum(aid), sum(delta), sum(delta * aid::numeric))
  FROM pgbench_history;
SELECT CASE WHEN accounts = tellers AND tellers = branches AND branches = history THEN 'sound balances'
  ELSE 'damage balances: ' || concat_ws(' ', accounts, tellers, branches, history) END
  FROM (SELECT (SELECT sum(abalance) FROM pgbench_accounts) AS accounts,
               (SELECT sum(tbalance) FROM pgbench_tellers) AS tellers,
               (SELECT sum(bbalance) FROM pgbench_branches) AS branches,
               (SELECT sum(delta) FROM pgbench_history) AS history) AS sums;
SELECT 'verified';
