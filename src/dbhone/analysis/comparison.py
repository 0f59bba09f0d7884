"""From samples to effects and verdicts. Pure: arrays in, records out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from dbhone.analysis.cube import Array, cube, place
from dbhone.analysis.estimate import Estimates, summed
from dbhone.analysis.findable import findable
from dbhone.analysis.links import ONE_RUN, Links
from dbhone.analysis.multiplicity import holm
from dbhone.analysis.verdict import (
    MINIMUM_BLOCKS,
    Analysis,
    Effect,
    LeftOut,
    Summary,
    Verdict,
)
from dbhone.errors import HoneError
from dbhone.measurement.metric import METRICS, Better, Metric
from dbhone.measurement.record import Group, Samples

CONFIDENCE = 0.95
"""Of all intervals and verdicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What is compared with what: names and kinds, by index.

    ``hops`` has for each subject the comparisons within runs that lead to the base.
    """

    subjects: tuple[str, ...]
    steps: tuple[str, ...]
    base: int
    in_sample: NDArray[np.bool_]
    groups: tuple[Group, ...]
    hops: tuple[tuple[tuple[int, int], ...], ...]

    def others(self) -> list[int]:
        """Return all subjects but the base."""
        return [each for each in range(len(self.subjects)) if each != self.base]

    def parts(self) -> Iterator[tuple[bool, Group | None, NDArray[np.intp]]]:
        """Yield each part of the steps that has any: held-out first, all groups first."""
        for in_sample in (False, True):
            for group in (None, *Group):
                chosen = [
                    step
                    for step, of in enumerate(self.groups)
                    if self.in_sample[step] == in_sample and group in (None, of)
                ]
                if chosen:
                    yield in_sample, group, np.array(chosen, dtype=np.intp)


class _Judgement(TypedDict):
    """What the correction of its family makes of an effect or a summary."""

    p_adjusted: float | None
    verdict: str
    findable: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tests:
    """What a family says of its rows: corrected p values, and what would have been found."""

    adjusted: Array
    findable: Array

    def of(self, row: int, metric: Metric, centre: float) -> _Judgement:
        """Return what is said of one row."""
        verdict = _verdict(metric, centre, self.adjusted[row])
        hidden = verdict == Verdict.NO_DIFFERENCE.value
        return _Judgement(
            p_adjusted=_optional(self.adjusted[row]),
            verdict=verdict,
            findable=float(np.expm1(self.findable[row])) if hidden else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One subject's steps of one part, before the family is corrected."""

    subject: int
    in_sample: bool
    group: Group | None
    ratios: Array
    fallback: float


def analyse(
    samples: Samples,
    *,
    base: str,
    in_sample: Mapping[str, bool],
    groups: Mapping[str, Group],
    metrics: tuple[Metric, ...] = METRICS,
    links: Links = ONE_RUN,
) -> Analysis:
    """Compare every other subject with the base, step by step and over all steps.

    ``in_sample`` and ``groups`` tell of each step whether the experiment trained on it and
    what it mostly does. A metric that was not measured yields nothing. ``links`` tell of the
    samples of several runs. A family, corrected together, is all effects of one metric; the
    summaries of one metric by which subjects are judged; or its other summaries. Raises HoneError
    if the base is not among the subjects, a step is not described, or something was measured
    twice in one block.
    """
    frame = _frame(samples, base, in_sample, groups, links)
    where = place(samples)
    effects: list[Effect] = []
    summaries: list[Summary] = []
    left_out: set[LeftOut] = set()
    unusable = blocks = 0
    for metric in metrics:
        if metric.name not in samples.values:
            continue
        logs, bad = cube(samples.values[metric.name], where)
        unusable += bad
        blocks = max(blocks, _blocks_of(logs[frame.base]))
        found = _against_base(frame, logs)
        effects += _effects(frame, metric, found)
        summaries += _summaries(frame, metric, (logs, found), left_out)
    return Analysis(
        base=base,
        confidence=CONFIDENCE,
        blocks=blocks,
        effects=tuple(effects),
        summaries=tuple(summaries),
        left_out=tuple(sorted(left_out, key=partial(_place, frame))),
        unusable=unusable,
    )


def _place(frame: _Frame, left_out: LeftOut) -> tuple[str, int, int]:
    subject, step = frame.subjects.index(left_out.subject), frame.steps.index(left_out.step)
    return left_out.metric, subject, step


def _frame(
    samples: Samples,
    base: str,
    in_sample: Mapping[str, bool],
    groups: Mapping[str, Group],
    links: Links,
) -> _Frame:
    if base not in samples.subjects:
        raise HoneError(
            f"the base {base} is not among what was measured",
            hint="a run can only be compared with a base that was measured in it",
        )
    unknown = [step for step in samples.steps if step not in in_sample or step not in groups]
    if unknown:
        raise HoneError(f"the step {unknown[0]} was measured but does not belong to the run")
    return _Frame(
        subjects=samples.subjects,
        steps=samples.steps,
        base=samples.subjects.index(base),
        in_sample=np.array([in_sample[step] for step in samples.steps], dtype=bool),
        groups=tuple(groups[step] for step in samples.steps),
        hops=tuple(
            tuple(
                (samples.subjects.index(above), samples.subjects.index(below))
                for above, below in links.hops(subject, base)
            )
            for subject in samples.subjects
        ),
    )


