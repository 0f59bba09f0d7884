"""The environment is made once, whole, and never under a running hone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.machine import Machine, finish, fresh_machine

MADE_FOR_RUN = [
    "uv venv",
    "uv pip install requirements/run.lock",
    "uv pip install .",
]
EXTENDED_FOR_CHECK = ["uv pip install requirements/check.lock"]
STAGES = ("ruff", "mypy", "lint-imports", "shellcheck", "sphinx-build", "pytest")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with fresh_machine(tmp_path) as machine:
        for stage in STAGES:
            machine.command(stage, "exit 0")
        yield machine


def asked_of_uv(machine: Machine) -> list[str]:
    """Return uv's commands, with what they install."""
    found = []
    for line in machine.told():
        words = line.split()
        if words[0] != "uv":
            continue
        verb = " ".join(words[: 2 if words[1] == "venv" else 3])
        what = words[-1] if words[1] == "pip" else ""
        found.append(f"{verb} {what}".strip())
    return found


def change(path: Path) -> None:
    path.write_text(f"{path.read_text()}# changed\n")


def test_the_first_run_sets_up_and_the_second_does_not(machine: Machine) -> None:
    machine.run("hone")
    assert asked_of_uv(machine) == MADE_FOR_RUN
    second = machine.run("hone")
    assert asked_of_uv(machine) == []
    assert second.errors == ""


def test_the_folder_of_tools_may_be_deleted_alone(machine: Machine) -> None:
    machine.run("hone")
    machine.told()
    shutil.rmtree(machine.clone / ".tools")
    assert machine.run("hone").status == 7
    assert asked_of_uv(machine) == []


def test_hone_gets_its_arguments_and_its_exit_code_is_kept(machine: Machine) -> None:
    ran = machine.run("hone", "a b", "", "*")
    assert ran.output == "hone [a b] [] [*]\n"
    assert ran.status == 7


def test_quickstart_hands_its_arguments_to_the_main_job(machine: Machine) -> None:
    ran = machine.run("quickstart", "--budget", "5 min")
    assert ran.output == "hone [try] [--budget] [5 min]\n"
    assert ran.status == 7


def test_hone_can_be_started_through_a_link(machine: Machine) -> None:
    (machine.root / "elsewhere").mkdir()
    link = machine.root / "elsewhere" / "hone"
    link.symlink_to(machine.clone / "hone")
    assert machine.run(str(link)).status == 7


def test_packages_are_installed_only_with_hashes_and_never_built(machine: Machine) -> None:
    machine.run("hone")
    _, packages, project = machine.told()
    assert {"--require-hashes", "--no-build"} <= set(packages.split())
    assert {"--offline", "--no-deps", "--no-build-isolation"} <= set(project.split())


@pytest.mark.parametrize("changed", ["requirements/run.lock", "setup/environment.sh"])
def test_a_change_of_what_it_is_made_from_makes_it_anew(machine: Machine, changed: str) -> None:
    machine.run("hone")
    machine.told()
    change(machine.clone / changed)
    assert machine.run("hone").status == 7
    assert asked_of_uv(machine) == MADE_FOR_RUN


def test_another_python_makes_it_anew(machine: Machine) -> None:
    machine.run("hone")
    machine.told()
    machine.command("python3", f'exec {machine.root}/real-python "$@"')
    (machine.root / "real-python").symlink_to(os.path.realpath("/proc/self/exe"))
    machine.run("hone")
    assert asked_of_uv(machine) == MADE_FOR_RUN


def test_an_environment_that_is_activated_is_not_made_of_itself(machine: Machine) -> None:
    machine.run("hone")
    machine.told()
    own = machine.clone / ".venv" / "bin"
    (own / "python3").unlink(missing_ok=True)
    (own / "python3").symlink_to(os.path.realpath("/proc/self/exe"))
    machine.variables["PATH"] = f"{own}:{machine.root / 'bin'}"
    change(machine.clone / "requirements" / "run.lock")
    assert machine.run("hone").status == 7
    (made, *_) = (line for line in machine.told() if line.startswith("uv venv"))
    assert f"{machine.root / 'bin'}/python3 " in made
    assert str(own) not in made


