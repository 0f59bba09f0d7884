"""The action for CI ends as ``hone compare`` does, and leaves its report where GitHub shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.setup.machine import Machine, Ran, fresh_machine

HONE = """\
echo "hone $*" >>"$MACHINE/told"
case $1 in
compare) echo measuring >&2; echo "a table"; echo "exit code $CODE: the answer" >&2; exit "$CODE" ;;
report) echo "the report" ;;
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
    output = (machine.root / "output").read_text()
    assert f"exit-code={code}\nanswer=the answer\n" in output
    told = machine.told()
    assert "hone setup --yes sqlite" in told
    assert "hone compare apt:a apt:b --refresh --sets main --tolerance 5%" in told


def test_a_failure_has_no_report(machine: Machine) -> None:
    assert act(machine, 1).status == 1
    assert not any("hone report" in line for line in machine.told())
