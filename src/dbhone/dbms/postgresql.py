"""PostgreSQL 13 and newer, built in a folder beside the source tree.

It is built with its own makefiles, Debian's packages by Debian's rules. Either way only the server
itself gets the variant's flags (``_postgresql_make.py`` says why).

PostgreSQL finds its files relative to its program, so it is configured with a prefix that
does not exist and kept wherever hone keeps builds.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._postgresql_deb import deb_recipe
from dbhone.dbms._postgresql_lifecycle import PostgresqlLife
from dbhone.dbms._postgresql_make import STAGED, make_steps
from dbhone.dbms._postgresql_service import SERVICE
from dbhone.dbms.base import Artifact, BuildRequest, Licence, Recipe
from dbhone.errors import SourceError
from dbhone.requirements import Requirement
from dbhone.versions import VersionRange

_KEPT = Path("install")
_UNMOVABLE = ("ExecInterpExpr",)
"""The interpreter of expressions keeps the addresses of its own parts in a table."""
_NAME = re.compile(r"^PACKAGE_NAME='PostgreSQL'$", re.MULTILINE)
_VERSION = re.compile(r"^PACKAGE_VERSION='(\d{1,9}[^']*)'$", re.MULTILINE)
_HINT = "give a whole source tree of PostgreSQL 13 or newer"
_CONFIGURED = ("config.status", "src/Makefile.global", "src/include/pg_config.h")
"""Made by ``configure`` where it was called. The headers of a tree include the one beside them."""
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
_OWN = frozenset({"plpgsql"})
"""The extensions of a build by hone's own recipe."""
_DISTRIBUTED = _OWN | frozenset(_IN_THE_SOURCE.split())
"""Those that PostgreSQL's own source has, in any version: Debian's rules build all of them."""


class Postgresql(PostgresqlLife):
    """PostgreSQL, without the libraries that it can do without."""

    name = "postgresql"
    title = "PostgreSQL"
    builds = VersionRange(since="13")
    reference = "apt:postgresql"
    build_seconds = 190.0
    text_bytes = 5_000_000
    packagings = frozenset({"deb"})
    lacks = (
        "TLS",
        "collations by ICU",
        "logins by GSSAPI, LDAP and PAM",
        "systemd's notification",
        "JIT",
        "XML",
        "compression by zlib, LZ4 and Zstandard",
        "translations",
        "procedural languages but PL/pgSQL",
        "the contrib modules",
        "clients such as psql and pg_dump",
    )
    service = SERVICE
    licence = Licence(
        name="PostgreSQL",
        files=("COPYRIGHT",),
        duty="The PostgreSQL Licence asks that its text goes with every copy: it is enclosed.",
    )
    requirements = (
        Requirement(name="make", package="make"),
        # They make the sources that newer trees do not hold.
        Requirement(name="bison", package="bison"),
        Requirement(name="flex", package="flex"),
        Requirement(name="perl", package="perl"),
    )

    def version(self, tree: Path) -> str:
        """Return what the script ``configure`` says."""
        script = tree / "configure"
        if not script.is_file() or not (tree / "src" / "backend").is_dir():
            raise SourceError(
                "this is not PostgreSQL's source tree: configure and src/backend are missing",
                hint=_HINT,
            )
        text = script.read_text(encoding="utf-8", errors="replace")
        match = _VERSION.search(text)
        if not _NAME.search(text) or match is None:
            raise SourceError("the script configure is not PostgreSQL's", hint=_HINT)
        self.check_builds(match[1])
        return match[1]

    def check_source(self, tree: Path) -> None:
        """Refuse a tree that was configured in its own folder."""
        found = [name for name in _CONFIGURED if (tree / name).exists()]
        if found:
            raise SourceError(
                "this tree of PostgreSQL was configured in its own folder, whose settings would go"
                f" into every build: it holds {' and '.join(found)}",
                hint="run 'make distclean' in a copy of it and give the copy, or name its commit:"
                " git:PATH@HEAD",
            )

    def extensions(self, packaging: str | None) -> frozenset[str]:
        """Return PL/pgSQL; for a build by Debian's rules all that PostgreSQL's source has."""
        return _OWN if packaging is None else _DISTRIBUTED

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: configure, what the server needs, then the server."""
        if request.packaging is not None:
            return deb_recipe(request, _UNMOVABLE)
        return Recipe(
            steps=make_steps(request),
            artifacts=(
                Artifact(name="install", made=STAGED, kept=_KEPT, tree=True),
                Artifact(
                    name="server",
                    made=STAGED / "bin" / "postgres",
                    kept=_KEPT / "bin" / "postgres",
                ),
            ),
            primary="server",
            unmovable=_UNMOVABLE,
        )


PLUGIN = Postgresql()
