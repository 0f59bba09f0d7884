"""From samples to effects and verdicts. Pure: arrays in, records out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbhone.analysis.estimate import (
    CONFIDENCE,
    Estimates,
    common_steps,
    summed,
    with_repeats,
)
from dbhone.analysis.indirect import ONE_RUN, Links
from dbhone.analysis.judged_steps import judged_steps
from dbhone.analysis.multiplicity import Family, Tests, judge
from dbhone.analysis.verdict import (
    Analysis,
    Effect,
    LeftOut,
    Summary,
    Verdict,
)
from dbhone.errors import HoneError
from dbhone.measurement.metric import JUDGED, METRICS, Better, Metric
from dbhone.measurement.record import Group, Step, wholes
from dbhone.measurement.sample_array import Array, Logs, SampleArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _ComparisonSetup:
    """What is compared with what: names and kinds, by index.

    ``controls`` are the subjects that are the base once more. ``whole`` says of a step whether it
    is not part of another: summaries are of these. ``hops`` has, for each subject, the comparisons
    within runs that lead to the base. ``judged_in_sample`` says by which of the steps subjects are
    judged.
    """

    subjects: tuple[str, ...]
    steps: tuple[str, ...]
    base: int
    controls: frozenset[int]
    in_sample: NDArray[np.bool_]
    whole: NDArray[np.bool_]
    groups: tuple[Group, ...]
    hops: tuple[tuple[tuple[int, int], ...], ...]
    judged_in_sample: bool

    def terms(self, logs: Logs, reference: Logs, subject: int) -> list[Logs]:
        """Return the terms whose sum is the subject's distance from the base.

        ``reference`` stands for the base, unless the subject is its control.
        """
        alone = subject == self.base or subject in self.controls
        own = logs[self.base] if alone else reference
        return [
            logs[above] - (own if below == self.base else logs[below])
            for above, below in self.hops[subject]
        ]

    def others(self) -> list[int]:
        """Return all subjects but the base."""
        return [index for index in range(len(self.subjects)) if index != self.base]

    def subsets(self) -> Iterator[tuple[bool, Group | None, NDArray[np.intp]]]:
        """Yield each part of the steps that has any: held-out first, all groups first."""
        for in_sample in (False, True):
            for group in (None, *Group):
                chosen = [
                    step
                    for step, group_of_step in enumerate(self.groups)
                    if self.in_sample[step] == in_sample
                    and self.whole[step]
                    and group in (None, group_of_step)
                ]
                if chosen:
                    yield in_sample, group, np.array(chosen, dtype=np.intp)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What a row of estimates is of: a subject on a ``step``, or over steps of these ``ratios``."""

    subject: int
    in_sample: bool
    group: Group | None
    family: Family
    step: int | None = None
    ratios: Array | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One metric's comparisons, on steps or over parts of them, before they are corrected."""

    metric: Metric
    rows: list[_Row]
    estimates: Estimates


def analyse(
    samples: SampleArray,
    *,
    base: str,
    steps: Sequence[Step],
    controls: Collection[str] = (),
    metrics: tuple[Metric, ...] = METRICS,
    links: Links = ONE_RUN,
) -> Analysis:
    """Compare every other subject with the base, step by step and over all steps.

    ``steps`` are the run's; ``controls`` are the subjects that are the base once more. A metric
    that was not measured yields nothing. ``links`` describe samples of several runs. Each metric
    that subjects are judged by is corrected by itself, and all others together
    (``multiplicity.py``). Raises HoneError if the base is not among the subjects or a step is not
    described.
    """
    setup = _setup(samples, base, controls, steps, links)
    compared: list[_Compared] = []
    left_out: set[LeftOut] = set()
    unusable = blocks = 0
    for metric in metrics:
        if not samples.has(metric):
            continue
        logs = samples.logs(metric)
        unusable += samples.without_logs(metric)
        blocks = max(blocks, _blocks_of(logs.values[setup.base]))
        repeats = [logs[control] for control in sorted(setup.controls)]
        reference = with_repeats(logs[setup.base], repeats, setup.whole)
        estimates = _against_base(setup, logs, reference)
        compared += (
            _on_steps(setup, metric, estimates),
            _over_steps(setup, metric, logs, reference, estimates, left_out),
        )
    found = list(_found(setup, compared))
    return Analysis(
        base=base,
        blocks=blocks,
        judged_in_sample=setup.judged_in_sample,
        effects=tuple(each for each in found if isinstance(each, Effect)),
        summaries=tuple(each for each in found if isinstance(each, Summary)),
        left_out=tuple(sorted(left_out, key=partial(_place, setup))),
        unusable=unusable,
    )


