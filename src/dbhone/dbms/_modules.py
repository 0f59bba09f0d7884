"""How functions group: InnoDB's and PostgreSQL's by prefix, those of MySQL's server by class."""

from __future__ import annotations

MYSQL_MODULES = (
    (r"os_event|ut_delay|ut_rnd|Wait_stats|std::this_thread", ""),
    (r"log_|Log_|mtr_t|mtr_|recv_|redo", "InnoDB's log"),
    (r"buf_|Buf_|page_cleaner|Flush", "InnoDB's buffer pool"),
    (r"cmp_item|item_cmp", "values and fields"),
    (r"btr_|page_|rec_|cmp_|dtuple|ibuf_|rem0", "InnoDB's B-trees"),
    (r"lock_|Lock_|rw_lock|sync_|ib_mutex|PolicyMutex|TTAS|ssux", "InnoDB's locks"),
    (r"trx_|Trx|read_view|ReadView|MVCC|undo|srv_(worker|purge)", "InnoDB's transactions"),
    (r"row_|ha_innobase|innobase|que_|ins_", "InnoDB's rows"),
    (r"fil_|Fil_|os_(aio|file)|AIO|srv_|dict_|dblwr|Double_write", "InnoDB's files and dictionary"),
    (r"rocksdb::|myrocks::", "RocksDB"),
    (r"MYSQLparse|MYSQLlex|yyparse|lex_|Lex_|PT_|Parse_tree|LEX|my_sql_parser|ORAparse", "parser"),
    (
        r"JOIN|Optim|optim|make_join|test_quick|SEL_|get_mm|best_access|Range|range_|quick_range",
        "optimiser",
    ),
    (
        r"Item|Field|Protocol|Arg_|sql_mode|my_strn|my_hash_sort|my_lengthsp|cs_|decimal",
        "values and fields",
    ),
    (r"MYSQL_BIN_LOG|binlog|Binlog|Gtid|MYSQL_LOG", "binary log"),
    (r"MDL|Table_cache|open_table|close_thread|tdc_|TABLE|dd::|acl_|check_", "tables and rights"),
    (
        r"pfs_|PFS|events_|end_\w+_v\d|start_\w+_v\d|find_\w*_instr|set_\w+_v\d",
        "Performance Schema",
    ),
    (r"net_|vio_|my_net|Vio|Net|send_", "protocol"),
    (
        r"handler|ha_|QUICK|read_record|rr_|TableScan|Index|filesort|Sql_cmd|mysql_|THD|dispatch",
        "executor",
    ),
    (r"alloc_root|Alloc|my_malloc|my_free|ut_alloc|mem_heap|mem_", "memory"),
)
"""Patterns of the beginnings of functions' names, the first that fits counts, and modules. Without
a module are functions that wait on behalf of those which call them."""

MYSQL_THREADS = (
    (
        r"log_(writer|flusher|closer|write_notifier|flush_notifier|checkpointer)\b",
        "InnoDB's log threads",
    ),
    (r"buf_flush_page_c|buf_dump_thread|buf_resize_thread", "page cleaners"),
    (r"srv_purge|srv_worker|trx_purge|purge_", "purge"),
    (r"io_handler_thread|fil_aio_wait|tpool::", "asynchronous I/O"),
    (r"srv_(master|monitor|error_monitor|lock_timeout)|lock_wait_timeout", "InnoDB's monitors"),
    (r"dict_stats|fts_optimize", "statistics and full-text"),
    (r"do_command|handle_connection|handle_one_connection|dispatch_command", "connections"),
)
"""Its threads: patterns of functions' names, the first that fits from the outermost counts."""

