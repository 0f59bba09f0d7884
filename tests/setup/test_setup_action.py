"""The action for CI ends as ``hone compare`` does, and leaves its report where GitHub shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.machine import Machine, Ran, fresh_machine

# Another job has begun run 8 meanwhile.
HONE = """\
echo "hone $*" >>"$MACHINE/told"
case $1 in
compare)
    [ -z "${KILLED:-}" ] || kill -KILL $PPID
    [ -n "${WITHOUT_RUN:-}" ] || echo "run 7  one beside the other" >&2
    echo measuring >&2
    echo "a table"
    echo "exit code $CODE: the answer" >&2
    exit "$CODE"
    ;;
report)
    if [ "$2" = 7 ]; then echo "the report"; else echo "another job's report"; fi
    ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with fresh_machine(tmp_path) as machine:
        (machine.root / "hone-does").write_text(HONE)
        machine.command("tee", 'exec /usr/bin/tee "$@"')
        yield machine


def act(machine: Machine, code: int, **more: str) -> Ran:
    files = {
        "GITHUB_STEP_SUMMARY": str(machine.root / "summary.md"),
        "GITHUB_OUTPUT": str(machine.root / "output"),
        "RUNNER_TEMP": str(machine.root),
    }
    machine.variables |= {"BASE": "apt:a", "CHANGE": "apt:b", "CODE": str(code), **files, **more}
    return machine.run("setup/action.sh")


@pytest.mark.parametrize("code", [0, 3, 4])
def test_an_answer_is_the_exit_code_and_is_shown_with_its_report(
    machine: Machine, code: int
) -> None:
    ran = act(machine, code, GOAL="sqlite", ARGUMENTS="--sets main --tolerance 5%")
    assert ran.status == code
    assert "a table\n" in ran.output
    assert "measuring\n" in ran.errors
    summary = (machine.root / "summary.md").read_text()
    assert summary.startswith("## hone compare: the answer\n\n`apt:a` is the base, `apt:b` the")
    assert summary.endswith("the report\n")
    assert "another" not in summary
    output = (machine.root / "output").read_text()
    assert f"exit-code={code}\nanswer=the answer\n" in output
    told = machine.told()
    assert "hone setup --yes sqlite" in told
    assert "hone compare apt:a apt:b --refresh --sets main --tolerance 5%" in told


def test_a_failure_has_no_report(machine: Machine) -> None:
    assert act(machine, 1).status == 1
    assert not any("hone report" in line for line in machine.told())


def test_where_nothing_was_executed_there_is_no_report(machine: Machine) -> None:
    assert act(machine, 0, ARGUMENTS="--plan", WITHOUT_RUN="1").status == 0
    assert not any("hone report" in line for line in machine.told())


def test_two_jobs_that_share_a_folder_for_what_is_temporary_have_reports_of_their_own(
    machine: Machine,
) -> None:
    for _ in range(2):
        assert act(machine, 0, RUNNER_TEMP="", TMPDIR=str(machine.root)).status == 0
    reports = re.findall("^report=(.*)$", (machine.root / "output").read_text(), re.MULTILINE)
    assert len(set(reports)) == 2
    assert all(Path(report).parent == machine.root for report in reports)


def test_what_was_killed_fails_whatever_the_step_before_found(machine: Machine) -> None:
    assert act(machine, 0).status == 0
    assert act(machine, 0, KILLED="1").status != 0
