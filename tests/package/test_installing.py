"""Packages take the originals' place, or everything is as it was. The distribution is a fake."""

from __future__ import annotations

import copy
import dataclasses
import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone import process
from dbhone.command import Command
from dbhone.dbms._postgresql_service import SERVICE
from dbhone.errors import Interrupted, MachineError, PackageError, UsageError
from dbhone.package import installing
from dbhone.package.archive import Entry, pack
from dbhone.package.checking import Checked, Stated
from dbhone.package.installing import (
    Replacement,
    install,
    installed_servers,
    plan_replacement,
    uninstall,
)
from dbhone.package.proof import PROVENANCE, VERIFICATION
from dbhone.package.service_instances import RunningInstance, unmanaged
from dbhone.session import Notify, Session
from dbhone.source.elf import machine_here
from tests.files import put, put_program
from tests.package.fakes import LANGUAGE, NEW, OLD, SERVER, Machine
from tests.package.packages import BUILD, OUTCOME


def checked(
    *, packaging: str | None = "deb", machine: str = machine_here(), glibc: str | None = None
) -> Checked:
    provenance = copy.deepcopy(BUILD)
    asked = {"dbms": "postgresql", "version": "15.18", "packaging": packaging}
    provenance["buildDefinition"]["externalParameters"] |= asked
    made = provenance["buildDefinition"]["internalParameters"]
    made |= {"machine": machine, "glibc": glibc, "package": {}}
    predicates = {PROVENANCE: provenance, VERIFICATION: OUTCOME.model_dump(mode="json")}
    stated = Stated.model_validate(predicates)
    return Checked(name="server", files=2, key=None, stated=stated, found=None)


def package_file(version: str = NEW, digests: str = "") -> bytes:
    """Return a package with three binary packages, which are what dpkg-deb says of them.

    ``digests`` are of the files of the server's.
    """
    texts = {
        SERVER: f"Depends: libpq5 (>= 14~beta2)\nDigests: {digests}\n",
        LANGUAGE: f"Depends: libc6, {SERVER} (= {version})\n",
        "libpq5": "",
    }
    entries = [
        Entry(
            name=f"packages/{name}.deb",
            data=f"Package: {name}\nVersion: {version}\n{text}".encode(),
        )
        for name, text in texts.items()
    ]
    return pack(entries, "server", 0)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path / "machine", monkeypatch)


def planned(session: Session, version: str = NEW, digests: str = "") -> Replacement:
    return plan_replacement(package_file(version, digests), checked(), session)


def test_what_is_installed_is_replaced_and_its_cluster_started_anew(
    machine: Machine, session: Session
) -> None:
    plan = planned(session)
    assert [package.name for package in plan.packages] == ["postgresql-15"]
    install(plan, session, print)
    assert machine.version == NEW
    assert f"download postgresql-15={OLD}" in machine.told.splitlines()[0]
    assert machine.told.endswith("15 main restart\n")
    assert list(installed_servers(session)) == ["postgresql-15"]
    uninstall("postgresql-15", session, print)
    assert (machine.version, installed_servers(session)) == (OLD, {})


