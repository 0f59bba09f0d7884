"""apt and dpkg on this machine: what they would do with packages, and having them do it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.errors import MachineError, PackageError, UsageError
from dbhone.session import Notify
from dbhone.units import listed

_ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "LC_ALL": "C.UTF-8",
    "NEEDRESTART_SUSPEND": "1",  # it would restart services that are none of hone's business
}
_INSTALL = (
    *("apt-get", "install", "--yes", "--no-install-recommends", "--reinstall"),
    *("--allow-downgrades", "-o", "DPkg::Lock::Timeout=60"),
    # Settings that the user has changed stay.
    *("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"),
)
_SIMULATED = re.compile(r"^(?P<what>Inst|Remv) (?P<name>\S+)", re.MULTILINE)
_REFUSAL = re.compile(r"^E: (.+)", re.MULTILINE)
_BROKEN = frozenset({"half-installed", "unpacked", "half-configured"})
_ABSENT = frozenset({"", "not-installed", "config-files"})
"""What dpkg says of a package that is not there; one that it half configured is there."""
_INSTALLED = "installed"
_DIGESTS = "md5sums"
"""The file of a package with the digests of those that it installs; dpkg keeps it."""
_TIMEOUT = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryPackage:
    """A binary package in a file, and which version of it is installed, empty for none.

    ``was_in_place`` says that this was what is in the file, whole. ``depends`` are the packages
    that it needs, as its control file has them.
    """

    name: str
    version: str
    installed: str
    was_in_place: bool
    file: Path
    depends: tuple[str, ...] = ()

    @classmethod
    def of(cls, file: Path) -> BinaryPackage:
        """Return what a file holds. Raises PackageError for one that is no binary package."""
        argv = ("dpkg-deb", "--field", str(file), "Package", "Version", "Depends")
        printed = process.output_of(argv) or ""
        fields = dict(line.split(": ", 1) for line in printed.splitlines() if ": " in line)
        if not {"Package", "Version"} <= fields.keys():
            raise PackageError(f"{file.name} is not a binary package")
        name, version = fields["Package"], fields["Version"]
        status, installed = _state(name)
        return cls(
            name=name,
            version=version,
            installed="" if status in _ABSENT else installed,
            was_in_place=_is_in_place(file, name, version),
            file=file,
            depends=tuple(fields.get("Depends", "").split(", ")),
        )

    def is_bound_to(self, other: BinaryPackage) -> bool:
        """Return whether it can only be installed with exactly the other's version."""
        return f"{other.name} (= {other.version})" in self.depends

    def is_in_place(self) -> bool:
        """Return whether what is in the file is installed now, whole."""
        return _is_in_place(self.file, self.name, self.version)

    def is_untouched(self) -> bool:
        """Return whether what was installed still is, whole."""
        whole = _state(self.name) == (_INSTALLED, self.installed)
        return whole and self.is_in_place() == self.was_in_place


def are_untouched(packages: Sequence[BinaryPackage]) -> bool:
    """Return whether apt has certainly installed none of them: if all are in place, it may have."""
    all_in_place = all(package.is_in_place() for package in packages)
    return not all_in_place and all(package.is_untouched() for package in packages)


def _is_in_place(package: Path, name: str, version: str) -> bool:
    """Return whether a file's package of this name and version is installed, whole.

    Two builds of one source have the same version; the digests of their files tell them apart.
    """
    if _state(name) != (_INSTALLED, version):
        return False
    installed = process.output_of(("dpkg-query", "--control-show", name, _DIGESTS))
    return installed == process.output_of(("dpkg-deb", "--info", str(package), _DIGESTS))


def _state(name: str) -> tuple[str, str]:
    """Return the status and the version that dpkg has of a package; both are empty for none.

    A library may be there for other architectures besides; those are not meant.
    """
    wanted = {"all", (process.output_of(("dpkg", "--print-architecture")) or "").strip()}
    form = "--showformat=${Architecture} ${db:Status-Status} ${Version}\n"
    printed = process.output_of(("dpkg-query", "--show", form, name)) or ""
    for architecture, status, version in (line.split(" ") for line in printed.splitlines()):
        if architecture in wanted:
            return status, version
    return "", ""