def _tested(compared: Sequence[_Compared]) -> list[Tests]:
    """Return the tests of each of the comparisons.

    A metric by which subjects are judged is corrected by itself; all others are corrected together,
    so that the more of them there are, the more each has to show.
    """
    together: dict[Metric | None, list[int]] = {}
    for at, comparisons in enumerate(compared):
        alone = comparisons.metric if comparisons.metric in JUDGED else None
        together.setdefault(alone, []).append(at)
    tests: dict[int, Tests] = {}
    for places in together.values():
        estimates = [compared[at].estimates for at in places]
        families = [[row.family for row in compared[at].rows] for at in places]
        tests |= zip(places, judge(estimates, families), strict=True)
    return [tests[at] for at in range(len(compared))]


def _place(setup: _ComparisonSetup, left_out: LeftOut) -> tuple[str, int, int]:
    subject, step = setup.subjects.index(left_out.subject), setup.steps.index(left_out.step)
    return left_out.metric, subject, step


def _setup(
    samples: SampleArray,
    base: str,
    controls: Collection[str],
    steps: Sequence[Step],
    links: Links,
) -> _ComparisonSetup:
    if base not in samples.subjects:
        raise HoneError(
            f"the base {base} is not among what was measured",
            hint="a run can only be compared with a base that was measured in it",
        )
    known = {step.name: step for step in steps}
    unknown = [name for name in samples.steps if name not in known]
    if unknown:
        raise HoneError(f"the step {unknown[0]} was measured but does not belong to the run")
    whole = frozenset(wholes(steps))
    return _ComparisonSetup(
        subjects=samples.subjects,
        steps=samples.steps,
        base=samples.subjects.index(base),
        controls=frozenset(at for at, name in enumerate(samples.subjects) if name in controls),
        in_sample=np.array([known[name].in_sample for name in samples.steps], dtype=bool),
        whole=np.array([known[name] in whole for name in samples.steps], dtype=bool),
        groups=tuple(known[name].group for name in samples.steps),
        hops=tuple(
            tuple(
                (samples.subjects.index(above), samples.subjects.index(below))
                for above, below in links.hops(subject, base)
            )
            for subject in samples.subjects
        ),
        judged_in_sample=all(step.in_sample for step in judged_steps(samples, base, steps)),
    )


def _against_base(setup: _ComparisonSetup, logs: Logs, reference: Logs) -> Estimates:
    """Estimate each subject's distance from the base on each step."""
    return summed(
        [setup.terms(logs, reference, subject) for subject in range(len(setup.subjects))],
    )


def _blocks_of(logs: Array) -> int:
    return int(np.count_nonzero(np.any(~np.isnan(logs), axis=0)))


def _on_steps(setup: _ComparisonSetup, metric: Metric, estimates: Estimates) -> _Compared:
    """Return the comparisons on the steps that a subject and the base have."""
    rows = [
        _Row(
            subject=subject,
            in_sample=bool(setup.in_sample[step]),
            group=setup.groups[step],
            family=Family.CONTROL if subject in setup.controls else Family.STEPS,
            step=step,
        )
        for subject in setup.others()
        for step in range(len(setup.steps))
        if estimates.count[subject, step]
    ]
    places = [row.subject for row in rows], [row.step for row in rows]
    return _Compared(metric=metric, rows=rows, estimates=estimates[places])


