"""Whether runs of real servers tell of differences that are none, and find one that was planted.

Usage: ``.venv/bin/python benchmarks/alarms.py --home FOLDER [--source SOURCE] [--plant NAME=VALUE]
[--runs N] [--budget DURATION]``

Each run measures a server, the same once more (the A/A control), and the same with a setting that
costs it something. A false alarm is a run in which any figure of the control differs. How much the
setting really costs nobody can say beforehand; all runs together tell it better than each, so
it is told how many runs' intervals hold what all together say.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbhone.analysis.precision import half_width
from dbhone.analysis.verdict import Direction, Effect, Summary, differs, direction_of, overall
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.execute import Execution
from dbhone.experiment.execution.run_lifecycle import begin
from dbhone.home import Home, locate
from dbhone.measurement.record import Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.store import Store
from dbhone.report.findings import Findings, findings_of, findings_of_joined
from dbhone.report.wording import margin, ratio
from dbhone.session import open_session
from dbhone.source.known_versions import known_versions

_PLANT = "shared_preload_libraries=pg_stat_statements"
"""Counting and timing each statement costs CPU in every one of them."""
_CONTROL, PLANTED = "control", "planted"
WORK = """\
suite = "sysbench:micro"
sets = [{steps}]
size = "quick"
seconds = "3s"

[design]
target = "0.1%"
budget = "{budget}"
seed = {seed}
blocks = {{ min = 6, max = 60 }}
"""
"""The end of an experiment: of its ``[workload]``, and how it is measured."""
_STEPS = ("point-query", "hot-points", "read-only_range=100", "update-index")
_EXPERIMENT = """\
title = "Is there a false alarm?"
base = "server"

[sources]
server = "{source}"

[subjects]
server = {{ dbms = "{dbms}", source = "server" }}
control = {{ like = "server" }}
planted = {{ like = "server", settings = {{ {setting} = "{value}" }} }}

[workload]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one run found: of the control which figures differ, of the planted one its summary."""

    run: int
    blocks: int
    compared: int
    alarms: tuple[str, ...]
    control: Summary | None
    planted: Summary | None


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--dbms", default="postgresql")
    parser.add_argument("--source", default="known:postgresql@16.15")
    parser.add_argument("--plant", default=_PLANT, metavar="NAME=VALUE")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", default="8m", help="of each run")
    options = parser.parse_args()
    texts = experiments(_EXPERIMENT, options, options.plant, _STEPS)
    runs, rows = [], []
    for each in measured(texts, locate(options.home)):
        runs.append(each)
        rows.append(row(findings_of(*each)))
        print(line(rows[-1]), flush=True)
    print("\n".join(conclusion(rows, runs)))


def experiments(
    template: str, options: argparse.Namespace, setting: str, steps: Sequence[str]
) -> list[str]:
    """Return the experiments of all runs; one subject has the ``setting``, NAME=VALUE."""
    name, _, value = setting.partition("=")
    return [
        (template + WORK).format(
            dbms=options.dbms,
            source=options.source,
            setting=name,
            value=value,
            steps=listed(steps),
            budget=options.budget,
            seed=seed,
        )
        for seed in range(1, options.runs + 1)
    ]


def listed(words: Sequence[str]) -> str:
    """Return words as an experiment lists them."""
    return ", ".join(f'"{each}"' for each in words)


def measured(texts: Sequence[str], home: Home) -> Iterator[tuple[Run, SampleArray]]:
    """Execute each experiment; yield its run with what was measured."""
    with open_session(home) as session, Store.open(home.database) as store:
        for text in texts:
            experiment = parse(text, name="alarms", versions=known_versions(home))
            run = begin(experiment, session, store)
            Execution(experiment, run, session, store, lambda _: None).execute()
            yield store.run(run.id), store.samples(run.id)


def row(found: Findings) -> Row:
    """Return what a run found."""
    analysis = found.analysis
    own = analysis.judged(_CONTROL)
    return Row(
        run=found.run.id,
        blocks=analysis.blocks,
        compared=len(own),
        alarms=tuple(
            (each.group or "all") if isinstance(each, Summary) else each.step
            for each in own
            if differs(each)
        ),
        control=overall(analysis, _CONTROL),
        planted=overall(analysis, PLANTED),
    )


def line(each: Row) -> str:
    """Return a run as a line."""
    alarms = f"{len(each.alarms)} of {each.compared} figures differ"
    named = f" ({', '.join(each.alarms)})" if each.alarms else ""
    return (
        f"run {each.run}: {each.blocks} blocks; control {words(each.control)}, {alarms}{named};"
        f" planted {words(each.planted)}"
    )


def conclusion(rows: Sequence[Row], measured: Sequence[tuple[Run, SampleArray]]) -> list[str]:
    """Return what all runs say together: their rows, and what they measured."""
    raised = sum(bool(each.alarms) for each in rows)
    found = sum(
        each.planted is not None and direction_of(each.planted) is Direction.WORSE for each in rows
    )
    told = [f"{raised} of {len(rows)} runs raise a false alarm, {found} find the planted slowdown"]
    if len(measured) > 1:
        whole = overall(findings_of_joined(measured).analysis, PLANTED)
        assert whole is not None
        held = sum(holds(each.planted, whole.ratio) for each in rows)
        told.append(
            f"all together: planted {words(whole)}, held by {held} of {len(rows)} runs' intervals"
        )
    return told


def holds(found: Effect | Summary | None, value: float) -> bool:
    """Whether the interval of what was found holds a ratio."""
    if found is None or found.low is None or found.high is None:
        return False
    return found.low <= value <= found.high


def words(found: Effect | Summary | None) -> str:
    """Return what was found in words: the ratio, the half-width of its interval, the verdict."""
    if found is None:
        return "not measured"
    parts = (ratio(found.ratio), margin(half_width(found)), f"({found.verdict})")
    return " ".join(each for each in parts if each)


if __name__ == "__main__":
    main()
