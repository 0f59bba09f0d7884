"""Installs a distribution's rebuilt packages on this machine, and goes back to the originals.

apt is first asked what it would do: it must remove nothing. The originals are fetched and kept
before anything changes. apt installs, and the distribution's own means restart its service. If a
server that took connections takes none then, the originals come back at once. The package manager
comes to its end however hone ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from dbhone import process
from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_service import DistributionService
from dbhone.errors import (
    HoneError,
    Interrupted,
    MachineError,
    PackageError,
    UsageError,
    disk_full,
)
from dbhone.package import package_manager
from dbhone.package.archive import unpack
from dbhone.package.checking import Checked
from dbhone.package.content import PACKAGES
from dbhone.package.originals import Originals, keep_originals, kept_originals
from dbhone.package.package_manager import BinaryPackage
from dbhone.package.service_instances import (
    RunningInstance,
    UnmanagedServer,
    running,
    started_by_scripts,
    unmanaged,
)
from dbhone.requirements import as_root
from dbhone.session import Notify, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Packages to install in the place of others.

    ``server`` is the one with the server. ``instances`` run now, and have to run then. ``started``
    are those that the packages' scripts start besides. ``unmanaged`` servers execute the same
    program, and hone neither restarts nor checks them. ``besides`` are the packages that apt
    installs because these need them. Of ``packages`` the user holds those that are ``held``.
    """

    dbms: str
    series: str
    server: str
    packages: tuple[BinaryPackage, ...]
    instances: tuple[RunningInstance, ...]
    unmanaged: tuple[UnmanagedServer, ...] = ()
    started: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


def plan_replacement(file: bytes, checked: Checked, session: Session) -> Replacement:
    """Return what installing a checked package would do here.

    It replaces the server, and what is installed of those packages that need exactly its version.
    Libraries and clients, which serve other programs too, stay. Raises UsageError for a package of
    another form or that cannot run here, for a server that is not installed, a package that is
    newer, and a data directory that the server could not read; if packages are half installed; and
    if apt would remove a package. Raises MachineError if apt would not install them.
    """
    asked = checked.stated.asked
    if asked.packaging != "deb":
        raise UsageError("hone installs packages of the form deb only", hint="see 'hone package'")
    if checked.why_not_here is not None:
        raise UsageError(checked.why_not_here)
    if os.geteuid() != 0:
        raise MachineError("only root may install packages", hint=as_root("install …"))
    service = _service(asked.dbms)
    series = service.series(asked.version)
    server = service.package.format(series=series)
    packages = _of_the_server(server, _unpacked(file, session.workdir(PACKAGES)))
    package_manager.check_packages_are_whole()
    instances = running(service, series)
    for instance in instances:
        instance.check_data()
    _check_versions(server, packages)
    return Replacement(
        dbms=asked.dbms,
        series=series,
        server=server,
        packages=packages,
        instances=instances,
        unmanaged=unmanaged(service, series, instances),
        started=started_by_scripts(service, series),
        besides=package_manager.simulate(packages, _log(session)),
        held=package_manager.held(packages),
    )


def _of_the_server(name: str, unpacked: Iterable[BinaryPackage]) -> tuple[BinaryPackage, ...]:
    installed = [package for package in unpacked if package.installed]
    server = next((package for package in installed if package.name == name), None)
    if server is None:
        raise UsageError(
            f"{name} is not installed here: there is nothing to replace",
            hint=f"install it first: apt-get install {name}",
        )
    return tuple(each for each in installed if each is server or each.is_bound_to(server))


def _check_versions(server: str, packages: Sequence[BinaryPackage]) -> None:
    for package in packages:
        newer = ("dpkg", "--compare-versions", package.version, "ge", package.installed)
        if process.output_of(newer) is None:
            raise UsageError(
                f"{package.name} {package.installed} is installed, but {package.version} is older",
                hint="make a package of the source of what is installed:"
                f" apt:{server}={package.installed}",
            )


def install(plan: Replacement, session: Session, notify: Notify) -> None:
    """Install the packages, or leave everything as it was.

    Raises MachineError if the originals cannot be kept or apt has changed nothing, PackageError if
    the server did not come up with the new packages; then the originals are back, or the error says
    how to bring them back. Raises Interrupted, once apt has come to its end, if the user stops
    hone.
    """
    notify("fetching the originals, to be able to go back")
    kept = keep_originals(plan.server, plan.dbms, plan.series, plan.packages, session)
    try:
        _apply_or_go_back(plan, kept, session, notify)
    except KeyboardInterrupt:
        raise Interrupted(
            "interrupted: the new packages may be installed, and it was not checked that"
            f" {plan.server} works",
            hint="'hone uninstall' restores the originals",
            log=_log(session),
        ) from None
    _name_outdated(plan.unmanaged, notify)


def _apply_or_go_back(plan: Replacement, kept: Originals, session: Session, notify: Notify) -> None:
    try:
        _apply(plan.packages, plan.instances, session, notify)
    except (HoneError, OSError) as error:
        cause = _told(error)
        if not package_manager.are_untouched(plan.packages):
            _go_back(plan, kept, session, notify, cause)
        if not kept.are_away():
            kept.forget()
        raise MachineError(
            f"{cause.message}; no package was changed", hint=cause.hint, log=cause.log
        ) from error


def _go_back(
    plan: Replacement, kept: Originals, session: Session, notify: Notify, cause: HoneError
) -> NoReturn:
    """Restore the originals after a failure, and raise PackageError."""
    notify(f"{cause.message}: restoring the originals")
    try:
        _restore(kept, plan.instances, session, notify)
    except (HoneError, OSError) as error:
        raise PackageError(
            f"{cause.message}; the originals could not be restored: {_told(error).message}",
            hint="remove the cause, then restore them:"
            f" apt-get install --reinstall --allow-downgrades {kept.folder}/*.deb",
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


def installed_servers(session: Session) -> dict[str, tuple[BinaryPackage, ...]]:
    """Return the servers that are hone's by now, and for each the packages to restore."""
    return {name: kept.to_restore() for name, kept in kept_originals(session.home).items()}


def uninstall(server: str, session: Session, notify: Notify) -> None:
    """Put the originals of a server's packages back; the servers that run now have to run then.

    It can be repeated after a break. Raises MachineError as apt and the service fail.
    """
    kept = kept_originals(session.home)[server]
    service = _service(kept.dbms)
    instances = running(service, kept.series)
    others = unmanaged(service, kept.series, instances)
    _restore(kept, instances, session, notify)
    _name_outdated(others, notify)


def _name_outdated(servers: Iterable[UnmanagedServer], notify: Notify) -> None:
    """Tell which servers still execute the program that was replaced."""
    for server in servers:
        if server.executes_replaced():
            notify(f"{server.label} still executes the old program: have it restarted")


def _restore(
    kept: Originals, instances: tuple[RunningInstance, ...], session: Session, notify: Notify
) -> None:
    packages = kept.to_restore()
    kept.begin_to_restore()
    if packages:
        _apply(packages, instances, session, notify)
    kept.forget()


def _apply(
    packages: tuple[BinaryPackage, ...],
    instances: tuple[RunningInstance, ...],
    session: Session,
    notify: Notify,
) -> None:
    """Install packages, and have the instances execute them and accept connections."""
    log = _log(session)
    package_manager.install(packages, log, notify)
    for instance in instances:
        instance.renew(log, notify)


def _log(session: Session) -> Path:
    return session.home.logs / "install.log"


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
            yield BinaryPackage.of(target)