def _over_steps(
    setup: _ComparisonSetup,
    metric: Metric,
    logs: Logs,
    reference: Logs,
    estimates: Estimates,
    left_out: set[LeftOut],
) -> _Compared:
    """Return the comparisons over the parts of the subjects' steps.

    Where no block has all steps of a part, the centre is the mean of the steps' own.
    """
    rows: list[_Row] = []
    sums: list[list[Logs]] = []
    centres: list[float] = []
    for subject in setup.others():
        for in_sample, group, steps in setup.subsets():
            counts = estimates.count[subject, steps]
            if not counts.any():
                continue
            common = common_steps(counts)
            kept = steps[common]
            left_out.update(
                LeftOut(metric=metric.name, subject=setup.subjects[subject], step=setup.steps[step])
                for step in steps[~common].tolist()
            )
            terms = setup.terms(logs[:, kept], reference[kept], subject)
            sums.append([term.mean() for term in terms])
            of_steps = estimates.centre[subject, kept]
            centres.append(float(of_steps.mean()))
            family = _family(setup, subject, in_sample=in_sample, group=group)
            rows.append(
                _Row(
                    subject=subject,
                    in_sample=in_sample,
                    group=group,
                    family=family,
                    ratios=np.exp(of_steps),
                )
            )
    means = summed(sums) if sums else estimates[[], []]
    means = replace(means, centre=np.where(means.count > 0, means.centre, centres))
    return _Compared(metric=metric, rows=rows, estimates=means)


def _family(
    setup: _ComparisonSetup, subject: int, *, in_sample: bool, group: Group | None
) -> Family:
    if subject in setup.controls:
        return Family.CONTROL
    # The subject wins or loses by this one, see ``verdict.find_winner``.
    judged = group is None and in_sample == setup.judged_in_sample
    return Family.JUDGED if judged else Family.PARTS


def _found(setup: _ComparisonSetup, compared: Sequence[_Compared]) -> Iterator[Effect | Summary]:
    """Yield what the comparisons found, corrected for their number."""
    for comparisons, tests in zip(compared, _tested(compared), strict=True):
        for at, row in enumerate(comparisons.rows):
            figures = _figures(setup, comparisons, tests, at)
            if row.step is not None:
                yield Effect(**figures, step=setup.steps[row.step], part=not setup.whole[row.step])
            if row.ratios is not None:
                yield Summary(**figures, **_spread(row.ratios))


def _figures(setup: _ComparisonSetup, compared: _Compared, tests: Tests, at: int) -> dict[str, Any]:
    """Return the fields of ``Comparison`` for a row."""
    metric, row, estimates = compared.metric, compared.rows[at], compared.estimates
    centre, adjusted = estimates.centre[at], tests.adjusted[at]
    verdict = _verdict(metric, centre, adjusted)
    hidden = verdict == Verdict.NO_DIFFERENCE.value
    return {
        "subject": setup.subjects[row.subject],
        "group": row.group,
        "in_sample": row.in_sample,
        "metric": metric.name,
        "ratio": float(np.exp(centre)),
        "low": _optional(np.exp(estimates.low[at])),
        "high": _optional(np.exp(estimates.high[at])),
        "blocks": int(estimates.count[at]),
        "p_value": _optional(estimates.p[at]),
        "p_adjusted": _optional(adjusted),
        "verdict": verdict,
        "findable": float(np.expm1(tests.findable[at])) if hidden else None,
    }


def _spread(ratios: Array) -> dict[str, Any]:
    """Return the fields of ``Summary`` that describe how the steps' own ratios lie."""
    return {
        "steps": len(ratios),
        "mean": float(ratios.mean()),
        "median": float(np.median(ratios)),
        "minimum": float(ratios.min()),
        "maximum": float(ratios.max()),
        "standard_deviation": float(ratios.std(ddof=1)) if len(ratios) > 1 else None,
    }


def _verdict(metric: Metric, centre: float, adjusted: float) -> str:
    if np.isnan(adjusted):
        return Verdict.NOT_ENOUGH_DATA.value
    if adjusted >= 1 - CONFIDENCE:
        return Verdict.NO_DIFFERENCE.value
    return metric.gain if (centre > 0) == (metric.better is Better.HIGHER) else metric.loss


def _optional(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
