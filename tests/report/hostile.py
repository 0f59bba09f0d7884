"""Pages in which every text from outside tries to break out of its format."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dbhone.measurement.record import Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.series import Observation, Quantity
from dbhone.report.page import Page, build_page
from tests.analysis.columns import columns
from tests.report.sample_history import VERSIONS, a_history, history_samples
from tests.report.sample_run import EFFECTS, SUBJECTS, Shape, a_run, run_page
from tests.report.sample_series import observations
from tests.report.sample_servers import Shape as ServerShape
from tests.report.sample_servers import a_server_run, a_sweep_run, server_samples

HOSTILE = "<script>alert('x')</script>|`\"&{{ 7*7 }}\x1b[31m\x9b32m\x7f\u202e\u2028\x00\udcff"


@functools.cache
def _hostile_page() -> Page:
    """Return a page on which everything from outside tries to be markup."""
    run = a_run()
    subjects = tuple(
        replace(
            each,
            name=f"{each.name}{HOSTILE}",
            version=HOSTILE,
            source=HOSTILE,
            variant=HOSTILE,
            compiler=HOSTILE,
            flags=(HOSTILE,),
            build_path=HOSTILE,
        )
        for each in SUBJECTS
    )
    run = replace(
        run,
        title=HOSTILE,
        experiment=f"{HOSTILE}\n```\n</code></pre>{HOSTILE}",
        experiment_name=HOSTILE,
        suite=HOSTILE,
        subjects=subjects,
        steps=tuple(replace(step, title=HOSTILE, key=f"{step.key}{HOSTILE}") for step in run.steps),
        machine=replace(run.machine, cpu_model=HOSTILE, details={HOSTILE: HOSTILE}),
        warnings=(Warning(code="x", text=HOSTILE, step=HOSTILE),),
    )
    effects = {f"{name}{HOSTILE}": each for name, each in EFFECTS.items()}
    return run_page(run, Shape(effects=effects))


@functools.cache
def _hostile_sweep() -> Page:
    """Return a page of servers on which everything from outside tries to be markup."""
    run = a_sweep_run()
    subjects = tuple(
        replace(
            each,
            name=f"{each.name}{HOSTILE}",
            settings={HOSTILE: HOSTILE, each.name: HOSTILE},
            timings=each.timings
            and replace(
                each.timings,
                phases={HOSTILE: 1.0},
                slowest=((HOSTILE, 2.0),),
                build_targets=tuple(
                    replace(target, name=f"{target.name}{HOSTILE}")
                    for target in each.timings.build_targets
                ),
            ),
        )
        for each in run.subjects
    )
    steps = tuple(
        replace(step, set=f"{HOSTILE}@{step.threads}", title=HOSTILE) for step in run.steps[:7]
    )
    measured = columns(server_samples(run, ServerShape(blocks=6)))
    few = np.flatnonzero(measured.step < len(steps))
    return build_page(
        replace(
            run,
            subjects=subjects,
            steps=steps,
            experiment=f"{HOSTILE}\n```\n</code></pre>{HOSTILE}",
        ),
        SampleArray.of_columns(
            subjects=tuple(each.name for each in subjects),
            steps=tuple(each.name for each in steps),
            subject=measured.subject[few],
            step=measured.step[few],
            block=measured.block[few],
            values={name: values[few] for name, values in measured.values.items()},
        ),
    )


@functools.cache
def _hostile_history() -> Page:
    """Return a page of a history on which everything from outside tries to be markup."""
    run = a_history()
    measured = history_samples(run)
    hostile = HOSTILE.replace("\x00", "").replace("\udcff", "")
    names = {each.name: f"{each.name}{hostile}" for each in run.subjects}
    order = json.dumps([names[each] for each in VERSIONS])
    steps = tuple(replace(each, set=f"{each.set}{HOSTILE}") for each in run.steps)
    return build_page(
        replace(
            run,
            subjects=tuple(
                replace(each, name=names[each.name], flags=(HOSTILE,)) for each in run.subjects
            ),
            steps=steps,
            experiment=f"# ```\n[history]\norder = {order}",
        ),
        replace(
            measured,
            subjects=tuple(names[each] for each in measured.subjects),
            steps=tuple(each.name for each in steps),
        ),
    )


@functools.cache
def hostile_observed() -> Page:
    """Return a page on which a counter of the servers tries to be markup."""
    run = a_server_run()
    run = replace(run, steps=run.steps[:1])

    def hostile(each: Observation) -> Observation:
        named = Quantity(name=HOSTILE, unit=HOSTILE, kind=each.series[5].quantity.kind)
        return replace(each, series=(*each.series[:5], replace(each.series[5], quantity=named)))

    seen = tuple(hostile(each) for each in observations(run, blocks=2))
    return build_page(run, server_samples(run), seen)


HOSTILE_PAGES: dict[str, Callable[[], Page]] = {
    "embedded": _hostile_page,
    "servers": _hostile_sweep,
    "history": _hostile_history,
}
"""Pages by name that try to become markup."""