def test_a_moved_clone_is_set_up_anew(machine: Machine) -> None:
    machine.run("hone")
    machine.told()
    moved = machine.clone.rename(machine.root / "moved")
    assert machine.run(str(moved / "hone")).status == 7
    assert asked_of_uv(machine) == MADE_FOR_RUN


@pytest.mark.parametrize("moment", ["venv", "pip"])
def test_a_setup_killed_midway_is_made_whole_by_the_next(machine: Machine, moment: str) -> None:
    (machine.root / f"kill-at-{moment}").touch()
    assert machine.run("hone").status == -9
    machine.told()
    assert machine.run("hone").status == 7
    assert asked_of_uv(machine) == MADE_FOR_RUN


def test_check_adds_to_the_environment_of_run_and_serves_it(machine: Machine) -> None:
    machine.run("hone")
    machine.told()
    assert machine.run("check").status == 0
    assert asked_of_uv(machine) == EXTENDED_FOR_CHECK
    assert machine.run("hone").status == 7
    assert machine.run("check").status == 0
    assert asked_of_uv(machine) == []


def test_an_environment_for_check_serves_run(machine: Machine) -> None:
    machine.run("check")
    machine.told()
    assert machine.run("hone").status == 7
    assert asked_of_uv(machine) == []


def test_an_addition_killed_midway_leaves_hone_usable_and_is_made_anew(machine: Machine) -> None:
    machine.run("hone")
    (machine.root / "kill-at-pip").touch()
    assert machine.run("check").status == -9
    machine.told()
    assert machine.run("hone").status == 7
    assert asked_of_uv(machine) == []
    assert machine.run("check").status == 0
    assert asked_of_uv(machine)[0] == "uv venv"


def test_two_setups_at_once_make_one_environment(machine: Machine) -> None:
    both = [machine.start("hone"), machine.start("hone")]
    assert [finish(each).status for each in both] == [7, 7]
    assert asked_of_uv(machine) == MADE_FOR_RUN


class Running:
    """A hone that runs until it is let go."""

    def __init__(self, machine: Machine) -> None:
        for name in ("started", "go"):
            os.mkfifo(machine.root / name)
        machine.run("hone")
        does = machine.root / "hone-does"
        plain = does.read_text()
        does.write_text('echo >"$MACHINE/started"\nread -r _ <"$MACHINE/go"\nexit 7\n')
        self._machine = machine
        self._process = machine.start("hone")
        (machine.root / "started").read_text()
        does.write_text(plain)
        machine.told()

    def let_go(self) -> int:
        (self._machine.root / "go").write_text("\n")
        return finish(self._process).status


def test_no_setup_replaces_the_environment_under_a_running_hone(machine: Machine) -> None:
    running = Running(machine)
    change(machine.clone / "requirements" / "run.lock")
    refused = machine.run("hone")
    assert refused.status == 1
    assert "a hone is running in this environment" in refused.errors
    assert asked_of_uv(machine) == []
    assert running.let_go() == 7
    assert machine.run("hone").status == 7
    assert asked_of_uv(machine) == MADE_FOR_RUN


def test_the_packages_for_check_are_added_under_a_running_hone(machine: Machine) -> None:
    running = Running(machine)
    assert machine.run("check").status == 0
    assert asked_of_uv(machine) == EXTENDED_FOR_CHECK
    assert running.let_go() == 7


def test_an_environment_without_the_command_is_told_and_not_made_for_ever(machine: Machine) -> None:
    uv = machine.root / "bin" / "uv"
    uv.write_text(uv.read_text().replace("chmod +x", "true"))
    ran = machine.run("hone")
    assert ran.status == 1
    assert "no command hone" in ran.errors


def test_a_folder_that_cannot_be_made_is_told(machine: Machine) -> None:
    machine.command("mkdir", "echo no >&2; exit 1")
    ran = machine.run("hone")
    assert ran.status == 1
    assert ran.errors.splitlines() == [
        f"set-up failed: cannot write to {machine.clone}",
        "Set it up as the user whom it belongs to.",
    ]


