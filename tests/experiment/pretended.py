"""Builds whose speedtest1 is a small script: as quick as a measurement can be.

And servers that nobody starts.
"""

from __future__ import annotations

from pathlib import Path

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build, KeptFile
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.base_server import Installation
from dbhone.experiment.target.server_pool import ServerSpec
from tests.compilation.plain_build import plain_build
from tests.instance import lives

GOOD = """\
#!/bin/sh
echo "-- Speedtest1 for SQLite 3.40.1 2022-12-28 14:03:47 df5c253c0b3dd249"
printf ' 100 - %s INSERTs............. ' "$3"
printf '   0.0%s2s\\n 110 - 7 SELECTs.......... ' 1
printf '   0.025s\\n       TOTAL.......   0.037s\\n'
[ "$6" = --verify ] && echo "Verification Hash: 7 00ff"
exit 0
"""
GARBAGE = "#!/bin/sh\necho garbage\n"


def pretended_server(name: str) -> ServerSpec:
    """Return a server that is known by its version, ``name``."""
    installation = Installation(
        dbms="mariadb", version=name, prefix=Path("/"), server=Path("/mariadbd")
    )
    return ServerSpec(dbms=lives.Mariadb(), installation=installation, settings=())


def pretended_build(folder: Path, script: str = GOOD) -> Build:
    """Return a build whose driver is ``script``."""
    (folder / "bin").mkdir(parents=True)
    path = folder / "bin" / "speedtest1"
    path.write_text(script)
    path.chmod(0o755)
    kept = KeptFile(path="bin/speedtest1", bytes=path.stat().st_size, sha256="0" * 64)
    inputs = BuildInputs(dbms="sqlite", source="apt:sqlite3=1", variant=parse_variant("rel"))
    return plain_build(
        folder,
        inputs,
        version="3.40.1",
        source_digest="0" * 64,
        files={"speedtest1": kept, "library": kept},
        primary="library",
    )
