"""The distribution's packages in whose place hone installed others, kept for the way back.

Each server has a folder in the home with the original packages and a record. The record says which
versions hone has put, or was about to put, in their place, and whether the originals were about to
come back. So a break at any moment leaves a way back.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.errors import MachineError, PackageError
from dbhone.files import write_whole
from dbhone.home import Home
from dbhone.session import Session
from dbhone.untrusted_files import remove_tree

_FOLDER, _RECORD = "installed", "record.json"
_TIMEOUT = 1800.0
_ABSENT = frozenset({"", "not-installed", "config-files"})
"""What dpkg says of a package that is not there; one that it half configured is there."""
_INSTALLED = "installed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryPackage:
    """A binary package in a file, and which version of it is installed, empty for none.

    ``depends`` are the packages that it needs, as its control file has them.
    """

    name: str
    version: str
    installed: str
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
        name = fields["Package"]
        status, version = _state(name)
        installed = "" if status in _ABSENT else version
        return cls(
            name=name,
            version=fields["Version"],
            installed=installed,
            file=file,
            depends=tuple(fields.get("Depends", "").split(", ")),
        )

    def is_bound_to(self, other: BinaryPackage) -> bool:
        """Return whether it can only be installed with exactly the other's version."""
        return f"{other.name} (= {other.version})" in self.depends

    def is_in_place(self) -> bool:
        """Return whether the version in the file is installed now, whole."""
        return _state(self.name) == (_INSTALLED, self.version)

    @property
    def is_untouched(self) -> bool:
        """Whether the version that was installed still is, whole, and not the one in the file."""
        now = _state(self.name)
        return self.version != self.installed and now == (_INSTALLED, self.installed)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """The kept packages of a server of a DBMS.

    ``replaced_by`` has, for the name of each, the versions that hone has put in its place.
    ``restoring`` is whether it has begun to put them back.
    """

    folder: Path
    dbms: str
    series: str
    replaced_by: dict[str, list[str]]
    restoring: bool = False

    @property
    def server(self) -> str:
        """The package with the server."""
        return self.folder.name

    def packages(self) -> tuple[BinaryPackage, ...]:
        """Return the kept packages, and what of them is installed now."""
        return tuple(map(BinaryPackage.of, sorted(self.folder.glob("*.deb"))))

    def to_restore(self) -> tuple[BinaryPackage, ...]:
        """Return those in whose place is a package of hone's, or that may be only half restored.

        What the user has removed meanwhile stays away, and the distribution's updates stay.
        """
        return tuple(
            package
            for package in self.packages()
            if package.installed == package.version or self._is_replaced(package)
        )

    def _is_replaced(self, package: BinaryPackage) -> bool:
        """Whether a package of hone's is in its place. All packages of one source have a version.

        An older hone noted the version of the server's package only.
        """
        return any(package.installed in versions for versions in self.replaced_by.values())

    def are_away(self) -> bool:
        """Return whether a package of hone's is in place, or the way back was not gone to its end.

        Neither is so once the distribution's next update has replaced hone's packages.
        """
        packages = self.packages()
        if any(map(self._is_replaced, packages)):
            return True
        return self.restoring and all(each.installed == each.version for each in packages)

    def begin_to_restore(self) -> None:
        """Note that from now on some of the originals may be back."""
        dataclasses.replace(self, restoring=True)._write()

    def forget(self) -> None:
        """Remove them: they are installed again."""
        remove_tree(self.folder)

    def _write(self) -> None:
        record = {
            "dbms": self.dbms,
            "series": self.series,
            "replaced_by": self.replaced_by,
            "restoring": self.restoring,
        }
        write_whole(self.folder / _RECORD, json.dumps(record) + "\n")


def kept_originals(home: Home) -> dict[str, Originals]:
    """Return the originals that hone's packages have replaced by now, by the server's package."""
    found = (_read(path) for path in sorted((home.root / _FOLDER).glob(f"*/{_RECORD}")))
    return {one.server: one for one in found if one.are_away()}


def _read(path: Path) -> Originals:
    folder = path.parent
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return Originals(
            folder=folder,
            dbms=record["dbms"],
            series=record["series"],
            replaced_by=record.get("replaced_by") or {folder.name: [record["version"]]},
            restoring=record.get("restoring", False),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise PackageError(
            f"{path}, which says what hone has installed, is damaged",
            hint="bring the originals back, and delete the folder:"
            f" apt-get install --reinstall --allow-downgrades {folder}/*.deb",
        ) from error


def keep_originals(
    server: str, dbms: str, series: str, packages: Iterable[BinaryPackage], session: Session
) -> Originals:
    """Fetch and keep what is installed of ``packages``, which are about to take its place.

    Originals in whose place are hone's packages stay. Raises MachineError for one that cannot be
    obtained.
    """
    kept = kept_originals(session.home).get(server)
    known: dict[str, list[str]] = {}
    if kept is not None:
        known = {each.name: kept.replaced_by.get(each.name, []) for each in kept.to_restore()}
    packages = tuple(packages)
    draft = session.workdir("originals")
    for package in packages:
        if package.name not in known:
            _fetch(package, draft)
    replaced_by = known | {
        package.name: [*known.get(package.name, ()), package.version] for package in packages
    }
    final = session.home.root / _FOLDER / server
    described = Originals(folder=draft, dbms=dbms, series=series, replaced_by=replaced_by)
    if kept is None:
        described._write()
        final.parent.mkdir(exist_ok=True)
        if final.exists():  # of an installation that the distribution's next update has ended
            remove_tree(final)
        shutil.move(draft, final)
        return dataclasses.replace(described, folder=final)
    for package in kept.packages():
        if package.name not in known:  # the distribution has updated it, or the user removed it
            package.file.unlink()
    for file in draft.iterdir():
        shutil.move(file, final / file.name)
    described = dataclasses.replace(described, folder=final)
    described._write()
    return described


def _fetch(package: BinaryPackage, folder: Path) -> None:
    argv = ("apt-get", "download", f"{package.name}={package.installed}")
    environment = {"LC_ALL": "C.UTF-8"}
    command = Command(argv=argv, cwd=folder, env=environment, timeout=_TIMEOUT)
    if not process.run(command).ok:
        raise MachineError(
            f"the original {package.name} {package.installed} cannot be obtained: there would"
            " be no way back",
            hint="run 'apt-get update', and install the version that your package sources have",
        )