def test_a_failure_shows_the_end_of_the_log_and_where_it_is(machine: Machine) -> None:
    machine.command("uv", '[ "$1" = --version ] && echo uv 1.0 || { echo no room >&2; exit 2; }')
    ran = machine.run("hone")
    assert ran.status == 1
    assert ran.output == ""
    assert "no room" in ran.errors
    assert str(machine.clone / ".tools" / "setup.log") in ran.errors


FAKE_PIP = """\
case "$*" in
*'pip --version' | *'pip config list') ;;
*'pip install'*)
    echo "pip $*" >>"$MACHINE/told"
    while [ "$1" != --target ]; do shift; done
    mkdir -p "$2/bin"
    cp "$MACHINE/uv" "$2/bin/uv"
    ;;
*) exec "$MACHINE/real-python" "$@" ;;
esac
"""


def without_uv(machine: Machine) -> None:
    """Take uv away, and give the machine a pip that can fetch it."""
    python = machine.root / "bin" / "python3"
    python.rename(machine.root / "real-python")
    machine.command("python3", FAKE_PIP)
    (machine.root / "bin" / "uv").rename(machine.root / "uv")


def test_uv_is_fetched_once_by_pip_with_hashes_where_the_machine_has_none(machine: Machine) -> None:
    without_uv(machine)
    assert machine.run("hone").status == 7
    fetched, *rest = machine.told()
    assert {"--require-hashes", "--only-binary", "--no-deps"} <= set(fetched.split())
    assert fetched.endswith("requirements/uv.lock")
    assert [line.split()[1] for line in rest] == ["venv", "pip", "pip"]
    change(machine.clone / "requirements" / "run.lock")
    machine.run("hone")
    assert asked_of_uv(machine) == MADE_FOR_RUN


def test_another_pinned_uv_is_fetched_anew(machine: Machine) -> None:
    without_uv(machine)
    machine.run("hone")
    machine.told()
    for lock in ("uv.lock", "run.lock"):
        change(machine.clone / "requirements" / lock)
    machine.run("hone")
    assert machine.told()[0].startswith("pip ")


@pytest.mark.parametrize(
    ("version", "enough"),
    [("0.8.0", True), ("0.13.8", True), ("1.0.0", True), ("0.7.22", False), ("", False)],
)
def test_the_machines_own_uv_is_used_if_it_is_new_enough(
    machine: Machine, version: str, enough: bool
) -> None:
    own = (machine.root / "bin" / "uv").read_text()
    without_uv(machine)
    machine.command("uv", own.split("\n", 1)[1].replace("uv-version", "own-version"))
    (machine.root / "own-version").write_text(f"uv {version}\n")
    machine.run("hone")
    assert machine.told()[0].startswith("uv " if enough else "pip ")


def test_uv_is_told_the_index_that_the_user_has_set_for_pip(machine: Machine) -> None:
    machine.variables["PIP_INDEX_URL"] = "https://mirror.example/simple"
    machine.run("hone")
    assert (
        "UV_DEFAULT_INDEX=https://mirror.example/simple"
        in (machine.root / "uv-environment").read_text().splitlines()
    )
    written = [path for path in machine.clone.rglob("*") if path.is_file()]
    assert not any(b"mirror.example" in path.read_bytes() for path in written)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_user_who_may_not_read_its_python_is_told_so() -> None:
    become = (str(shutil.which("setpriv")), "--reuid=65534", "--regid=65534", "--clear-groups")
    with tempfile.TemporaryDirectory() as folder, fresh_machine(Path(folder)) as machine:
        Path(folder).chmod(0o755)
        machine.run("hone")
        python = machine.clone / ".venv" / "bin" / "python"
        python.unlink()
        python.symlink_to("/root/no-such/python")
        machine.command("python3", "exit 0")  # the system's, which all may read
        told = subprocess.run(
            (*become, str(machine.clone / "hone")),
            env={"PATH": str(machine.root / "bin"), "MACHINE": folder},
            capture_output=True,
            text=True,
            check=False,
        )
    assert told.returncode == 1
    assert "you may not read the Python of" in told.stderr
    assert "/root/no-such/python" in told.stderr
