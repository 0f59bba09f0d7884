"""Packages take the originals' place, or everything is as it was. The distribution is a fake."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dbhone import process
from dbhone.command import Command
from dbhone.errors import Interrupted, MachineError, PackageError, UsageError
from dbhone.home import Session
from dbhone.package import installing
from dbhone.package.archive import Entry, pack
from dbhone.package.checking import Checked
from dbhone.package.installing import (
    Replacement,
    install,
    installed_servers,
    plan_replacement,
    uninstall,
)
from dbhone.source.elf import machine_here
from tests.package.fakes import fake_program

OLD, NEW = "15.18-1", "15.18-1+hone1"


def checked(
    *, packaging: str | None = "deb", machine: str = machine_here(), glibc: str | None = None
) -> Checked:
    return Checked(
        name="server",
        files=2,
        key=None,
        dbms="postgresql",
        version="15.18",
        build="",
        variant="rel",
        machine=machine,
        grade="smoke",
        lists=(),
        subject=None,
        found=None,
        packaging=packaging,
        measured=False,
        glibc=glibc,
    )


def package_file(version: str = NEW) -> bytes:
    """Return a package with two binary packages, which are what dpkg-deb says of them."""
    entries = [
        Entry(name=f"packages/{name}.deb", data=f"Package: {name}\nVersion: {version}\n".encode())
        for name in ("postgresql-15", "postgresql-pltcl-15")
    ]
    return pack(entries, "server", 0)


class Machine:
    """A machine with one package installed, and one cluster that runs.

    A cluster comes up unless the installed version is the ``spoiled`` one.
    """

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.bin = root, root / "bin"
        (root / "data").mkdir(parents=True)
        (root / "data" / "PG_VERSION").write_text("15\n")
        self.set_version(OLD)
        self.spoiled("none")
        version = root / "version"
        programs = {
            "dpkg-deb": 'cat "$2"',
            "dpkg-query": f'[ "$3" = postgresql-15 ] && echo -n "installed $(cat {version})"',
            "apt-get": f"""
                echo "$@" >> {root}/told
                [ "$1" = download ] && echo "Package: ${{2%%=*}}
