"""What must be installed on a machine, the Debian packages that bring it, and how to install them.

Each DBMS, source kind, compiler and driver says for itself what it requires. This module finds out
what is missing, and installs it if the user agrees.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from dbhone import process, sandbox
from dbhone.command import Command
from dbhone.errors import ToolError
from dbhone.units import count_of
from dbhone.versions import ALWAYS, VersionRange

_APT = "apt-get"
_INSTALL = (_APT, "install", "-y", "--no-install-recommends")
_UNATTENDED = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
_PATIENT = ("-q", "-o", "DPkg::Lock::Timeout=300")
"""It waits for other users of the package manager, such as a new machine's first upgrade."""


class RequirementKind(StrEnum):
    """How a requirement is looked for."""

    PROGRAM = "program"
    """On the PATH."""
    HEADER = "header"
    """Where C compilers look for headers."""
    FILE = "file"
    """By a pattern of its path below ``/``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationSetting:
    """A file of one line that is there only while a package is installed, whose scripts read it."""

    path: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """Something that must be installed.

    ``package`` is Debian's package that brings it. Only ``versions`` of a DBMS require it. With
    a ``setting`` hone installs the package without what it would start.
    """

    name: str
    package: str
    kind: RequirementKind = RequirementKind.PROGRAM
    versions: VersionRange = ALWAYS
    setting: InstallationSetting | None = None

    def is_met(self) -> bool:
        """Return whether it is there."""
        match self.kind:
            case RequirementKind.PROGRAM:
                return shutil.which(self.name) is not None
            case RequirementKind.HEADER:
                return any((folder / self.name).is_file() for folder in _header_folders())
            case RequirementKind.FILE:
                return any(Path("/").glob(self.name))


SANDBOX = Requirement(name=sandbox.PROGRAM, package=sandbox.PACKAGE)
"""What encloses strangers' programs and tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What a machine lacks."""

    requirements: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything is missing."""
        return bool(self.requirements)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that bring it, each once."""
        return tuple(dict.fromkeys(need.package for need in self.requirements))

    @property
    def names(self) -> str:
        """What is missing, in words; for a pattern its package stands."""
        return " and ".join(
            need.package if need.kind is RequirementKind.FILE else need.name
            for need in self.requirements
        )

    def describe(self) -> str:
        """Return it in words, such as "2 packages (bison flex)"; empty if nothing is missing."""
        if not self.packages:
            return ""
        return f"{count_of(len(self.packages), 'package')} ({' '.join(self.packages)})"

    def line(self) -> str:
        """Return the one line that makes up for it, for a shell."""
        commands = [f"{_APT} update", " ".join((*_INSTALL, *self.packages))]
        if os.geteuid() == 0:
            return " && ".join(commands)
        if shutil.which("sudo") is None:
            return f"su -c '{' && '.join(commands)}'"
        return " && ".join(f"sudo {command}" for command in commands)

    def advice(self) -> str:
        """Return what to do about it: the line, or what to look for on a machine without apt."""
        if shutil.which(_APT) is not None:
            return f"install it: {self.line()}"
        word = "package" if len(self.packages) == 1 else "packages"
        return f"install what brings {self.names} (Debian's {word}: {' '.join(self.packages)})"


def missing(requirements: Iterable[Requirement]) -> Missing:
    """Return what of the requirements is not there."""
    return Missing(
        requirements=tuple(need for need in dict.fromkeys(requirements) if not need.is_met())
    )


def require(needs: Iterable[Requirement], why: str) -> None:
    """Raise ToolError, with how to install them, unless all requirements are met.

    ``why`` says what needs them, such as ``building MySQL``.
    """
    lacking = missing(needs)
    if lacking:
        raise ToolError(
            f"{why} needs {lacking.names}, which this machine lacks", hint=lacking.advice()
        )


def as_root(words: str) -> str:
    """Return the line that runs hone with these words as root, wherever hone is."""
    return f'sudo "$(command -v hone)" {words} (in a clone: sudo ./hone {words})'


def installable() -> bool:
    """Return whether hone may install packages: as root, or by a sudo that asks for no password."""
    if shutil.which(_APT) is None:
        return False
    return os.geteuid() == 0 or process.output_of(("sudo", "-n", "true")) is not None


def install(lacking: Missing, log: Path) -> None:
    """Install what is missing. Raises ToolError, with the log, if that fails."""
    # Old lists of packages may do; without any, installing fails and says so.
    _as_root((_APT, *_PATIENT, "update"), log)
    settings = {need.setting for need in lacking.requirements if need.setting is not None}
    with contextlib.ExitStack() as while_installing:
        for setting in settings:
            while_installing.enter_context(_set(setting, log))
        installed = _as_root((*_INSTALL, *_PATIENT, *lacking.packages), log)
    process.why_not_enclosed.cache_clear()  # bubblewrap may have come
    if not installed:
        raise ToolError(
            f"{_APT} could not install {' '.join(lacking.packages)}", log=log, hint=lacking.line()
        )


@contextlib.contextmanager
def _set(setting: InstallationSetting, log: Path) -> Iterator[None]:
    """Have the setting's file there."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as draft:
        draft.write(f"{setting.line}\n")
        draft.flush()
        try:
            if not _as_root(("install", "-D", "--mode=644", draft.name, setting.path), log):
                raise ToolError(f"cannot write {setting.path}", log=log)
            yield
        finally:
            _as_root(("rm", "-f", setting.path), log)


def _as_root(words: tuple[str, ...], log: Path) -> bool:
    settings = tuple(f"{name}={value}" for name, value in _UNATTENDED.items())
    sudo = () if os.geteuid() == 0 else ("sudo", "-n")
    argv = (*sudo, "env", *settings, *words)
    return process.run(Command(argv=argv, cwd=Path("/"), log=log, lasting=True)).ok


def distribution() -> str:
    """Return the distribution and its version, such as ``debian12``; empty if nothing tells."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return release.get("ID", "") + release.get("VERSION_ID", "")


def _header_folders() -> tuple[Path, ...]:
    usual = Path("/usr/include")
    return (Path("/usr/local/include"), usual, *usual.glob(f"{platform.machine()}-linux-*"))
