"""What is found of a DBMS through its versions: segments, and the changes between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dbhone.analysis.indirect import ONE_RUN, Links
from dbhone.measurement.record import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """How the subjects of a history relate to each other.

    ``versions`` are in their order, the oldest first. ``controls`` names the version that each
    control repeats. ``links`` describe samples of several runs.
    """

    versions: tuple[str, ...]
    controls: Mapping[str, str] = field(default_factory=dict)
    links: Links = ONE_RUN


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A version, or consecutive versions without a change between them, pooled.

    ``ratio`` is their throughput relative to the first version of all, a geometric mean; ``low`` to
    ``high`` is its interval, None with fewer than 3 blocks.
    """

    versions: tuple[str, ...]
    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change between two versions.

    ``ratio`` is the later version's throughput to the earlier one's, ``low`` to ``high`` its
    interval; ``p_adjusted`` tests that it is 1. ``level`` is the segment that begins with it;
    ``start`` and ``end`` are the two versions' own ratios to the first version of all.
    """

    before: str
    after: str
    ratio: float
    low: float
    high: float
    p_adjusted: float
    level: Segment
    start: Segment
    end: Segment

    @property
    def size(self) -> float:
        """How large the change is, up or down alike."""
        return abs(math.log(self.ratio))


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionTrend:
    """One step, or the steps of a group together, through the versions.

    ``step`` is None for a group; there ``group`` is None if it is all groups. ``versions`` are
    those that were measured in enough blocks. ``overall`` is the change from the first version to
    the last, if it is certain and no change between neighbours is. ``likely_cause`` is then the
    version that seems to have brought most of it: a guess, None where none stands out. ``findable``
    is the smallest change, as a fraction, that would have been found between any neighbours; None
    with fewer than ``MINIMUM_BLOCKS`` blocks.
    """

    step: str | None
    group: Group | None
    in_sample: bool
    versions: tuple[str, ...]
    segments: tuple[Segment, ...]
    changes: tuple[Change, ...]
    overall: Change | None
    likely_cause: str | None
    findable: float | None

    @property
    def shown_changes(self) -> tuple[Change, ...]:
        """Its changes; if there are none, the change from end to end, if that is certain."""
        return self.changes or ((self.overall,) if self.overall is not None else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The changes of all steps and groups.

    ``versions`` are in their order; ``groups`` begin with all groups together.
    """

    versions: tuple[str, ...]
    steps: tuple[VersionTrend, ...]
    groups: tuple[VersionTrend, ...]
