"""The distribution's packages in whose place hone installed others, kept for the way back.

Each server has a folder in the home with the original packages and a record. What is installed in
their place is hone's by its version. The record says whether the originals were about to come back.
So a break at any moment leaves a way back.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dbhone.dbms.base_service import MARK
from dbhone.errors import PackageError
from dbhone.files import write_whole
from dbhone.home import Home
from dbhone.package.package_manager import BinaryPackage, fetch
from dbhone.session import Session
from dbhone.untrusted_files import remove_tree

_FOLDER, _RECORD = "installed", "record.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Originals:
    """The kept packages of a server of a DBMS; ``restoring`` once hone began to put them back."""

    folder: Path
    dbms: str
    series: str
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
            if package.installed == package.version or _is_hones(package)
        )

    def are_away(self) -> bool:
        """Return whether a package of hone's is in place, or the way back was not gone to its end.

        Neither is so once the distribution's next update has replaced hone's packages.
        """
        packages = self.packages()
        if any(map(_is_hones, packages)):
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
            "restoring": self.restoring,
        }
        write_whole(self.folder / _RECORD, json.dumps(record) + "\n")


def _is_hones(package: BinaryPackage) -> bool:
    """Return whether a package of hone's is installed in the place of an original."""
    return MARK in package.installed


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
            restoring=record["restoring"],
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
    known = set() if kept is None else {package.name for package in kept.to_restore()}
    draft = session.workdir("originals")
    for package in packages:
        if package.name not in known:
            fetch(package, draft)
    final = session.home.root / _FOLDER / server
    described = Originals(folder=draft, dbms=dbms, series=series)
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
