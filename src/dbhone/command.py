"""A program to run: its words, and all that says how it is to run. ``process.py`` runs it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone.account import Account, Tenant
from dbhone.errors import ToolError
from dbhone.sandbox import Sandbox

SESSION_VARIABLE = "DBHONE_SESSION"
_NEEDED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", SESSION_VARIABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A program to run.

    ``argv`` is the program and its arguments. ``env`` is added to hone's own environment. With
    ``isolated`` it is added to the few variables that every program needs, so that a user's
    CFLAGS cannot leak into a build. ``log`` gets standard error, and standard output too unless
    it is captured; without a log both are captured. ``timeout`` is in seconds; None waits for
    ever. ``stdin`` is a file that the program reads; without one its input is empty. The program
    runs as the account of its ``tenant``, which only root may set, and in its control group. hone
    opens the working folder and the log as itself before that. The program runs on ``cpus`` only.
    An ``idle`` program runs only on CPUs that nothing else uses. A program with a ``sandbox`` is
    shut in, if the machine can do that (``can_enclose``). A ``lasting`` program changes the machine
    itself, such as its package manager: it comes to its end however hone ends, and the services
    that it starts stay.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] | None = None
    isolated: bool = False
    log: Path | None = None
    timeout: float | None = None
    stdin: Path | None = None
    tenant: Tenant | None = None
    cpus: frozenset[int] | None = None
    idle: bool = False
    sandbox: Sandbox | None = None
    lasting: bool = False

    @property
    def account(self) -> Account | None:
        """The account that the program runs as, None if it is hone's own user."""
        return None if self.tenant is None else self.tenant.account

    def environment(self) -> dict[str, str]:
        """Return the whole environment that the program gets."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not self.isolated or name in _NEEDED
        }
        environment = self._marked(inherited)
        if self.account is not None:
            environment.pop("TMPDIR", None)  # a folder of hone's own user
            name = self.account.name
            environment |= {"USER": name, "LOGNAME": name, "HOME": self.account.home}
        return environment | dict(self.env or {})

    def helper_environment(self) -> dict[str, str]:
        """Return hone's own environment, as far as the supervisor and bubblewrap need it."""
        return self._marked({name: os.environ[name] for name in _NEEDED & os.environ.keys()})

    def _marked(self, environment: dict[str, str]) -> dict[str, str]:
        """Return the environment with the session's mark, by which its remains are killed.

        A lasting program and its supervisor do not have it.
        """
        unmarked = {SESSION_VARIABLE} if self.lasting else set()
        return {name: value for name, value in environment.items() if name not in unmarked}

    def constraints(self) -> tuple[str, str, str, str, str]:
        """Return account, groups, CPUs, scheduling and lifetime, as the supervisor reads them."""
        group = None if self.tenant is None else self.tenant.group
        return (
            "-" if self.account is None else f"{self.account.uid}:{self.account.gid}",
            "-" if group is None else "\n".join(map(str, group.folders)),
            "-" if self.cpus is None else ",".join(map(str, sorted(self.cpus))),
            "idle" if self.idle else "-",
            "lasting" if self.lasting else "-",
        )

    def check_program(self) -> None:
        """Raise ToolError if there is no such program to run."""
        program, path = self.argv[0], self.environment().get("PATH")
        file = self.cwd / program
        if self.sandbox is not None:
            file = self.sandbox.place_outside(file)
        if shutil.which(str(file) if "/" in program else program, path=path) is None:
            reason = errno.EACCES if file.exists() else errno.ENOENT
            raise ToolError(f"cannot run {program}: {os.strerror(reason)}")
