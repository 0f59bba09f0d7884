"""./check runs every stage, says how each ended, and fails if one did."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.machine import Machine, finish, fresh_machine

STAGES = ["format", "lint", "types", "imports", "shell", "site", "tests", "integration"]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with fresh_machine(tmp_path) as machine:
        for tool in ("ruff", "mypy", "lint-imports", "shellcheck", "sphinx-build"):
            machine.command(tool, "exit 0")
        machine.command("pytest", 'echo "== 3 passed, 1 skipped in 0.12s =="')
        yield machine


def stages_of(output: str, ending: str) -> list[str]:
    return [line.split()[0] for line in output.splitlines() if line.split()[1:2] == [ending]]


def test_all_stages_run_and_are_told(machine: Machine) -> None:
    ran = machine.run("check")
    assert ran.status == 0
    assert stages_of(ran.output, "ok") == STAGES
    assert "3 passed, 1 skipped" in ran.output
    assert ran.output.splitlines()[-1].startswith("all passed in ")


def test_quick_leaves_out_the_integration_tests_and_says_so(machine: Machine) -> None:
    ran = machine.run("check", "--quick")
    assert stages_of(ran.output, "ok") == STAGES[:-1]
    assert ran.output.splitlines()[-1].endswith("(without the integration tests)")


def test_a_stage_that_fails_does_not_stop_the_others(machine: Machine) -> None:
    machine.command("mypy", "echo wrong type >&2; exit 1")
    ran = machine.run("check")
    assert ran.status == 1
    assert stages_of(ran.output, "FAILED") == ["types"]
    assert stages_of(ran.output, "ok") == [each for each in STAGES if each != "types"]
    assert "    wrong type\n" in ran.output
    assert ran.output.splitlines()[-1].startswith("failed: types ")


def test_the_logs_of_a_failure_are_kept(machine: Machine) -> None:
    machine.command("mypy", "echo wrong type; exit 1")
    summary = machine.run("check").output.splitlines()[-1]
    folder = Path(summary.rpartition("the logs are in ")[2].rstrip(")"))
    assert (folder / "types").read_text() == "wrong type\n"


def test_ci_runs_the_whole_check_from_any_folder(machine: Machine) -> None:
    ran = machine.run(".ci/run")
    assert ran.status == 0
    assert stages_of(ran.output, "ok") == STAGES


@pytest.mark.parametrize("arguments", [("--fast",), ("--quick", "--quick")])
def test_wrong_arguments_are_refused_before_anything_starts(
    machine: Machine, arguments: tuple[str, ...]
) -> None:
    ran = machine.run("check", *arguments)
    assert ran.status == 2
    assert ran.errors.startswith("usage: ./check")
    assert machine.told() == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_check_and_the_stage_that_runs(
    machine: Machine, number: signal.Signals, status: int
) -> None:
    machine.run("check", "--quick")
    os.mkfifo(machine.root / "started")
    os.mkfifo(machine.root / "never")
    machine.command("pytest", 'echo >"$MACHINE/started"\nread -r _ <"$MACHINE/never"')
    running = machine.start("check")
    (machine.root / "started").read_text()
    running.send_signal(number)
    ran = finish(running)
    assert ran.status == status
    assert ran.output.endswith("stopped\n")
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


def test_a_signal_that_comes_as_soon_as_a_stage_begins_ends_both(machine: Machine) -> None:
    machine.run("check", "--quick")
    os.mkfifo(machine.root / "never")
    machine.command("pytest", 'kill -INT "$PPID"\nread -r _ <"$MACHINE/never"')
    ran = machine.run("check")
    assert ran.status == 130
    assert ran.output.endswith("stopped\n")


def test_a_stage_can_be_interrupted_as_at_a_terminal(machine: Machine) -> None:
    machine.command(
        "pytest",
        'exec python3 -c "import signal, sys; '
        'sys.exit(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"',
    )
    assert machine.run("check").status == 0