def _against_base(frame: _Frame, logs: Array) -> Estimates:
    """Estimate each subject's distance from the base on each step."""
    return summed(
        [[logs[above] - logs[below] for above, below in hops] for hops in frame.hops], CONFIDENCE
    )


def _blocks_of(logs: Array) -> int:
    return int(np.count_nonzero(np.any(~np.isnan(logs), axis=0)))


def _effects(frame: _Frame, metric: Metric, found: Estimates) -> list[Effect]:
    pairs = [
        (subject, step)
        for subject in frame.others()
        for step in range(len(frame.steps))
        if found.count[subject, step]
    ]
    rows = _picked(found, pairs)
    tests = _tests(rows)
    return [
        Effect(
            subject=frame.subjects[subject],
            step=frame.steps[step],
            group=frame.groups[step],
            in_sample=bool(frame.in_sample[step]),
            metric=metric.name,
            ratio=float(np.exp(rows.centre[row])),
            low=_bound(rows, row, -1),
            high=_bound(rows, row, +1),
            blocks=int(rows.count[row]),
            p_value=_optional(rows.p[row]),
            **tests.of(row, metric, rows.centre[row]),
        )
        for row, (subject, step) in enumerate(pairs)
    ]


def _picked(found: Estimates, pairs: Sequence[tuple[int, int]]) -> Estimates:
    subjects = [subject for subject, _ in pairs]
    steps = [step for _, step in pairs]
    return Estimates(
        centre=found.centre[subjects, steps],
        error=found.error[subjects, steps],
        freedom=found.freedom[subjects, steps],
        half=found.half[subjects, steps],
        p=found.p[subjects, steps],
        count=found.count[subjects, steps],
    )


def _summaries(
    frame: _Frame,
    metric: Metric,
    data: tuple[Array, Estimates],
    left_out: set[LeftOut],
) -> list[Summary]:
    logs, found = data
    parts: list[_Part] = []
    series: list[list[Array]] = []
    for subject in frame.others():
        for in_sample, group, steps in frame.parts():
            counts = found.count[subject, steps]
            if not counts.any():
                continue
            # A step that few blocks have would leave hardly a block in which all are whole.
            kept = steps[counts * 2 >= counts.max()]
            left_out.update(
                LeftOut(metric=metric.name, subject=frame.subjects[subject], step=frame.steps[step])
                for step in steps[counts * 2 < counts.max()].tolist()
            )
            centres = found.centre[subject, kept]
            series.append(
                [
                    (logs[above, kept] - logs[below, kept]).mean(axis=0)
                    for above, below in frame.hops[subject]
                ]
            )
            parts.append(
                _Part(
                    subject=subject,
                    in_sample=in_sample,
                    group=group,
                    ratios=np.exp(centres),
                    fallback=float(centres.mean()),
                )
            )
    if not parts:
        return []
    rows = summed(series, CONFIDENCE)
    tests = _tests(rows, apart=np.array([_is_judged_by(frame, part) for part in parts]))
    return [_summary(frame, metric, part, (rows, row, tests)) for row, part in enumerate(parts)]


def _is_judged_by(frame: _Frame, part: _Part) -> bool:
    """Whether a summary is the one by which its subject wins or does not (see ``winner.py``)."""
    return part.group is None and part.in_sample == bool(frame.in_sample.all())


def _summary(
    frame: _Frame, metric: Metric, part: _Part, line: tuple[Estimates, int, _Tests]
) -> Summary:
    rows, row, tests = line
    centre = rows.centre[row] if rows.count[row] else part.fallback
    ratios = part.ratios
    return Summary(
        subject=frame.subjects[part.subject],
        group=part.group,
        in_sample=part.in_sample,
        metric=metric.name,
        ratio=float(np.exp(centre)),
        low=_bound(rows, row, -1),
        high=_bound(rows, row, +1),
        blocks=int(rows.count[row]),
        p_value=_optional(rows.p[row]),
        **tests.of(row, metric, centre),
        steps=len(ratios),
        mean=float(ratios.mean()),
        median=float(np.median(ratios)),
        minimum=float(ratios.min()),
        maximum=float(ratios.max()),
        standard_deviation=float(ratios.std(ddof=1)) if len(ratios) > 1 else None,
    )


def _tests(rows: Estimates, *, apart: NDArray[np.bool_] | None = None) -> _Tests:
    """Correct the family of those that have blocks enough for a verdict.

    Those in ``apart`` are a family of their own.
    """
    p = np.where(rows.count >= MINIMUM_BLOCKS, rows.p, np.nan)
    adjusted, least = np.full_like(p, np.nan), np.full_like(p, np.nan)
    own = np.zeros(len(p), dtype=bool) if apart is None else apart
    for family in (own, ~own):
        adjusted[family] = holm(p[family])
        least[family] = findable(
            rows.error[family], rows.freedom[family], adjusted[family], CONFIDENCE
        )
    return _Tests(adjusted=adjusted, findable=least)


def _verdict(metric: Metric, centre: float, adjusted: float) -> str:
    if np.isnan(adjusted):
        return Verdict.NOT_ENOUGH_DATA.value
    if adjusted >= 1 - CONFIDENCE:
        return Verdict.NO_DIFFERENCE.value
    return metric.gain if (centre > 0) == (metric.better is Better.HIGHER) else metric.loss


def _bound(rows: Estimates, row: int, side: int) -> float | None:
    return _optional(np.exp(rows.centre[row] + side * rows.half[row]))


def _optional(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
