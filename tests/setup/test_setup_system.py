"""What is missing of the system's programs is installed, or one exact line says how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.machine import Machine, fresh_machine

# What is missing, and the packages that bring it.
MISSING = [
    (("gcc",), "gcc libc6-dev"),
    (("make",), "make"),
    (("tclsh",), "tcl"),
    (("dpkg-source",), "dpkg-dev"),
    (("gcc", "make", "tclsh", "dpkg-source"), "gcc libc6-dev make tcl dpkg-dev"),
]
INSTALL = "apt-get install -y --no-install-recommends"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with fresh_machine(tmp_path) as machine:
        yield machine


def may_become_root(machine: Machine) -> None:
    """Give the machine a sudo that asks for no password, and an apt-get that installs make."""
    machine.command("sudo", 'shift; echo "sudo $1" >>"$MACHINE/told"; exec "$@"')
    is_root_enough_to_install_make(machine)


def is_root_enough_to_install_make(machine: Machine) -> None:
    machine.command(
        "apt-get",
        'echo "apt-get $* $DEBIAN_FRONTEND" >>"$MACHINE/told"\n'
        'case "$*" in *install*make*) cp "$MACHINE/bin/tclsh" "$MACHINE/bin/make" ;; esac',
    )


def test_nothing_is_asked_of_the_package_manager_when_nothing_is_missing(machine: Machine) -> None:
    assert machine.run("quickstart").status == 7
    assert not any("apt-get" in line for line in machine.told())


@pytest.mark.parametrize(("missing", "packages"), MISSING)
def test_a_user_without_root_gets_one_exact_line(
    machine: Machine, missing: tuple[str, ...], packages: str
) -> None:
    machine.without(*missing)
    ran = machine.run("quickstart")
    assert ran.status == 1
    assert ran.output == ""
    assert ran.errors.splitlines()[-1] == f"su -c 'apt-get update && {INSTALL} {packages}'"
    assert machine.told() == []


def test_a_user_whose_sudo_asks_for_a_password_gets_the_line_with_sudo(machine: Machine) -> None:
    machine.without("make")
    machine.command("sudo", "exit 1")
    ran = machine.run("quickstart")
    assert ran.status == 1
    assert ran.errors.splitlines()[-1] == f"sudo apt-get update && sudo {INSTALL} make"
    assert machine.told() == []


def test_sudo_without_a_password_installs_and_goes_on(machine: Machine) -> None:
    machine.without("make")
    may_become_root(machine)
    ran = machine.run("quickstart")
    assert ran.output == "hone [try]\n"
    installed = next(
        line for line in machine.told() if line.startswith("apt-get") and "ins" in line
    )
    assert installed.endswith("make noninteractive")


def test_root_installs_without_sudo(machine: Machine) -> None:
    machine.without("make")
    machine.command("id", "echo 0")
    is_root_enough_to_install_make(machine)
    assert machine.run("quickstart").output == "hone [try]\n"


def test_a_failure_to_install_is_told_with_the_log(machine: Machine) -> None:
    machine.without("make")
    machine.command("id", "echo 0")
    machine.command("apt-get", "echo no such package; exit 100")
    ran = machine.run("quickstart")
    assert ran.status == 1
    assert "no such package" in ran.errors
    assert "apt-get could not install: make" in ran.errors


def test_an_installation_that_brings_no_working_program_is_a_failure(machine: Machine) -> None:
    machine.without("make")
    machine.command("id", "echo 0")
    ran = machine.run("quickstart")
    assert ran.status == 1
    assert "apt-get could not install: make" in ran.errors


def test_a_compiler_that_cannot_link_counts_as_missing(machine: Machine) -> None:
    machine.command("gcc", "cat >/dev/null; exit 1")
    assert machine.run("quickstart").errors.splitlines()[-1].endswith(" gcc libc6-dev'")


def test_without_apt_the_packages_are_named(machine: Machine) -> None:
    machine.without("make", "apt-get")
    ran = machine.run("quickstart")
    assert ran.status == 1
    assert ran.errors.splitlines()[-1] == "Install what Debian calls: make"


@pytest.mark.parametrize("python", ["exit 1", None])
def test_no_python_or_too_old_a_one_is_asked_for(machine: Machine, python: str | None) -> None:
    machine.without("python3")
    if python is not None:
        machine.command("python3", python)
    ran = machine.run("hone")
    assert ran.status == 1
    assert " python3" in ran.errors.splitlines()[-1]
    assert "-venv'" in ran.errors.splitlines()[-1]


def test_another_python_is_taken_when_the_usual_one_is_too_old(machine: Machine) -> None:
    usual = machine.root / "bin" / "python3"
    usual.rename(usual.with_name("python3.12"))
    machine.command("python3", "exit 1")
    assert machine.run("hone").status == 7
    assert "bin/python3.12 " in machine.told()[0]


def test_the_python_that_the_user_names_is_the_only_one_looked_at(machine: Machine) -> None:
    machine.command("broken", "exit 1")
    machine.variables["DBHONE_PYTHON"] = "broken"
    assert machine.run("hone").status == 1


def test_a_python_that_can_get_no_pip_needs_its_venv_package(machine: Machine) -> None:
    python = machine.root / "bin" / "python3"
    python.rename(machine.root / "real-python")
    machine.without("uv")
    machine.command(
        "python3",
        'case "$*" in *ensurepip* | *pip*) exit 1 ;; esac\nexec "$MACHINE/real-python" "$@"',
    )
    ran = machine.run("hone")
    assert ran.status == 1
    assert "-venv'" in ran.errors.splitlines()[-1]


def has_checks_that_pass(machine: Machine) -> None:
    for stage in ("ruff", "mypy", "lint-imports", "shellcheck", "pytest"):
        machine.command(stage, "exit 0")


@pytest.mark.parametrize(
    ("missing", "packages"),
    [
        (("llvm-profdata",), "llvm"),
        (("chromium",), "chromium"),
        (("sysbench",), "sysbench"),
        (("bwrap",), "bubblewrap"),
        (("bison", "flex", "perl"), "bison flex perl"),
    ],
)
def test_check_goes_on_without_what_is_only_wanted_and_says_so(
    machine: Machine, missing: tuple[str, ...], packages: str
) -> None:
    machine.without(*missing)
    has_checks_that_pass(machine)
    ran = machine.run("check")
    assert ran.status == 0
    assert f"su -c 'apt-get update && {INSTALL} {packages}'" in ran.errors
    assert f"not checked: what needs {packages}\n" in ran.output


@pytest.mark.parametrize(
    ("listed", "wanted"), [("libc.so.6", True), ("libc.so.6\nlibjemalloc.so.2", False)]
)
def test_check_wants_an_allocator_to_start_servers_with(
    machine: Machine, listed: str, wanted: bool
) -> None:
    machine.command("ldconfig", f'[ "$1" = -p ] && echo "{listed}"')
    has_checks_that_pass(machine)
    assert ("libjemalloc2" in machine.run("check").output) == wanted


def test_only_the_checks_want_servers(machine: Machine) -> None:
    machine.without("sysbench", "bison", "flex", "perl", "mariadbd")
    ran = machine.run("quickstart")
    assert ran.status == 7
    assert "apt-get" not in ran.errors


def test_check_needs_git(machine: Machine) -> None:
    machine.without("git")
    ran = machine.run("check")
    assert ran.status == 1
    assert ran.errors.splitlines()[-1].endswith(" git'")
