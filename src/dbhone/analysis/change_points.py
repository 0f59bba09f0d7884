"""Where throughput changed from one version to the next. Pure: samples in, records out.

Each version is compared with the one before it, block by block, by the estimator that all
effects have; the p values of a run are corrected by Holm's method, for all neighbours and all
steps at once. Versions between which nothing was found are pooled into segments.

``docs/statistics.md`` tells why neighbours are tested, and not segmented by a search: a history
has few versions, a search for the best cut (PELT: R. Killick, P. Fearnhead and I. A. Eckley,
JASA 107 (2012) 1590-1598; E-divisive: D. S. Matteson and N. A. James, JASA 109 (2014) 334-345)
needs many, and promises nothing about the place of a cut.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from dbhone.analysis.cube import Array, cube, place
from dbhone.analysis.estimate import degrees, estimate
from dbhone.analysis.history import Change, History, Segment, Series
from dbhone.analysis.multiplicity import holm
from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Group, Samples, Step

LEAST_CHANGE = 0.05
"""A change by less than this is nobody's headline, however surely it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _What:
    """What a series is of: indices of its steps, and its names."""

    steps: tuple[int, ...]
    step: str | None
    group: Group | None
    in_sample: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One series before it is analysed: logarithms, versions by blocks.

    ``noise`` is how far the A/A controls are from the first version.
    """

    what: _What
    versions: tuple[str, ...]
    logs: Array
    noise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """One comparison of two versions of a row, on the logarithmic scale.

    ``threshold`` is the difference that would have been found.
    """

    before: int
    after: int
    centre: float
    half: float
    p_adjusted: float
    threshold: float


def find_changes(
    samples: Samples,
    *,
    versions: Sequence[str],
    controls: Sequence[str],
    steps: Sequence[Step],
    least: float = LEAST_CHANGE,
    confidence: float = 0.95,
) -> History:
    """Find where throughput changed between the versions, which are given in their order.

    ``versions`` and ``controls`` name subjects; those without measurements take no part. The
    controls are the first version once more: where they seem to differ from it, only changes
    larger than that are told. The steps are one family of tests, the groups another. Raises
    HoneError if something was measured twice in one block.
    """
    logs, _ = cube(samples.values[THROUGHPUT.name], place(samples))
    known = dict(zip(samples.subjects, logs, strict=True))
    mine = {name: known[name] for name in versions if name in known}
    again = [known[name] for name in controls if name in known]
    chosen = [step for step in steps if step.name in samples.steps]
    singles, grouped = (
        [_row(mine, again, what) for what in found]
        for found in (_singles(chosen, samples), _groups(chosen, samples))
    )
    return History(
        versions=tuple(mine),
        confidence=confidence,
        least=least,
        steps=tuple(_family(singles, least, confidence)),
        groups=tuple(_family(grouped, least, confidence)),
    )


def _singles(steps: Sequence[Step], samples: Samples) -> Iterator[_What]:
    for step in steps:
        yield _What(
            steps=(samples.steps.index(step.name),),
            step=step.name,
            group=step.group,
            in_sample=step.in_sample,
        )


def _groups(steps: Sequence[Step], samples: Samples) -> Iterator[_What]:
    """Yield all groups together, then each: held-out first, in-sample last, never mixed."""
    for in_sample in (False, True):
        part = [step for step in steps if step.in_sample is in_sample]
        present = [group for group in Group if any(step.group is group for step in part)]
        for group in (None, *(present if len(present) > 1 else ())):
            members = [step for step in part if group in (None, step.group)]
            if members:
                yield _What(
                    steps=tuple(samples.steps.index(step.name) for step in members),
                    step=None,
                    group=group,
                    in_sample=in_sample,
                )


def _row(mine: Mapping[str, Array], again: Sequence[Array], what: _What) -> _Row:
    """Return a series. Versions and steps that few blocks have are left out.

    Else there would be hardly a block in which all can be compared.
    """
    steps = np.array(what.steps, dtype=np.intp)
    counts = {
        name: np.count_nonzero(~np.isnan(logs[steps]), axis=-1) for name, logs in mine.items()
    }
    enough = max((int(each.max()) for each in counts.values()), default=0) / 2
    present = tuple(name for name, each in counts.items() if each.max() and each.max() >= enough)
    whole = np.all([counts[name] >= enough for name in present], axis=0)
    kept = steps[whole] if present else steps[:0]
    if not len(kept):
        return _Row(what=what, versions=(), logs=np.zeros((0, 0)), noise=0.0)
    series = np.array([mine[name][kept].mean(axis=0) for name in present])
    return _Row(
        what=what,
        versions=present,
        logs=series,
        noise=max((_distance(each[kept].mean(axis=0) - series[0]) for each in again), default=0.0),
    )


def _distance(logs: Array) -> float:
    centre = abs(float(estimate(logs, 0.95).centre))
    return 0.0 if math.isnan(centre) else centre


def _family(rows: Sequence[_Row], least: float, confidence: float) -> Iterator[Series]:
    """Analyse rows whose tests are corrected together."""
    pairs = [(row, *pair) for row in rows for pair in _pairs(len(row.versions))]
    if not pairs:
        return iter(())
    differences = np.array([row.logs[after] - row.logs[before] for row, before, after in pairs])
    places = [(before, after) for _, before, after in pairs]
    tests = iter(_tests(differences, places, confidence))
    # Each row takes its own from the tests, which are in the order of the rows.
    mine = ((row, [next(tests) for _ in _pairs(len(row.versions))]) for row in rows)
    return (_series(row, found, least, confidence) for row, found in mine)


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    """Yield the neighbours among so many versions and, if that is another pair, the ends."""
    yield from itertools.pairwise(range(count))
    if count > 2:
        yield 0, count - 1


def _tests(
    differences: Array, places: Sequence[tuple[int, int]], confidence: float
) -> Iterator[_Test]:
    """Test each row of differences, corrected together.

    What would have been found is the difference whose p value is just what Holm's method asks
    of the best of those that were not.
    """
    found = estimate(differences, confidence)
    enough = found.count >= MINIMUM_BLOCKS
    adjusted = holm(np.where(enough, found.p, np.nan))
    alpha = 1 - confidence
    left = max(int(np.count_nonzero(adjusted >= alpha)), 1)
    freedom = np.where(enough, degrees(found.count), 1.0)
    widths = stdtrit(freedom, 1 - alpha / left / 2) / stdtrit(freedom, 1 - alpha / 2)
    thresholds = np.where(enough, found.half * widths, np.nan)
    for at, (before, after) in enumerate(places):
        yield _Test(
            before=before,
            after=after,
            centre=float(found.centre[at]),
            half=float(found.half[at]),
            p_adjusted=float(adjusted[at]),
            threshold=float(thresholds[at]),
        )


def _series(row: _Row, tests: Sequence[_Test], least: float, confidence: float) -> Series:
    floor = max(math.log1p(least), row.noise)
    certain = [
        each for each in tests if each.p_adjusted < 1 - confidence and abs(each.centre) >= floor
    ]
    cuts = [each for each in certain if each.after - each.before == 1]
    last = len(row.versions) - 1
    ends = [each for each in certain if not cuts and each.after == last]
    bounds = [0, *(each.after for each in cuts), len(row.versions)]
    segments = [
        _segment(row, slice(*piece), confidence)
        for piece in itertools.pairwise(bounds)
        if row.versions
    ]
    return Series(
        step=row.what.step,
        group=row.what.group,
        in_sample=row.what.in_sample,
        versions=row.versions,
        segments=tuple(segments),
        changes=tuple(
            _change(row, each, level) for each, level in zip(cuts, segments[1:], strict=True)
        ),
        gradual=next(
            (_change(row, each, _segment(row, slice(last, None), confidence)) for each in ends),
            None,
        ),
        findable=_findable(tests, floor),
    )


def _segment(row: _Row, piece: slice, confidence: float) -> Segment:
    found = estimate(row.logs[piece].mean(axis=0) - row.logs[0], confidence)
    centre, half = float(found.centre), float(found.half)
    bounded = not math.isnan(half)
    return Segment(
        versions=row.versions[piece],
        ratio=math.exp(centre),
        low=math.exp(centre - half) if bounded else None,
        high=math.exp(centre + half) if bounded else None,
    )


def _change(row: _Row, test: _Test, level: Segment) -> Change:
    return Change(
        before=row.versions[test.before],
        after=row.versions[test.after],
        ratio=math.exp(test.centre),
        low=math.exp(test.centre - test.half),
        high=math.exp(test.centre + test.half),
        p_adjusted=test.p_adjusted,
        level=level,
    )


def _findable(tests: Sequence[_Test], floor: float) -> float | None:
    """Return the change that would have been found wherever it is, None if that is not known."""
    thresholds = [each.threshold for each in tests if each.after - each.before == 1]
    if not thresholds or any(math.isnan(each) for each in thresholds):
        return None
    return math.expm1(max(floor, *thresholds))
