"""What is missing of the system's programs is installed, or one exact line says how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.machine import Machine, fresh_machine

INSTALL = "apt-get install -y --no-install-recommends"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with fresh_machine(tmp_path) as machine:
        yield machine


def may_become_root(machine: Machine) -> None:
    """Give the machine a sudo that asks for no password, and an apt-get that installs git."""
    machine.command("sudo", 'shift; echo "sudo $1" >>"$MACHINE/told"; exec "$@"')
    is_root_enough_to_install_git(machine)


def is_root_enough_to_install_git(machine: Machine) -> None:
    machine.command(
        "apt-get",
        'echo "apt-get $* $DEBIAN_FRONTEND" >>"$MACHINE/told"\n'
        'case "$*" in *install*git*) cp "$MACHINE/bin/chromium" "$MACHINE/bin/git" ;; esac',
    )


def has_checks_that_pass(machine: Machine) -> None:
    for stage in ("ruff", "mypy", "lint-imports", "shellcheck", "sphinx-build", "pytest"):
        machine.command(stage, "exit 0")


def test_nothing_is_asked_of_the_package_manager_when_nothing_is_missing(machine: Machine) -> None:
    assert machine.run("quickstart").status == 7
    assert not any("apt-get" in line for line in machine.told())


@pytest.mark.parametrize(
    ("arguments", "goal"),
    [
        ((), "sqlite"),
        (("--budget", "5m"), "sqlite"),
        (("postgresql",), "postgresql"),
        (("mariadb", "--seed", "2"), "mariadb"),
    ],
)
def test_quickstart_sets_up_what_is_tried(
    machine: Machine, arguments: tuple[str, ...], goal: str
) -> None:
    ran = machine.run("quickstart", *arguments)
    assert f"hone setup --yes {goal}" in machine.told()
    assert ran.output == f"hone [try]{''.join(f' [{word}]' for word in arguments)}\n"


def test_quickstart_ends_where_its_goal_cannot_be_set_up(machine: Machine) -> None:
    (machine.root / "setup-status").write_text("1")
    ran = machine.run("quickstart")
    assert (ran.status, ran.output) == (1, "")


def test_help_installs_nothing(machine: Machine) -> None:
    assert machine.run("quickstart", "--help").output == "hone [try] [--help]\n"
    assert not any("hone setup" in line for line in machine.told())


def test_a_user_without_root_gets_one_exact_line(machine: Machine) -> None:
    machine.without("git")
    ran = machine.run("check")
    assert ran.status == 1
    assert ran.output == ""
    assert ran.errors.splitlines()[-1] == f"su -c 'apt-get update && {INSTALL} git'"
    assert machine.told() == []


def test_a_user_whose_sudo_asks_for_a_password_gets_the_line_with_sudo(machine: Machine) -> None:
    machine.without("git")
    machine.command("sudo", "exit 1")
    ran = machine.run("check")
    assert ran.status == 1
    assert ran.errors.splitlines()[-1] == f"sudo apt-get update && sudo {INSTALL} git"
    assert machine.told() == []


def test_sudo_without_a_password_installs_and_goes_on(machine: Machine) -> None:
    machine.without("git")
    has_checks_that_pass(machine)
    may_become_root(machine)
    assert machine.run("check").status == 0
    installed = next(
        line for line in machine.told() if line.startswith("apt-get") and "ins" in line
    )
    assert installed.endswith("git noninteractive")


def test_root_installs_without_sudo(machine: Machine) -> None:
    machine.without("git")
    has_checks_that_pass(machine)
    machine.command("id", "echo 0")
    is_root_enough_to_install_git(machine)
    assert machine.run("check").status == 0


def test_a_failure_to_install_is_told_with_the_log(machine: Machine) -> None:
    machine.without("git")
    machine.command("id", "echo 0")
    machine.command("apt-get", "echo no such package; exit 100")
    ran = machine.run("check")
    assert ran.status == 1
    assert "no such package" in ran.errors
    assert "apt-get could not install: git" in ran.errors


def test_an_installation_that_brings_no_program_is_a_failure(machine: Machine) -> None:
    machine.without("git")
    machine.command("id", "echo 0")
    ran = machine.run("check")
    assert ran.status == 1
    assert "apt-get could not install: git" in ran.errors


def test_without_apt_the_packages_are_named(machine: Machine) -> None:
    machine.without("git", "apt-get")
    ran = machine.run("check")
    assert ran.status == 1
    assert ran.errors.splitlines()[-1] == "Install what Debian calls: git"


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
    ran = machine.run("hone")
    assert ran.status == 1
    assert "DBHONE_PYTHON is no CPython 3.11 or newer" in ran.errors
    assert "apt-get" not in ran.errors


def test_the_python_that_the_user_names_may_lie_in_a_folder_with_spaces(machine: Machine) -> None:
    folder = machine.root / "my programs"
    folder.mkdir()
    (machine.root / "bin" / "python3").rename(folder / "python3")
    machine.variables["DBHONE_PYTHON"] = str(folder / "python3")
    assert machine.run("hone").status == 7


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


@pytest.mark.parametrize(
    ("missing", "package"),
    [("chromium", "chromium"), ("ld.mold", "mold")],
)
def test_check_goes_on_without_what_is_only_wanted_and_says_so(
    machine: Machine, missing: str, package: str
) -> None:
    machine.without(missing)
    has_checks_that_pass(machine)
    ran = machine.run("check")
    assert ran.status == 0
    assert f"su -c 'apt-get update && {INSTALL} {package}'" in ran.errors
    assert f"not checked: what needs {package}\n" in ran.output


def test_check_sets_up_what_it_builds_and_goes_on_without_what_it_may_lack(
    machine: Machine,
) -> None:
    has_checks_that_pass(machine)
    (machine.root / "hone-does").write_text(
        'echo "hone $*" >>"$MACHINE/told"; [ "$3" = sqlite ] || exit 1\n'
    )
    ran = machine.run("check")
    assert ran.status == 0
    assert "not checked: what 'hone setup postgresql clang bolt' brings\n" in ran.output
    told = machine.told()
    goals = ("sqlite", "postgresql", "clang", "bolt")
    assert all(f"hone setup --yes {goal}" in told for goal in goals)


@pytest.mark.parametrize(
    ("listed", "wanted"), [("libc.so.6", True), ("libc.so.6\nlibjemalloc.so.2", False)]
)
def test_check_wants_an_allocator_to_start_servers_with(
    machine: Machine, listed: str, wanted: bool
) -> None:
    machine.command("ldconfig", f'[ "$1" = -p ] && echo "{listed}"')
    has_checks_that_pass(machine)
    assert ("libjemalloc2" in machine.run("check").output) == wanted