def test_the_originals_come_back_if_the_server_does_not_come_up(
    machine: Machine, session: Session
) -> None:
    machine.spoiled(NEW)
    with pytest.raises(
        PackageError, match=r"pg_isready .*; the originals are restored and running"
    ):
        install(planned(session), session, print)
    assert (machine.version, installed_servers(session)) == (OLD, {})


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_originals_come_back_if_the_disk_is_full_after_installing(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of the restart cannot be written, but that of going back can."""
    restart, failures = RunningInstance._restart, iter([full])

    def restart_on_a_full_disk(instance: RunningInstance, log: Path, notify: Notify) -> None:
        next(failures, restart)(instance, log, notify)

    monkeypatch.setattr(RunningInstance, "_restart", restart_on_a_full_disk)
    with pytest.raises(PackageError, match=r"^no space left .*; the originals are restored"):
        install(planned(session), session, print)
    assert (machine.version, installed_servers(session)) == (OLD, {})


def interrupted_after(program: str) -> Callable[[Command], process.Finished]:
    """Return what runs a command, and is interrupted once this program changed the machine.

    Of pg_isready, which changes nothing, it is interrupted too.
    """
    run = process.run

    def run_and_be_interrupted(command: Command) -> process.Finished:
        finished = run(command)
        changes = command.lasting or program == "pg_isready"
        if changes and command.argv[0] == program:
            raise KeyboardInterrupt
        return finished

    return run_and_be_interrupted


@pytest.mark.parametrize("stopped", ["apt-get", "pg_ctlcluster", "pg_isready"])
def test_who_interrupts_an_installation_is_told_the_way_back(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch, stopped: str
) -> None:
    plan = planned(session)
    with monkeypatch.context() as patched:
        patched.setattr(process, "run", interrupted_after(stopped))
        with pytest.raises(Interrupted, match="may be installed, and it was not checked") as error:
            install(plan, session, print)
    assert error.value.hint == "'hone uninstall' restores the originals"
    assert machine.version == NEW
    uninstall("postgresql-15", session, print)
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
    install(planned(session), session, print)
    limits = {each.timeout for each in commands if "--no-remove" in each.argv}
    assert limits == {None}
    assert machine.version == NEW


def test_a_full_disk_before_installing_leaves_everything_as_it_was(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned(session)
    for name in ("shutil.move", "write_whole"):
        with monkeypatch.context() as patched:
            patched.setattr(f"dbhone.package.originals.{name}", full)
            with pytest.raises(OSError, match="No space left"):
                install(plan, session, print)
        assert machine.version == OLD
        assert "install" not in machine.told
        assert installed_servers(session) == {}
    install(plan, session, print)
    assert machine.version == NEW


def test_originals_that_cannot_be_restored_are_kept_with_the_way_back(
    machine: Machine, session: Session
) -> None:
    plan = planned(session)
    machine.spoiled(NEW)
    install_once = f"""
        [ "$1" = download ] && echo "Package: {SERVER}\nVersion: {OLD}" > o.deb && exit
        [ -e {machine.root}/once ] && exit 100
        touch {machine.root}/once; echo {NEW} > {machine.root}/versions/{SERVER}"""
    put_program(machine.bin / "apt-get", install_once)
    with pytest.raises(PackageError, match="the originals could not be restored: ") as error:
        install(plan, session, print)
    kept = session.home.root / "installed" / "postgresql-15"
    assert error.value.hint is not None
    assert error.value.hint.endswith(f"--allow-downgrades {kept}/*.deb")
    assert OLD in (kept / "o.deb").read_text()


def test_a_server_that_is_only_half_configured_can_be_uninstalled(
    machine: Machine, session: Session
) -> None:
    install(planned(session), session, print)
    version = f"$(cat {machine.root / 'versions' / SERVER})"
    for status, found in (("half-configured", ["postgresql-15"]), ("config-files", [])):
        put_program(machine.bin / "dpkg-query", f'echo "all {status} {version}"')
        assert list(installed_servers(session)) == found


def test_what_apt_would_remove_is_told_before_anything_is_asked(
    machine: Machine, session: Session
) -> None:
    machine.simulated(f"Remv postgresql-15-dbgsym [{OLD}]\nInst {SERVER} [{OLD}] ({NEW} local)\n")
    with pytest.raises(UsageError, match="apt would remove postgresql-15-dbgsym") as error:
        planned(session)
    assert error.value.hint == "if you can do without: apt-get remove postgresql-15-dbgsym"


def test_what_apt_would_install_besides_is_told(machine: Machine, session: Session) -> None:
    machine.simulated(f"Inst libllvm14 (1:14 Debian)\nInst {SERVER} [{OLD}] ({NEW} local)\n")
    assert planned(session).besides == ("libllvm14",)


def test_what_apt_refuses_is_told_with_what_it_said(machine: Machine, session: Session) -> None:
    put_program(machine.bin / "apt-get", "echo 'E: Held packages were changed'; exit 100")
    with pytest.raises(MachineError, match="these packages: Held packages were changed") as error:
        planned(session)
    assert error.value.log is not None
    assert "Held packages" in error.value.log.read_text()


def test_apt_may_remove_nothing_when_it_installs(machine: Machine, session: Session) -> None:
    install(planned(session), session, print)
    installing = [line for line in machine.told.splitlines() if line.startswith("install")]
    assert all("--no-remove" in line for line in installing)
    assert len(installing) == 1


def test_where_apt_changed_nothing_there_is_no_way_back_to_go(
    machine: Machine, session: Session
) -> None:
    plan = planned(session)
    put_program(
        machine.bin / "apt-get",
        f"""[ "$1" = download ] && echo "Package: {SERVER}\nVersion: {OLD}" > o.deb && exit
        echo "$@" >> {machine.root}/told; exit 100""",
    )
    with pytest.raises(MachineError, match="no package was changed"):
        install(plan, session, print)
    assert "restart" not in machine.told
    assert machine.told.count("--no-remove") == 1
    assert installed_servers(session) == {}


def test_another_build_of_the_same_version_is_not_taken_for_the_new_one(
    machine: Machine, session: Session
) -> None:
    """The other package, which both builds have alike, shows no change either."""
    machine.set_version(OLD, LANGUAGE)
    install(planned(session, digests="first"), session, print)
    plan, told = planned(session, digests="second"), machine.told
    put_program(machine.bin / "apt-get", "exit 100")
    with pytest.raises(MachineError, match="no package was changed"):
        install(plan, session, print)
    assert machine.told == told
    assert list(installed_servers(session)) == [SERVER]


def test_the_originals_come_back_if_the_installed_package_fails_the_second_time(
    machine: Machine, session: Session
) -> None:
    install(planned(session), session, print)
    plan = planned(session)
    machine.spoiled(NEW)
    with pytest.raises(PackageError, match="the originals are restored and running"):
        install(plan, session, print)
    assert (machine.version, installed_servers(session)) == (OLD, {})


def test_a_break_between_two_packages_leaves_a_way_back(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package that was replaced first is not the server's."""
    machine.set_version(OLD, LANGUAGE)
    plan = planned(session)
    plan = dataclasses.replace(plan, packages=plan.packages[::-1])
    machine.breaks(after_the_first_package=True)
    with monkeypatch.context() as patched:
        patched.setattr(installing, "_go_back", lambda *_: None)
        with pytest.raises(MachineError):
            install(plan, session, print)
    assert (machine.version_of(LANGUAGE), machine.version) == (NEW, OLD)
    assert list(installed_servers(session)) == [SERVER]
    machine.breaks(after_the_first_package=False)
    uninstall(SERVER, session, print)
    assert (machine.version_of(LANGUAGE), machine.version) == (OLD, OLD)


@pytest.mark.parametrize("stopped", ["apt-get", "pg_ctlcluster"])
def test_a_way_back_that_was_interrupted_can_be_gone_again(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch, stopped: str
) -> None:
    install(planned(session), session, print)
    with monkeypatch.context() as patched:
        patched.setattr(process, "run", interrupted_after(stopped))
        with pytest.raises(KeyboardInterrupt):
            uninstall(SERVER, session, print)
    assert (machine.version, list(installed_servers(session))) == (OLD, [SERVER])
    uninstall(SERVER, session, print)
    assert installed_servers(session) == {}


def test_a_way_back_that_was_interrupted_ends_with_the_distributions_update(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(planned(session), session, print)
    with monkeypatch.context() as patched:
        patched.setattr(installing, "_apply", full)
        with pytest.raises(OSError, match="No space left"):
            uninstall(SERVER, session, print)
    machine.set_version("15.19-1")
    assert installed_servers(session) == {}


def test_a_package_of_a_language_that_is_newer_is_not_replaced(
    machine: Machine, session: Session
) -> None:
    machine.set_version("15.19-1", LANGUAGE)
    with pytest.raises(UsageError, match=rf"{LANGUAGE} 15\.19-1 is installed, but .* is older"):
        planned(session)


def test_a_damaged_record_is_told_with_the_way_back(machine: Machine, session: Session) -> None:
    install(planned(session), session, print)
    folder = session.home.root / "installed" / SERVER
    for text in ("{", "[]", "{}"):
        (folder / "record.json").write_text(text)
        with pytest.raises(PackageError, match="is damaged") as error:
            installed_servers(session)
        assert error.value.hint is not None
        assert error.value.hint.endswith(f"--allow-downgrades {folder}/*.deb")


def test_nothing_is_installed_without_a_way_back(machine: Machine, session: Session) -> None:
    plan = planned(session)
    put_program(machine.bin / "apt-get", "exit 100")
    with pytest.raises(MachineError, match="there would be no way back"):
        install(plan, session, print)
    assert (machine.version, installed_servers(session)) == (OLD, {})


def test_a_second_package_keeps_the_way_back_to_the_distributions(
    machine: Machine, session: Session
) -> None:
    install(planned(session), session, print)
    install(planned(session, NEW.replace("hone1", "hone2")), session, print)
    assert machine.version.endswith("hone2")
    uninstall("postgresql-15", session, print)
    assert machine.version == OLD


def test_the_distributions_next_update_ends_an_installation(
    machine: Machine, session: Session
) -> None:
    install(planned(session), session, print)
    machine.set_version("15.19-1")
    assert installed_servers(session) == {}
    install(planned(session, "15.19-1+hone1"), session, print)
    uninstall("postgresql-15", session, print)
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
    put_program(machine.bin / "dpkg-query", "exit 1")
    with pytest.raises(UsageError, match="postgresql-15 is not installed here"):
        planned(session)


def test_libraries_that_other_programs_use_too_stay(machine: Machine, session: Session) -> None:
    machine.set_version("18.1-1.pgdg120+1", "libpq5")
    machine.set_version(OLD, LANGUAGE)
    assert [each.name for each in planned(session).packages] == [SERVER, LANGUAGE]


def test_older_packages_are_refused_with_what_to_make_one_of(
    machine: Machine, session: Session
) -> None:
    machine.set_version("15.18-2.pgdg120+1")
    with pytest.raises(UsageError) as error:
        planned(session)
    assert error.value.hint is not None
    assert error.value.hint.endswith(f"apt:{SERVER}=15.18-2.pgdg120+1")


def test_a_server_that_recovers_is_waited_for(machine: Machine, session: Session) -> None:
    plan, said = planned(session), list[str]()
    machine.answers(2, 1, 1, 1, 0)
    install(plan, session, said.append)
    assert machine.version == NEW
    assert said.count("15/main is recovering") == 1


def test_a_server_that_never_takes_connections_again_has_failed(
    machine: Machine, session: Session
) -> None:
    plan = planned(session)
    machine.answers(*[1] * 6, 0)
    with pytest.raises(PackageError, match=r"15/main does not accept .*; the originals are rest"):
        install(plan, session, print)
    assert machine.version == OLD


def test_a_server_that_took_no_connections_before_is_not_blamed(
    machine: Machine, session: Session
) -> None:
    """Such is a standby without hot_standby."""
    said: list[str] = []
    machine.answers(1)
    install(planned(session), session, said.append)
    assert machine.version == NEW
    assert said[-1] == "15/main runs; it accepts no connections, as before"
    uninstall(SERVER, session, said.append)
    assert machine.version == OLD


def test_a_server_without_a_process_has_failed_at_once(machine: Machine, session: Session) -> None:
    plan = planned(session)
    put_program(machine.bin / "pg_ctlcluster", f"rm -f {machine.root}/proc/1234/exe")
    machine.answers(2, 0)
    with pytest.raises(PackageError, match=r"15/main does not accept .*; the originals are rest"):
        install(plan, session, print)


def test_a_server_under_a_supervisor_is_not_restarted(machine: Machine, session: Session) -> None:
    machine.clusters(f"15 main 5432 online,patroni postgres {machine.root}/data /log")
    said: list[str] = []
    install(planned(session), session, said.append)
    assert "restart" not in machine.told
    assert said[-1] == (
        "15/main runs under patroni: have it restarted there; until then the old program runs"
    )


def test_a_server_that_its_service_did_not_restart_is_told(
    machine: Machine, session: Session
) -> None:
    put_program(machine.bin / "pg_ctlcluster")
    said: list[str] = []
    install(planned(session), session, said.append)
    assert said[-1].startswith("15/main runs under something else than its service")


def test_a_server_that_the_packages_have_restarted_is_not_restarted_again(
    machine: Machine, session: Session
) -> None:
    program = machine.root / "proc" / "1234" / "exe"
    apt = machine.bin / "apt-get"
    apt.write_text(apt.read_text().replace(" (deleted)", ""))
    install(planned(session), session, print)
    assert program.readlink() == machine.program
    assert "restart" not in machine.told


def test_a_server_that_the_distribution_does_not_manage_is_told(
    machine: Machine, session: Session
) -> None:
    """The tests' own process stands for one."""
    said: list[str] = []
    machine.executed_by(os.getpid())
    plan = planned(session)
    label = f"process {os.getpid()} in {Path.cwd()}"
    assert [server.label for server in plan.unmanaged] == [label]
    install(plan, session, said.append)
    assert said[-1] == f"{label} still executes the old program: have it restarted"
    machine.executed_by(os.getpid())
    uninstall(SERVER, session, said.append)
    assert said.count(said[-1]) == 2


def test_a_server_is_known_by_its_program_and_its_children_are_not_servers(tmp_path: Path) -> None:
    program = Path(shutil.copy("/bin/sh", tmp_path / "postgres"))
    service = dataclasses.replace(SERVICE, program=str(program))
    waits = '"$0" -c "echo; read line"; :'
    with subprocess.Popen(
        [program, "-c", waits, program],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        (server,) = unmanaged(service, "15", ())
        assert server.label == f"process {shell.pid} in {tmp_path}"
        assert not server.executes_replaced()
        program.unlink()
        put_program(program)
        assert server.executes_replaced()
        assert unmanaged(service, "15", ()) == ()
        shell.communicate(b"\n")
    assert not server.executes_replaced()
    assert server.label == f"process {shell.pid}"


def test_stopped_servers_do_not_matter_but_are_told_if_they_are_started(
    machine: Machine, session: Session
) -> None:
    """One has a mount point without its data, which nothing can say anything of."""
    empty = put(machine.root / "empty" / "file").parent
    machine.clusters(
        f"15 main 5432 online postgres {machine.root}/data /log",
        f"15 other 5433 down postgres {empty} /log",
    )
    plan = planned(session)
    assert plan.started == ("15/other",)
    install(plan, session, print)
    (machine.root / "data" / "PG_VERSION").unlink()
    uninstall(SERVER, session, print)
    assert machine.version == OLD


def test_packages_that_are_held_are_replaced_and_held_again(
    machine: Machine, session: Session
) -> None:
    held = machine.root / "held"
    held.write_text(f"{SERVER}\n")
    plan = planned(session)
    assert plan.held == (SERVER,)
    install(plan, session, print)
    assert (machine.version, held.read_text()) == (NEW, f"{SERVER}\n")
    uninstall(SERVER, session, print)
    assert (machine.version, held.read_text()) == (OLD, f"{SERVER}\n")


def test_a_failure_of_apt_is_told_with_what_it_said(machine: Machine, session: Session) -> None:
    plan = planned(session)
    (machine.root / "held").write_text("libllvm14\n")
    with pytest.raises(MachineError, match="Held packages were changed; no package was changed"):
        install(plan, session, print)


def test_a_failure_of_apt_for_other_packages_does_not_matter(
    machine: Machine, session: Session
) -> None:
    plan, said = planned(session), list[str]()
    (machine.root / "fails").touch()
    install(plan, session, said.append)
    assert machine.version == NEW
    assert any("error code (1); yet these packages are installed" in text for text in said)


def test_packages_that_are_half_installed_are_refused(machine: Machine, session: Session) -> None:
    (machine.root / "states").write_text("installed libc6\nhalf-configured grub-pc\n")
    with pytest.raises(UsageError, match="only half installed here: grub-pc") as error:
        planned(session)
    assert error.value.hint == "finish that first: dpkg --configure -a"


def test_other_services_are_not_restarted(machine: Machine, session: Session) -> None:
    install(planned(session), session, print)
    assert (machine.root / "needrestart").read_text() == "needrestart: 1\n"


def test_the_users_variables_lead_to_no_other_server(
    machine: Machine, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "5433")
    plan = planned(session)
    assert [each.accepted for each in plan.instances] == [True]
    install(plan, session, print)
    assert machine.version == NEW


def test_what_the_distribution_has_updated_since_stays(machine: Machine, session: Session) -> None:
    machine.set_version(OLD, LANGUAGE)
    install(planned(session), session, print)
    machine.set_version("15.19-1", LANGUAGE)
    assert [each.name for each in installed_servers(session)[SERVER]] == [SERVER]
    uninstall(SERVER, session, print)
    assert (machine.version, machine.version_of(LANGUAGE)) == (OLD, "15.19-1")


def test_a_second_package_keeps_anew_what_the_distribution_has_updated(
    machine: Machine, session: Session
) -> None:
    machine.set_version(OLD, LANGUAGE)
    install(planned(session), session, print)
    machine.set_version("15.19-1", LANGUAGE)
    install(planned(session, "15.19-1+hone1"), session, print)
    uninstall(SERVER, session, print)
    assert (machine.version, machine.version_of(LANGUAGE)) == (OLD, "15.19-1")
