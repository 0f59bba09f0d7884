"""Programs that prepare a server, and the logs of servers."""

from __future__ import annotations

import uuid
from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import Installation, InstanceDir, Program, ServerDbms
from dbhone.errors import NoSpaceError, ServerError, database_says_disk_full
from dbhone.home import Home
from dbhone.instance.place import admit
from dbhone.sandbox import Sandbox, longest_file
from dbhone.untrusted_files import keep_untrusted, read_untrusted


def title_of(dbms: ServerDbms, installation: Installation) -> str:
    """Return a server's name in messages: its DBMS, and its version if that is known."""
    return f"{dbms.title} {installation.version}".strip()


def installation_of(dbms: ServerDbms, build: Build) -> Installation:
    """Return the server in a build. Raises ServerError if there is none."""
    files = build.manifest.files
    prefix = build.path("install") if "install" in files else build.folder
    installed = dbms.installation(prefix)
    if installed is None:
        raise ServerError(f"the build in {build.folder} holds no server of {dbms.title}")
    return Installation(
        dbms=dbms.name,
        version=build.manifest.version,
        prefix=installed.prefix,
        server=build.path(build.manifest.primary),
        libraries=tuple(build.folder / name for name in build.manifest.libraries),
        source=build.manifest.source_digest,
    )


def sandbox_of(
    installation: Installation,
    place: InstanceDir,
    *,
    writable: tuple[Path, ...] = (),
    readable: tuple[Path, ...] = (),
    open_files: int = 0,
) -> Sandbox:
    """Return what encloses the programs of a server: they see it, and their own place only.

    ``open_files`` is how many a program needs to have open.
    """
    programs = (installation.prefix, installation.server, *installation.libraries)
    return Sandbox(
        writable=(place.data, place.sockets, place.scratch, *writable),
        readable=(*programs, place.settings, *readable),
        file_bytes=longest_file(place.data),
        open_files=open_files,
    )


def run_program(
    program: Program,
    installation: Installation,
    place: InstanceDir,
    *,
    timeout: float,
    log: Path | None = None,
) -> process.Finished:
    """Run a program of a server in its sandbox; without a ``log`` its output is returned.

    ``timeout`` is in seconds.
    """
    command = Command(
        argv=program.argv,
        cwd=place.scratch,
        env={
            "LC_ALL": "C",
            "TMPDIR": str(place.scratch),
            **prepared_environment(place),
            **program.env,
        },
        isolated=True,
        log=log,
        timeout=timeout,
        stdin=_input(program, place),
        tenant=place.tenant,
        sandbox=sandbox_of(installation, place),
    )
    return process.run(command)


def prepared_environment(place: InstanceDir) -> dict[str, str]:
    """Return variables that put aside an instrumented build's counts.

    It is not trained on preparing data, on verification and on loading.
    """
    return {"GCOV_PREFIX": str(place.scratch), "LLVM_PROFILE_FILE": "/dev/null"}


def _input(program: Program, place: InstanceDir) -> Path | None:
    if not program.stdin:
        return None
    path = place.settings.with_name("input")
    path.write_text(program.stdin, encoding="utf-8")
    admit(path, place.tenant.account)
    return path


_LONGEST_KEPT = 64 * 1024 * 1024
"""Bytes of a log that are kept."""


def read_log(log: Path, *, start: int = 0) -> str:
    """Return a log's text from byte ``start`` on, without the middle of a very long one.

    It is empty if the log does not exist.
    """
    try:
        return read_untrusted(log, start=start).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def keep_log(log: Path, home: Home, name: str) -> Path | None:
    """Copy a log to the home's logs, without the middle of a very long one.

    Return None if that is impossible, for example on a full disk.
    """
    kept = home.logs / f"{name}-{uuid.uuid4().hex[:8]}.log"
    return keep_untrusted(log, kept, limit=_LONGEST_KEPT)


def check_space(text: str, place: InstanceDir, log: Path | None) -> None:
    """Raise NoSpaceError if a log's text says that the disk is full."""
    if database_says_disk_full(text):
        raise NoSpaceError(f"no space left for the data directory {place.data}", log=log)
