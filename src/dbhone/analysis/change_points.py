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
from numpy.typing import NDArray

from dbhone.analysis.estimate import CONFIDENCE, estimate, summed, with_repeats
from dbhone.analysis.history import Change, History, Lineage, Segment, VersionTrend
from dbhone.analysis.indirect import Links, contrast
from dbhone.analysis.multiplicity import findable, holm
from dbhone.analysis.verdict import MINIMUM_BLOCKS
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Group, Step, wholes
from dbhone.measurement.sample_array import Logs, SampleArray

LEAST_CHANGE = 0.05
"""Smaller changes are not in the headline, however certain they are."""
_MOST = 2 / 3
"""A version that seems to have brought this share of a change from end to end stands out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _What:
    """What a trend describes: the indices of its steps, and its names."""

    steps: tuple[int, ...]
    step: str | None
    group: Group | None
    in_sample: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One trend before it is analysed: each version's logarithms, by blocks.

    ``noise`` is how far the A/A controls differ from the versions that they repeat.
    """

    what: _What
    logs: Mapping[str, Logs]
    links: Links
    noise: float

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions, in their order."""
        return tuple(self.logs)

    def distance(self, versions: Sequence[str], earlier: str) -> list[Logs]:
        """Return how far versions are, on average, from an earlier one: the terms of a sum."""
        weights = dict.fromkeys(versions, 1 / len(versions))
        return contrast(self.logs, weights, earlier, self.links)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """One comparison of two versions of a row, on the logarithmic scale.

    ``threshold`` is the difference that would have been found.
    """

    before: int
    after: int
    centre: float
    low: float
    high: float
    p_adjusted: float
    threshold: float


def find_changes(samples: SampleArray, lineage: Lineage, *, steps: Sequence[Step]) -> History:
    """Find where throughput changed between the versions of a lineage.

    Subjects without measurements take no part. Where a control differs from the version that it
    repeats, only changes larger than that difference are reported. The steps are one family of
    tests, the groups another.
    """
    logs = samples.logs(THROUGHPUT)
    known = {name: logs[row] for row, name in enumerate(samples.subjects)}
    chosen, whole = (
        [step for step in kind if step.name in samples.steps] for kind in (steps, wholes(steps))
    )
    singles, grouped = (
        [_row(known, lineage, what) for what in rows]
        for rows in (_singles(chosen, samples), _groups(whole, samples))
    )
    return History(
        versions=tuple(name for name in lineage.versions if name in known),
        steps=tuple(_family(singles)),
        groups=tuple(_family(grouped)),
    )


def _singles(steps: Sequence[Step], samples: SampleArray) -> Iterator[_What]:
    for step in steps:
        yield _What(
            steps=(samples.steps.index(step.name),),
            step=step.name,
            group=step.group,
            in_sample=step.in_sample,
        )


def _groups(steps: Sequence[Step], samples: SampleArray) -> Iterator[_What]:
    """Yield all groups together, then each group: held-out first, in-sample last.

    ``steps`` are whole: no part of one counts.
    """
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


def _row(known: Mapping[str, Logs], lineage: Lineage, what: _What) -> _Row:
    """Return a trend without the versions and steps that few blocks of their run have.

    With them, hardly any block would have all that is compared.
    """
    links = lineage.links
    steps = np.array(what.steps, dtype=np.intp)
    present_cells = {
        name: ~np.isnan(known[name].values[steps]) for name in lineage.versions if name in known
    }
    counts = {name: np.count_nonzero(cells, axis=-1) for name, cells in present_cells.items()}
    enough = {name: _most(name, present_cells, links) / 2 for name in present_cells}
    present = [
        name for name, cells in counts.items() if cells.max() and cells.max() >= enough[name]
    ]
    present = [name for name in present if _is_reached(name, present, links)]
    whole = np.all([counts[name] >= enough[name] for name in present], axis=0)
    kept = steps[whole] if present else steps[:0]
    if not len(kept):
        return _Row(what=what, logs={}, links=links, noise=0.0)
    repeats: dict[str, list[Logs]] = {name: [] for name in present}
    for name, version in lineage.controls.items():
        if name in known and version in present:
            repeats[version].append(known[name][kept])
    noise = [
        _distance((repeat - known[version][kept]).mean())
        for version, own in repeats.items()
        for repeat in own
    ]
    return _Row(
        what=what,
        logs={
            name: with_repeats(known[name][kept], own, np.full(len(kept), True)).mean()
            for name, own in repeats.items()
        },
        links=links,
        noise=max(noise, default=0.0),
    )


def _most(name: str, there: Mapping[str, NDArray[np.bool_]], links: Links) -> int:
    """Return how many blocks of a version's own runs the best known version has.

    A block is of these runs if a version has it that was measured in no other.
    """
    own = [cells.any(axis=0) for other, cells in there.items() if links.within(other, name)]
    blocks = np.any(own, axis=0)
    return max(
        int(np.count_nonzero(present_blocks[:, blocks], axis=-1).max())
        for present_blocks in there.values()
    )


def _is_reached(name: str, present: Sequence[str], links: Links) -> bool:
    """Return whether the anchors by which a version is compared are present, too."""
    return all(end in present for hop in links.hops(name, present[0]) for end in hop)


def _distance(logs: Logs) -> float:
    centre = abs(float(estimate(logs).centre))
    return 0.0 if math.isnan(centre) else centre


def _family(rows: Sequence[_Row]) -> Iterator[VersionTrend]:
    """Analyse rows whose tests are corrected together."""
    pairs = [(row, *pair) for row in rows for pair in _pairs(len(row.versions))]
    if not pairs:
        return iter(())
    differences = [
        row.distance(row.versions[after : after + 1], row.versions[before])
        for row, before, after in pairs
    ]
    places = [(before, after) for _, before, after in pairs]
    tests = iter(_tests(differences, places))
    # Each row takes its own from the tests, which are in the order of the rows.
    tested = ((row, [next(tests) for _ in _pairs(len(row.versions))]) for row in rows)
    return (_trend(row, row_tests) for row, row_tests in tested)


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    """Yield the neighbours among this many versions and, if that is another pair, the ends."""
    yield from itertools.pairwise(range(count))
    if count > 2:
        yield 0, count - 1


def _tests(
    differences: Sequence[Sequence[Logs]], places: Sequence[tuple[int, int]]
) -> Iterator[_Test]:
    """Test each difference, given by its terms, corrected together."""
    estimates = summed(differences)
    enough = estimates.count >= MINIMUM_BLOCKS
    adjusted = holm(np.where(enough, estimates.p, np.nan))
    thresholds = findable(estimates.error, estimates.freedom, adjusted)
    for at, (before, after) in enumerate(places):
        yield _Test(
            before=before,
            after=after,
            centre=float(estimates.centre[at]),
            low=float(estimates.low[at]),
            high=float(estimates.high[at]),
            p_adjusted=float(adjusted[at]),
            threshold=float(thresholds[at]),
        )


def _trend(row: _Row, tests: Sequence[_Test]) -> VersionTrend:
    floor = max(math.log1p(LEAST_CHANGE), row.noise)
    certain = [
        test for test in tests if test.p_adjusted < 1 - CONFIDENCE and abs(test.centre) >= floor
    ]
    cuts = [change for change in certain if change.after - change.before == 1]
    last = len(row.versions) - 1
    ends = next((change for change in certain if not cuts and change.after == last), None)
    bounds = [0, *(cut.after for cut in cuts), len(row.versions)]
    segments = [
        _segment(row, slice(*piece)) for piece in itertools.pairwise(bounds) if row.versions
    ]
    return VersionTrend(
        step=row.what.step,
        group=row.what.group,
        in_sample=row.what.in_sample,
        versions=row.versions,
        segments=tuple(segments),
        changes=tuple(
            _change(row, cut, level) for cut, level in zip(cuts, segments[1:], strict=True)
        ),
        overall=_change(row, ends, _segment(row, slice(last, None))) if ends else None,
        likely_cause=_likely_cause(row, tests, ends) if ends else None,
        findable=_findable(tests, floor),
    )


def _likely_cause(row: _Row, tests: Sequence[_Test], ends: _Test) -> str | None:
    """Return the version that seems to have brought most of the change from end to end."""
    neighbours = [test for test in tests if test.after - test.before == 1]
    largest = max(neighbours, key=lambda test: test.centre / ends.centre)
    return row.versions[largest.after] if largest.centre / ends.centre >= _MOST else None


def _segment(row: _Row, piece: slice) -> Segment:
    estimates = summed([row.distance(row.versions[piece], row.versions[0])])
    low, high = float(estimates.low[0]), float(estimates.high[0])
    bounded = not math.isnan(low)
    return Segment(
        versions=row.versions[piece],
        ratio=math.exp(float(estimates.centre[0])),
        low=math.exp(low) if bounded else None,
        high=math.exp(high) if bounded else None,
    )


def _change(row: _Row, test: _Test, level: Segment) -> Change:
    start, end = (_segment(row, slice(place, place + 1)) for place in (test.before, test.after))
    return Change(
        before=row.versions[test.before],
        after=row.versions[test.after],
        ratio=math.exp(test.centre),
        low=math.exp(test.low),
        high=math.exp(test.high),
        p_adjusted=test.p_adjusted,
        level=level,
        start=start,
        end=end,
    )


def _findable(tests: Sequence[_Test], floor: float) -> float | None:
    """Return the smallest change that would have been found anywhere, None if it is not known."""
    thresholds = [test.threshold for test in tests if test.after - test.before == 1]
    if not thresholds or any(math.isnan(threshold) for threshold in thresholds):
        return None
    return math.expm1(max(floor, *thresholds))
