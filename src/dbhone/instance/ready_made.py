"""Adopts ready-made servers: a server that somebody else has built is kept as a build.

Its tree is copied to where other accounts may read it. The server is asked for its version, in a
sandbox; nothing else of it runs before it is measured.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

from dbhone.account import check_reachable
from dbhone.compilation import kept_builds
from dbhone.compilation.artifacts import copy_readable
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build, KeptFile, Manifest
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.base_server import Installation, ServerDbms, server_systems
from dbhone.errors import SourceError
from dbhone.files import digest_of, open_to_all
from dbhone.home import Home
from dbhone.instance.place import opened_place
from dbhone.instance.programs import run_program
from dbhone.measurement.record import READY_MADE
from dbhone.session import Session
from dbhone.source.libraries import require_libraries
from dbhone.source.ready_made import ReadyMadeServer, require_server
from dbhone.source.tree import SourceTree

_FORMAT = 1
_KEPT = Path("install")
_QUERY_TIMEOUT = 60.0


def digest(tree: SourceTree) -> str:
    """Return the name of the build that a tree is adopted as."""
    return digest_of({"adoption": _FORMAT, "source": tree.digest})


def find(home: Home, tree: SourceTree) -> Build | None:
    """Return the build that a tree was adopted as, None if it was not."""
    return kept_builds.find(home, digest(tree))


def adopt(tree: SourceTree, session: Session) -> Build:
    """Return the server in a tree as a build.

    Raises SourceError if the tree has no server of a known DBMS, MachineError if the machine lacks
    a library that the server needs.
    """
    began = time.monotonic()
    server = require_server(tree.path, tree.reference)
    folders = require_libraries(server.program, tree.path)
    draft = session.workdir("adopted")
    draft.chmod(0o711)  # the server's account passes it
    result = draft / "result"
    result.mkdir()
    installation = _install(server, folders, tree, result)
    dbms, version = _identify(installation, session)
    manifest = _manifest(tree, installation, dbms, version, result, time.monotonic() - began)
    return kept_builds.keep_build(result, manifest, session)


def _install(
    server: ReadyMadeServer, folders: tuple[Path, ...], tree: SourceTree, result: Path
) -> Installation:
    """Copy the server's prefix, and the folders of its own libraries that lie outside of it."""
    kept = result / _KEPT
    copy_readable(server.prefix, kept, tree.path)
    libraries = []
    for number, folder in enumerate(folders):
        if folder.is_relative_to(server.prefix):
            libraries.append(kept / folder.relative_to(server.prefix))
        else:
            copy_readable(folder, kept / f"libraries-{number}", tree.path)
            libraries.append(kept / f"libraries-{number}")
    open_to_all(result)
    return Installation(
        dbms="",
        version="",
        prefix=kept,
        server=kept / server.program.relative_to(server.prefix),
        libraries=tuple(libraries),
    )


def _identify(installation: Installation, session: Session) -> tuple[ServerDbms, str]:
    """Return a server's DBMS and version, by its own output. Raises SourceError."""
    output = ""
    with opened_place(session) as place:
        check_reachable(installation.server.parent, place.tenant.account)
        for dbms in server_systems().values():
            query = dbms.version_query(installation)
            finished = run_program(query, installation, place, timeout=_QUERY_TIMEOUT)
            output = finished.text().strip() or finished.ending()
            version = dbms.version_in(output) if finished.ok else None
            if version is not None:
                return dbms, version
    raise SourceError(
        f"{installation.server.name} is not a server that hone knows: asked for its version it said"
        f" '{output.splitlines()[-1]}'"
    )


def _manifest(
    tree: SourceTree,
    installation: Installation,
    dbms: ServerDbms,
    version: str,
    result: Path,
    seconds: float,
) -> Manifest:
    return Manifest(
        digest=digest(tree),
        inputs=BuildInputs(
            dbms=dbms.name,
            source=tree.reference,
            variant=parse_variant(READY_MADE),
            compiler=READY_MADE,
        ),
        version=version,
        source=tree.label,
        source_digest=tree.digest,
        pass_=Pass.PLAIN,
        family=None,
        compiler=READY_MADE,
        compiler_identity="",
        compile_flags=(),
        link_flags=(),
        steps=(),
        profile=None,
        seconds=seconds,
        phase_seconds={},
        compile_commands=0,
        files={
            "install": KeptFile.of(installation.prefix, result),
            "server": KeptFile.of(installation.server, result),
        },
        primary="server",
        libraries=tuple(str(folder.relative_to(result)) for folder in installation.libraries),
        built_at=datetime.now(UTC),
    )
