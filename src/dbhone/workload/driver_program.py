"""The program of a driver: one that is installed, or one that hone builds with the user's go.

A driver's Go module lies in the package, with the checksums of all modules that it needs. They are
fetched as the user's go is set up to, and verified by it; then the program is built without a
network, once for each module and version of go.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant, own
from dbhone.command import Command
from dbhone.errors import ToolError
from dbhone.files import copy_tree, digest_of, digest_of_tree
from dbhone.home import Home
from dbhone.program_folders import program_folders
from dbhone.requirements import missing
from dbhone.sandbox import Sandbox
from dbhone.session import Session
from dbhone.tenant import tenancy
from dbhone.untrusted_files import open_untrusted, remove_tree
from dbhone.workload.drivers.base import ServerDriver

_TIMEOUT = 1800.0
_PROGRAM = "program"
_OF_THE_USER = ("GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE")
"""By these variables the user's go is told where modules come from."""


def locate_program(driver: ServerDriver, session: Session, notify: Callable[[str], None]) -> Path:
    """Return the driver's program, built if it is none that is installed.

    Raises ToolError if it is missing, or cannot be built.
    """
    installed = driver.installed()
    if installed is None:
        raise ToolError(
            f"{driver.program} is not installed",
            hint=missing((driver.requirement,)).advice(),
        )
    if driver.module is None:
        return Path(installed)
    return _built(driver.name, driver.module, Path(installed), session, notify)


def _built(
    name: str, module: Path, go: Path, session: Session, notify: Callable[[str], None]
) -> Path:
    """Return the program that a Go module makes, built unless it is kept."""
    version = process.output_of((str(go), "env", "GOVERSION", "GOARCH"))
    key = digest_of([digest_of_tree(module), version])[:16]

    def write(folder: Path) -> None:
        notify(f"building {name} with go")
        work = session.workdir(name)
        log = session.home.logs / f"{name}-{key}.log"
        copy_tree(module, work / "module")
        _run_go(_fetch(go, work, log))
        with tenancy(session) as tenant:
            own(work, tenant.account)
            _run_go(_build(go, work, log, tenant, session.home))
        with open_untrusted(work / _PROGRAM) as made, (folder / name).open("wb") as kept:
            shutil.copyfileobj(made, kept)
        (folder / name).chmod(0o755)
        remove_tree(work)

    return session.fill_once(session.home.data / f"{name}-{key}", write) / name


def _fetch(go: Path, work: Path, log: Path) -> Command:
    """Return the command that fetches the modules as the user's go is told to."""
    of_the_user = {name: os.environ[name] for name in _OF_THE_USER if name in os.environ}
    return Command(
        argv=(str(go), "mod", "download"),
        cwd=work / "module",
        env=_environment(work) | of_the_user,
        isolated=True,
        log=log,
        timeout=_TIMEOUT,
    )


def _build(go: Path, work: Path, log: Path, tenant: Tenant, home: Home) -> Command:
    """Return the command that builds the program where there is no network."""
    return Command(
        argv=(str(go), "build", "-trimpath", "-buildvcs=false", "-o", str(work / _PROGRAM), "."),
        cwd=work / "module",
        env=_environment(work) | {"GOPROXY": "off", "GOENV": "off"},
        isolated=True,
        log=log,
        timeout=_TIMEOUT,
        sandbox=Sandbox(writable=(work,), readable=program_folders((go,), home)),
        tenant=tenant,
    )


def _environment(work: Path) -> dict[str, str]:
    places = {name: str(work / name.lower()) for name in ("GOPATH", "GOMODCACHE", "GOCACHE")}
    return {**places, "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}


def _run_go(command: Command) -> None:
    if not process.run(command).ok:
        raise ToolError(
            f"'go {command.argv[1]}' failed for a driver's program",
            hint="the log's last lines say why; go must be 1.19 or newer",
            log=command.log,
        )
