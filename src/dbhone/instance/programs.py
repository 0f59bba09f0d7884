"""Programs that prepare a server: they run to their end, as the server's account."""

from __future__ import annotations

from pathlib import Path

from dbhone import process
from dbhone.dbms.base_server import Installation, InstanceDir, Program, ServerDbms
from dbhone.instance.account import Account, ids_of
from dbhone.instance.place import admit


def title_of(dbms: ServerDbms, installation: Installation) -> str:
    """Return what a server is called in messages: its name, and its version if that is known."""
    return f"{dbms.title} {installation.version}".strip()


def run_program(
    program: Program,
    place: InstanceDir,
    account: Account | None,
    *,
    timeout: float,
    log: Path | None = None,
) -> process.Finished:
    """Run a program; without a ``log`` what it prints is returned. ``timeout`` is in seconds."""
    command = process.Command(
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
        stdin=_input(program, place, account),
        account=ids_of(account),
    )
    return process.run(command)


def prepared_environment(place: InstanceDir) -> dict[str, str]:
    """Return variables that put aside what an instrumented build counts.

    Preparing data, proving and loading are not what it is trained on.
    """
    return {"GCOV_PREFIX": str(place.scratch), "LLVM_PROFILE_FILE": "/dev/null"}


def _input(program: Program, place: InstanceDir, account: Account | None) -> Path | None:
    if not program.stdin:
        return None
    path = place.settings.with_name("input")
    path.write_text(program.stdin, encoding="utf-8")
    admit(path, account)
    return path
