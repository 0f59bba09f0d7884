"""Installs a distribution's rebuilt packages on this machine, and goes back to the originals.

The originals are fetched and kept before anything changes. apt installs, and the distribution's own
means restart its service. If a server does not take connections then, the originals come back at
once. The package manager comes to its end however hone ends.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from dbhone import process
from dbhone.command import Command
from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_service import DistributionService, ServiceInstance
from dbhone.errors import (
    HoneError,
    Interrupted,
    MachineError,
    PackageError,
    UsageError,
    disk_full,
)
from dbhone.files import write_whole
from dbhone.home import Notify, Session
from dbhone.package.archive import unpack
from dbhone.package.checking import Checked
from dbhone.package.content import PACKAGES
from dbhone.untrusted_files import read_untrusted, remove_tree

_FOLDER, _RECORD = "installed", "record.json"
_SYSTEMD = Path("/run/systemd/system")
_ENVIRONMENT = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
_INSTALL = (
    *("apt-get", "install", "--yes", "--no-install-recommends", "--reinstall"),
    *("--allow-downgrades", "-o", "DPkg::Lock::Timeout=60"),
    # Settings that the user has changed stay.
    *("-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"),
)
_TIMEOUT = 1800.0
_ABSENT = frozenset({"", "not-installed", "config-files"})
"""What dpkg says of a package that is not there; one that it half configured is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryPackage:
    """A binary package in a file, and which version of it is installed, empty for none."""

    name: str
    version: str
    installed: str
    file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Packages to install in the place of others.

    ``server`` is the one with the server. ``instances`` run now, and have to run then.
    """

    dbms: str
    series: str
    server: str
    packages: tuple[BinaryPackage, ...]
    instances: tuple[ServiceInstance, ...]


def plan_replacement(file: bytes, checked: Checked, session: Session) -> Replacement:
    """Return what installing a checked package would do here.

    Raises UsageError for a package of another form or that cannot run here, for a server that is
    not installed or is newer, and for a data directory that the server could not read.
    """
    if checked.packaging != "deb":
        raise UsageError("hone installs packages of the form deb only", hint="see 'hone package'")
    if checked.why_not_here is not None:
        raise UsageError(checked.why_not_here)
    if os.geteuid() != 0:
        raise MachineError("only root may install packages", hint="sudo hone install …")
    service = _service(checked.dbms)
    series = service.series(checked.version)
    packages = _unpacked(file, session.workdir(PACKAGES))
    plan = Replacement(
        dbms=checked.dbms,
        series=series,
        server=service.package.format(series=series),
        packages=tuple(package for package in packages if package.installed),
        instances=_running(service, series),
    )
    _check_replaces(plan)
    return plan


def _check_replaces(plan: Replacement) -> None:
    server = next((package for package in plan.packages if package.name == plan.server), None)
    if server is None:
        raise UsageError(
            f"{plan.server} is not installed here: there is nothing to replace",
            hint=f"install it first: apt-get install {plan.server}",
        )
    newer = ("dpkg", "--compare-versions", server.version, "ge", server.installed)
    if process.output_of(newer) is None:
        raise UsageError(
            f"{plan.server} {server.installed} is installed, but {server.version} is older",
            hint="make a package of the newer source: 'hone build --refresh' looks for one",
        )


def install(plan: Replacement, session: Session, notify: Notify) -> None:
    """Install the packages, or leave everything as it was.

    Raises MachineError if the originals cannot be kept, PackageError if the server did not come up
    with the new packages; then the originals are back, or the error says how to bring them back.
    Raises Interrupted, once apt has come to its end, if the user stops hone.
    """
    if plan.server not in installed_servers(session):
        notify("fetching the originals, to be able to go back")
        _keep_originals(plan, session)
    _write_record(plan, session.home.root / _FOLDER / plan.server)
    try:
        _apply_or_go_back(plan, session, notify)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted: the new packages may be installed, and it was not checked that"
            f" {plan.server} works",
            hint="'hone uninstall' restores the originals",
            log=_log(session),
        ) from None


def _apply_or_go_back(plan: Replacement, session: Session, notify: Notify) -> None:
    try:
        _apply(plan, session, notify)
    except (HoneError, OSError) as error:
        _go_back(plan, session, notify, _told(error))


def _go_back(plan: Replacement, session: Session, notify: Notify, cause: HoneError) -> NoReturn:
    """Restore the originals after a failure, and raise PackageError."""
    notify(f"{cause.message}: restoring the originals")
    try:
        uninstall(plan.server, session, notify, instances=plan.instances)
    except (HoneError, OSError) as error:
        kept = session.home.root / _FOLDER / plan.server
        raise PackageError(
            f"{cause.message}; the originals could not be restored: {_told(error).message}",
            hint="remove the cause, then restore them:"
            f" apt-get install --reinstall --allow-downgrades {kept}/*.deb",
            log=cause.log,
        ) from error
    raise PackageError(
        f"{cause.message}; the originals are restored and running", log=cause.log
    ) from cause


def _told(error: HoneError | OSError) -> HoneError:
    """Return what to tell of a failure, such as a disk that is full."""
    if isinstance(error, HoneError):
        return error
    full = disk_full(error, "installing the packages")
    return full or MachineError(f"the packages cannot be installed: {error.strerror}")


def installed_servers(session: Session) -> tuple[str, ...]:
    """Return the server packages that are hone's, and not the distribution's again by now."""
    found = []
    for path in sorted((session.home.root / _FOLDER).glob(f"*/{_RECORD}")):
        record = json.loads(path.read_text(encoding="utf-8"))
        if _installed_version(path.parent.name) == record["version"]:
            found.append(path.parent.name)
    return tuple(found)


def uninstall(
    server: str,
    session: Session,
    notify: Notify,
    *,
    instances: tuple[ServiceInstance, ...] | None = None,
) -> None:
    """Put the originals of a server's packages back; those that run now have to run then.

    ``instances`` have to run, instead, where an installation failed.
    """
    kept = session.home.root / _FOLDER / server
    record = json.loads((kept / _RECORD).read_text(encoding="utf-8"))
    if instances is None:
        instances = _running(_service(record["dbms"]), record["series"])
    plan = Replacement(
        dbms=record["dbms"],
        series=record["series"],
        server=server,
        packages=tuple(_described(file) for file in sorted(kept.glob("*.deb"))),
        instances=instances,
    )
    _apply(plan, session, notify)
    remove_tree(kept)


def _apply(plan: Replacement, session: Session, notify: Notify) -> None:
    """Install packages, restart the instances, and check that they accept connections."""
    log = _log(session)
    notify(f"installing {', '.join(package.name for package in plan.packages)}")
    # However long it takes: a package manager that is stopped leaves packages half installed.
    _run((*_INSTALL, *(str(package.file) for package in plan.packages)), log, timeout=None)
    service = _service(plan.dbms)
    systemd = ("systemctl", "restart", service.unit)
    for instance in plan.instances:
        notify(f"restarting {instance.label}")
        _run(instance.in_words(systemd if _SYSTEMD.is_dir() else service.restart), log)
        _run(instance.in_words(service.ask), log)


def _log(session: Session) -> Path:
    return session.home.logs / "install.log"


def _run(argv: tuple[str, ...], log: Path, *, timeout: float | None = _TIMEOUT) -> None:
    """Run a program that changes the machine. Raises MachineError if it fails."""
    command = Command(
        argv=argv, cwd=Path("/"), env=_ENVIRONMENT, log=log, timeout=timeout, lasting=True
    )
    finished = process.run(command)
    if not finished.ok:
        raise MachineError(f"{' '.join(argv[:2])} {finished.ending()}", log=log)


def _keep_originals(plan: Replacement, session: Session) -> None:
    """Fetch the packages that are installed, into a folder that appears whole."""
    draft = session.workdir("originals")
    for package in plan.packages:
        argv = ("apt-get", "download", f"{package.name}={package.installed}")
        command = Command(argv=argv, cwd=draft, env=_ENVIRONMENT, timeout=_TIMEOUT)
        if not process.run(command).ok:
            raise MachineError(
                f"the original {package.name} {package.installed} cannot be obtained: there would"
                " be no way back",
                hint="run 'apt-get update', and install the version that your package sources have",
            )
    kept = session.home.root / _FOLDER / plan.server
    kept.parent.mkdir(exist_ok=True)
    if kept.exists():  # of an installation that the distribution's next update has ended
        remove_tree(kept)
    shutil.move(draft, kept)


def _write_record(plan: Replacement, kept: Path) -> None:
    version = next(package.version for package in plan.packages if package.name == plan.server)
    record = {"dbms": plan.dbms, "series": plan.series, "version": version}
    write_whole(kept / _RECORD, json.dumps(record) + "\n")


def _running(service: DistributionService, series: str) -> tuple[ServiceInstance, ...]:
    """Return the running instances of a series.

    Raises UsageError for a data directory of them that another series has made.
    """
    printed = process.output_of(service.listing)
    if printed is None:
        raise MachineError(f"{service.listing[0]} does not report which servers there are")
    own = [one for one in service.instances(printed) if one.series == series]
    for instance in own:
        if not instance.data.is_dir():
            continue
        made_by = _data_series(instance.data / service.data_series)
        if made_by != series:
            raise UsageError(
                f"the data directory {instance.data} is of version {made_by}, which a server of"
                f" {series} cannot read"
            )
    return tuple(one for one in own if one.running)


def _data_series(file: Path) -> str:
    """Return what a data directory, which is the servers' account's, says of itself."""
    try:
        return read_untrusted(file, limit=64).decode("ascii", "replace").strip()
    except OSError as error:
        raise MachineError(f"cannot read {file}: {error.strerror}") from error


def _service(dbms: str) -> DistributionService:
    service = load_dbms(dbms).service
    if service is None:
        raise UsageError(f"hone does not know how a distribution runs {load_dbms(dbms).title}")
    return service


def _unpacked(file: bytes, folder: Path) -> Iterable[BinaryPackage]:
    """Write the binary packages in a package file to a folder, and yield them."""
    for entry in unpack(file)[2]:
        path = Path(entry.name)
        if path.parent == Path(PACKAGES) and not entry.link:
            target = folder / path.name
            target.write_bytes(entry.data)
            yield _described(target)


def _described(file: Path) -> BinaryPackage:
    printed = process.output_of(("dpkg-deb", "--field", str(file), "Package", "Version"))
    fields = dict(line.split(": ", 1) for line in (printed or "").splitlines() if ": " in line)
    if set(fields) != {"Package", "Version"}:
        raise PackageError(f"{file.name} is not a binary package")
    return BinaryPackage(
        name=fields["Package"],
        version=fields["Version"],
        installed=_installed_version(fields["Package"]),
        file=file,
    )


def _installed_version(name: str) -> str:
    query = ("dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", name)
    status, _, version = (process.output_of(query) or "").partition(" ")
    return "" if status in _ABSENT else version
