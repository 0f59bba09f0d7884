"""The extensions that databases can have in builds of PostgreSQL."""

from __future__ import annotations

_IN_THE_SOURCE = """
adminpack amcheck autoinc bloom bool_plperl bool_plperlu btree_gin btree_gist citext cube dblink
dict_int dict_xsyn earthdistance file_fdw fuzzystrmatch hstore hstore_plperl hstore_plperlu
hstore_plpython3u insert_username intagg intarray isn jsonb_plperl jsonb_plperlu
jsonb_plpython3u lo ltree ltree_plpython3u moddatetime old_snapshot pageinspect pg_buffercache
pg_freespacemap pg_logicalinspect pg_prewarm pg_stat_statements pg_surgery pg_trgm pg_visibility
pg_walinspect pgcrypto pgrowlocks pgstattuple plperl plperlu plpython3u pltcl pltclu
postgres_fdw refint seg sslinfo tablefunc tcn tsm_system_rows tsm_system_time unaccent uuid-ossp
xml2
"""
OWN = frozenset({"plpgsql"})
"""Those of a build by hone's own recipe."""
DISTRIBUTED = OWN | frozenset(_IN_THE_SOURCE.split())
"""Those that PostgreSQL's own source has, in any version: Debian's rules build all of them."""
