"""What perf prints, and what is said where it cannot sample."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dbhone.errors import MachineError, ToolError
from dbhone.measurement import stack_sampling
from dbhone.measurement.stack_sampling import (
    StackFrame,
    StackSample,
    StackSampler,
    check_sampling,
    parsed,
)

PRINTED = """\
  2641.700329:
\tffffffff81fe8f2a _raw_spin_unlock_irqrestore+0x1a ([kernel.kallsyms])
\t          10ab59 __send+0x49 (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t          353d2c [unknown] (/srv/pg (old)/bin/postgres)

  2641.702333:
\t          584d37 operator()(int) (/srv/mysqld)

"""


def test_samples_are_read_with_their_moments_and_frames() -> None:
    first, second = parsed(iter(PRINTED.splitlines()))
    assert first.at == 2641.700329
    assert first.frames == (
        StackFrame("_raw_spin_unlock_irqrestore", "[kernel.kallsyms]"),
        StackFrame("__send", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
        StackFrame("", "/srv/pg (old)/bin/postgres"),
    )
    assert second == StackSample(2641.702333, (StackFrame("operator()(int)", "/srv/mysqld"),))


def test_what_was_not_sampled_is_not_there() -> None:
    assert list(parsed(iter(["", "# nothing", "  12.5: "]))) == []


@pytest.fixture
def fake_perf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the file of the program that is found as perf. It is still to be written."""
    perf = tmp_path / "bin" / "perf"
    perf.parent.mkdir()
    perf.touch(0o755)
    monkeypatch.setenv("PATH", f"{perf.parent}:{os.environ['PATH']}")
    return perf


ENDLESS = """\
#!/bin/sh
trap '' INT
echo cut off > perf.data
while :; do sleep 0.01; done
"""


def test_a_perf_that_does_not_end_by_itself_is_ended_and_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake_perf: Path
) -> None:
    fake_perf.write_text(ENDLESS)
    monkeypatch.setattr(stack_sampling, "_ENDING", 0.01)
    with StackSampler([os.getpid()], tmp_path) as sampler:
        while not (tmp_path / "perf.data").exists():
            time.sleep(0.01)
        with pytest.raises(ToolError, match=r"it did not end within .* and was stopped"):
            sampler.stop()


FAILING = f"""\
#!/bin/sh
[ "$1" = script ] || exit 0
cat << 'END'
{PRINTED}
END
echo 'corrupted callchain' >&2
exit 255
"""


def test_samples_of_a_perf_that_fails_are_not_taken_for_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake_perf: Path
) -> None:
    fake_perf.write_text(FAILING)
    monkeypatch.setattr("dbhone.process.can_enclose", lambda: False)
    with StackSampler([os.getpid()], tmp_path) as sampler:
        samples = sampler.samples((), None)
        assert next(samples).at == 2641.700329
        with pytest.raises(ToolError, match=r"it ended with exit code 255 \(corrupted callchain\)"):
            list(samples)


def test_a_missing_perf_is_told_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolError, match="perf is not installed") as told:
        check_sampling()
    assert "linux-perf" in str(told.value.hint)


def test_who_may_not_sample_the_kernel_is_told_how(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paranoid = tmp_path / "perf_event_paranoid"
    paranoid.write_text("2\n")
    monkeypatch.setattr(stack_sampling, "_PARANOID", paranoid)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/perf")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(MachineError, match="perf_event_paranoid is 2") as told:
        check_sampling()
    assert "sysctl" in str(told.value.hint)
    paranoid.write_text("1\n")
    check_sampling()