POSTGRESQL_MODULES = (
    (r"XLog|Xlog|xlog|Wal[A-Z]|issue_xlog|COMP_CRC|pg_comp_crc32c|CopyXLog|log_heap", "WAL"),
    (r"raw_parser|base_yy|core_yy|parse_|pg_parse|ScanKeyword|scanner_|makeNode", "parser"),
    (r"transform|pg_analyze|Rewrite|rewrite|QueryRewrite|fireR|AcquireRewrite", "analyser"),
    (r"plan|subquery_|query_planner|create_\w*plan|create_\w*path|cost_|make_|add_path", "planner"),
    (r"set_\w*(refs|rel|path)|eval_const|preprocess_|get_relation_info|fix_|build_", "planner"),
    (r"cost|choose_|standard_planner|pg_plan|clauselist|restriction|match_|generate_", "planner"),
    (r"llvm|LLVM|jit_", "JIT compiler"),
    (
        r"Exec|exec_|Instr|Portal|PlanCache|GetCachedPlan|CachedPlan|standard_Exec|tts_|slot_",
        "executor",
    ),
    (r"heap|Heap|toast|tuple|nocachegetattr|index_|_bt|bt[a-z]|systable_|table_|vacuum", "access"),
    (r"LWLock|Lock|lock|ProcArray|Proc[A-Z]|s_lock|Deadlock|RemoveLocal", "locks"),
    (
        r"Buf|buf|Pin|Unpin|Read(Buffer|_)|ReleaseBuffer|Sync|smgr|md[a-z]|Strategy|FlushBuffer",
        "buffers",
    ),
    (
        r"Xact|xact|Transaction|Commit|Start|GetSnapshot|Snapshot|XidIn|SubTrans|Transam",
        "transactions",
    ),
    (r"PopActive|PushActive|ResourceArray|CleanupTemp", "transactions"),
    (
        r"lcons|list_|lappend|new_list|expression_|expr[A-Z]|bms_|copyObject|equal",
        "lists and trees",
    ),
    (r"dopr|fmtint|pg_utf8|pg_strto|pg_verify|appendString|appendBinary|pg_sprintf", "strings"),
    (r"AcquireExec|ScanQuery|Grant", "locks"),
    (r"getType|OverrideSearch", "hash tables and caches"),
    (r"CreateTemplate|TupleDesc|MakeTuple|CreateExpr|CheckExpr", "executor"),
    (
        r"AtEO|AtStart|AtCommit|CallXact|PreCommit|TransactionId|Record\w*Commit|ResourceOwner",
        "transactions",
    ),
    (r"AllocSet|palloc|pfree|MemoryContext|repalloc|GenerationAlloc|SlabAlloc", "memory contexts"),
    (
        r"hash_|hash[a-z0-9_]*|dynahash|tag_hash|get_hash|calc_bucket|SearchSysCache|SearchCat",
        "hash tables and caches",
    ),
    (
        r"Relation|relation|Cat[A-Z]|Cache|RelIdx|rel[a-z]*cache|get_|LookupType|lookup_type",
        "hash tables and caches",
    ),
    (
        r"pq_|socket_|secure_|internal_|Wait(Event|Latch)|WaitEvent|Latch|printtup|ReadyFor|Send",
        "protocol",
    ),
    (
        r"Postgres|postgres|ServerLoop|BackendStart|pgstat|pgaio|log_|errstart|elog|ps_|set_ps",
        "main loop and statistics",
    ),
    (
        r"\w*(in|out|send|recv|eq|lt|cmp|pl|hash)$|DirectFunction|FunctionCall|OidFunction|fmgr",
        "data types",
    ),
)
"""Patterns of the beginnings of functions' names, the first that fits counts, and modules."""

POSTGRESQL_THREADS = (
    (r"WalWriterMain", "WAL writer"),
    (r"CheckpointerMain", "checkpointer"),
    (r"BackgroundWriterMain", "background writer"),
    (r"AutoVac", "autovacuum"),
    (r"(Pgstat|PgStat)\w*Main", "statistics collector"),
    (r"WalSndLoop|WalReceiverMain|LogicalRep|ApplyWorker", "replication"),
    (r"ParallelWorkerMain|ParallelQueryMain", "parallel workers"),
    (r"IoWorkerMain", "I/O workers"),
    (r"PostgresMain", "backends"),
)
"""Its processes: patterns of functions' names, the first that fits from the outermost counts."""
