"""How the functions of MySQL and MariaDB group: InnoDB's by prefix, the server's by class."""

from __future__ import annotations

MODULES = (
    (r"log_|Log_|mtr_t|mtr_|recv_|redo", "InnoDB's log"),
    (r"buf_|Buf_|page_cleaner|Flush", "InnoDB's buffer pool"),
    (r"btr_|page_|rec_|cmp_|dtuple|ibuf_|rem0", "InnoDB's B-trees"),
    (
        r"lock_|Lock_|rw_lock|sync_|ib_mutex|PolicyMutex|TTAS|ssux|os_event|ut_delay|ut_rnd",
        "InnoDB's locks",
    ),
    (r"trx_|Trx|read_view|ReadView|MVCC|undo", "InnoDB's transactions"),
    (r"row_|ha_innobase|innobase|que_|ins_", "InnoDB's rows"),
    (r"fil_|Fil_|os_(aio|file)|AIO|srv_|dict_|dblwr|Double_write", "InnoDB's files and dictionary"),
    (r"rocksdb::|myrocks::", "RocksDB"),
    (r"MYSQLparse|MYSQLlex|yyparse|lex_|Lex_|PT_|Parse_tree|LEX|my_sql_parser|ORAparse", "parser"),
    (r"JOIN|Optim|optim|make_join|test_quick|SEL_|get_mm|best_access|Range|range_", "optimiser"),
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
"""Patterns of the beginnings of functions' names, the first that fits counts, and modules."""