Version: ${{2##*=}}" > original.deb && exit
                for word; do :; done
                sed -n 's/Version: //p' "$word" > {version}""",
            "pg_lsclusters": f"echo 15 main 5432 online postgres {root}/data /log",
            "pg_ctlcluster": f'echo "$@" >> {root}/told',
            "pg_isready": f"! cmp -s {version} {root}/spoiled",
        }
        for name, script in programs.items():
            fake_program(self.bin, name, script)
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        monkeypatch.setattr("dbhone.package.installing.os.geteuid", lambda: 0)
        monkeypatch.setattr("dbhone.package.installing._SYSTEMD", root / "no-systemd")

    def set_version(self, version: str) -> None:
        (self.root / "version").write_text(f"{version}\n")

    def spoiled(self, version: str) -> None:
        (self.root / "spoiled").write_text(f"{version}\n")

    @property
    def version(self) -> str:
        return (self.root / "version").read_text().strip()

    @property
    def told(self) -> str:
        return (self.root / "told").read_text()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "machine", monkeypatch)


def planned(session: Session, version: str = NEW) -> Replacement:
    return plan_replacement(package_file(version), checked(), session)


def ignore(text: str) -> None:
    del text


def test_what_is_installed_is_replaced_and_its_cluster_started_anew(
    machine: Machine, session: Session
) -> None:
    plan = planned(session)
    assert [package.name for package in plan.packages] == ["postgresql-15"]
    install(plan, session, ignore)
    assert machine.version == NEW
    assert f"download postgresql-15={OLD}" in machine.told.splitlines()[0]
    assert machine.told.endswith("15 main restart\n")
    assert installed_servers(session) == ("postgresql-15",)
    uninstall("postgresql-15", session, ignore)
    assert machine.version == OLD
    assert installed_servers(session) == ()


def test_the_originals_come_back_if_the_server_does_not_come_up(
    machine: Machine, session: Session
) -> None:
    machine.spoiled(NEW)
    with pytest.raises(
        PackageError, match=r"pg_isready .*; the originals are restored and running"
    ):
        install(planned(session), session, ignore)
    assert machine.version == OLD
    assert installed_servers(session) == ()


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_originals_come_back_if_the_disk_is_full_after_installing(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of the restart cannot be written, but that of going back can."""
    run, failures = installing._run, iter([full])

    def run_on_a_full_disk(argv: tuple[str, ...], log: Path, **options: Any) -> None:
        if argv[0] == "pg_ctlcluster":
            next(failures, run)(argv, log)
        else:
            run(argv, log, **options)

    monkeypatch.setattr(installing, "_run", run_on_a_full_disk)
    with pytest.raises(PackageError, match=r"^no space left .*; the originals are restored"):
        install(planned(session), session, ignore)
    assert machine.version == OLD
    assert installed_servers(session) == ()


@pytest.mark.parametrize("stopped", ["apt-get", "pg_ctlcluster", "pg_isready"])
def test_who_interrupts_an_installation_is_told_the_way_back(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch, stopped: str
) -> None:
    run = process.run

    def interrupted(command: Command) -> process.Finished:
        finished = run(command)
        if command.lasting and command.argv[0] == stopped:
            raise KeyboardInterrupt
        return finished

    with monkeypatch.context() as patched:
        patched.setattr(process, "run", interrupted)
        with pytest.raises(Interrupted, match="may be installed, and it was not checked") as error:
            install(planned(session), session, ignore)
    assert error.value.hint == "'hone uninstall' restores the originals"
    assert machine.version == NEW
    uninstall("postgresql-15", session, ignore)
    assert machine.version == OLD


def test_apt_may_take_as_long_as_it_needs(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[Command] = []
    run = process.run

    def noted(command: Command) -> process.Finished:
        commands.append(command)
        return run(command)

    monkeypatch.setattr(process, "run", noted)
    install(planned(session), session, ignore)
    limits = {command.timeout for command in commands if command.argv[:2] == ("apt-get", "install")}
    assert limits == {None}
    assert machine.version == NEW


def test_a_full_disk_before_installing_leaves_everything_as_it_was(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(session)
    for name in ("shutil.move", "write_whole"):
        with monkeypatch.context() as patched:
            patched.setattr(f"dbhone.package.installing.{name}", full)
            with pytest.raises(OSError, match="No space left"):
                install(plan, session, ignore)
        assert machine.version == OLD
        assert "install" not in machine.told
        assert installed_servers(session) == ()
    install(plan, session, ignore)
    assert machine.version == NEW


def test_originals_that_cannot_be_restored_are_kept_with_the_way_back(
    machine: Machine, session: Session
) -> None:
    plan = planned(session)
    download = f'[ "$1" = download ] && echo "Package: postgresql-15\nVersion: {OLD}" > o.deb'
    fake_program(machine.bin, "apt-get", download)
    with pytest.raises(PackageError, match="the originals could not be restored: ") as error:
        install(plan, session, ignore)
    kept = session.home.root / "installed" / "postgresql-15"
    assert error.value.hint is not None
    assert error.value.hint.endswith(f"--allow-downgrades {kept}/*.deb")
    assert OLD in (kept / "o.deb").read_text()


def test_a_server_that_is_only_half_configured_can_be_uninstalled(
    machine: Machine, session: Session
) -> None:
    install(planned(session), session, ignore)
    version = f"$(cat {machine.root / 'version'})"
    for status, found in (("half-configured", ("postgresql-15",)), ("config-files", ())):
        fake_program(machine.bin, "dpkg-query", f'echo -n "{status} {version}"')
        assert installed_servers(session) == found


def test_nothing_is_installed_without_a_way_back(machine: Machine, session: Session) -> None:
    plan = planned(session)
    fake_program(machine.bin, "apt-get", "exit 100")
    with pytest.raises(MachineError, match="there would be no way back"):
        install(plan, session, ignore)
    assert machine.version == OLD
    assert installed_servers(session) == ()


def test_a_second_package_keeps_the_way_back_to_the_distributions(
    machine: Machine, session: Session
) -> None:
    install(planned(session), session, ignore)
    install(planned(session, NEW.replace("hone1", "hone2")), session, ignore)
    assert machine.version.endswith("hone2")
    uninstall("postgresql-15", session, ignore)
    assert machine.version == OLD


def test_the_distributions_next_update_ends_an_installation(
    machine: Machine, session: Session
) -> None:
    install(planned(session), session, ignore)
    machine.set_version("15.19-1")
    assert installed_servers(session) == ()
    install(planned(session, "15.19-1+hone1"), session, ignore)
    uninstall("postgresql-15", session, ignore)
    assert machine.version == "15.19-1"


def test_what_does_not_fit_this_machine_is_wrong_use(machine: Machine, session: Session) -> None:
    with pytest.raises(UsageError, match="of the form deb only"):
        plan_replacement(package_file(), checked(packaging=None), session)
    with pytest.raises(UsageError, match="it is for s390x"):
        plan_replacement(package_file(), checked(machine="s390x"), session)
    with pytest.raises(UsageError, match=r"it needs glibc 99\.1 or newer"):
        plan_replacement(package_file(), checked(glibc="99.1"), session)
    machine.set_version("15.20-1")
    with pytest.raises(UsageError, match=r"15\.20-1 is installed, but .* is older"):
        planned(session)
    (machine.root / "data" / "PG_VERSION").write_text("14\n")
    with pytest.raises(UsageError, match="is of version 14, which a server of 15 cannot read"):
        planned(session)
    (machine.root / "data" / "PG_VERSION").write_text("15\n")
    fake_program(machine.bin, "dpkg-query", "exit 1")
    with pytest.raises(UsageError, match="postgresql-15 is not installed here"):
        planned(session)