def check_packages_are_whole() -> None:
    """Raise UsageError if dpkg has left a package half installed: apt would fail because of it."""
    form = "--showformat=${db:Status-Status} ${Package}\n"
    printed = process.output_of(("dpkg-query", "--show", form)) or ""
    states = (line.split(" ") for line in printed.splitlines())
    broken = [name for state, name in states if state in _BROKEN]
    if broken:
        raise UsageError(
            f"only half installed here: {listed(broken)}",
            hint="finish that first: dpkg --configure -a",
        )


def held(packages: Sequence[BinaryPackage]) -> tuple[str, ...]:
    """Return the names of those that the user has told apt to hold."""
    names = _all_held()
    return tuple(package.name for package in packages if package.name in names)


def _all_held() -> frozenset[str]:
    return frozenset((process.output_of(("apt-mark", "showhold")) or "").split())


def fetch(package: BinaryPackage, folder: Path) -> None:
    """Fetch the version of a package that is installed. Raises MachineError if that cannot be."""
    argv = ("apt-get", "download", f"{package.name}={package.installed}")
    environment = {"LC_ALL": "C.UTF-8"}
    command = Command(argv=argv, cwd=folder, env=environment, timeout=_TIMEOUT)
    if not process.run(command).ok:
        raise MachineError(
            f"the original {package.name} {package.installed} cannot be obtained: there would"
            " be no way back",
            hint="run 'apt-get update', and install the version that your package sources have",
        )


def simulate(packages: Sequence[BinaryPackage], log: Path) -> tuple[str, ...]:
    """Return what apt would install besides. Raises UsageError if it would remove anything."""
    command = Command(
        argv=_install_argv(packages, "--simulate"),
        cwd=Path("/"),
        env=_ENVIRONMENT,
        timeout=_TIMEOUT,
    )
    finished = process.run(command)
    if not finished.ok:
        log.write_bytes(finished.output)
        why = _why(finished, finished.text())
        raise MachineError(f"apt would not install these packages: {why}", log=log)
    found = [(match["what"], match["name"]) for match in _SIMULATED.finditer(finished.text())]
    removed = [name for what, name in found if what == "Remv"]
    if removed:
        raise UsageError(
            f"apt would remove {listed(removed)}, which cannot stay beside these packages",
            hint=f"if you can do without: apt-get remove {' '.join(removed)}",
        )
    own = {package.name for package in packages}
    return tuple(name for what, name in found if what == "Inst" and name not in own)


def install(packages: Sequence[BinaryPackage], log: Path, notify: Notify) -> None:
    """Install packages. What the user holds is held afterwards, too.

    Raises MachineError if apt fails, unless these packages are in place: it also fails for others.
    """
    notify(f"installing {', '.join(package.name for package in packages)}")
    command = Command(
        argv=_install_argv(packages, "--no-remove"),
        cwd=Path("/"),
        env=_ENVIRONMENT,
        log=log,
        # However long it takes: a package manager that is stopped leaves packages half installed.
        timeout=None,
        lasting=True,
    )
    size = log.stat().st_size if log.exists() else 0
    with _holds_kept(log):
        finished = process.run(command)
    if finished.ok:
        return
    with log.open("rb") as file:
        file.seek(size)
        failure = f"apt-get install failed: {_why(finished, file.read().decode(errors='replace'))}"
    if not all(package.is_in_place() for package in packages):
        raise MachineError(failure, log=log)
    notify(f"{failure}; yet these packages are installed, so hone goes on")


def _install_argv(packages: Sequence[BinaryPackage], option: str) -> tuple[str, ...]:
    files = tuple(str(package.file) for package in packages)
    held_too = ("--allow-change-held-packages",) if held(packages) else ()
    return (*_INSTALL, *held_too, option, *files)


def _why(finished: process.Finished, output: str) -> str:
    said = _REFUSAL.findall(output)
    return said[-1] if said else f"it {finished.ending()}"


@contextmanager
def _holds_kept(log: Path) -> Iterator[None]:
    before = _all_held()
    try:
        yield
    finally:
        gone = sorted(before - _all_held())
        if gone:
            argv = ("apt-mark", "hold", *gone)
            process.run(Command(argv=argv, cwd=Path("/"), env=_ENVIRONMENT, log=log, lasting=True))
