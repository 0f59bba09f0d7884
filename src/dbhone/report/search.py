"""What a search shows on the page of its winner: what each stage brought, and all that was tried.

These figures are of the choosing runs, which favour whoever did best in them. The gain is the
confirming run's alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbhone.analysis.precision import half_width
from dbhone.report.table import Cell, Column, Interval, Row, Table, columns, text_row
from dbhone.report.wording import margin, ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateResult:
    """One candidate: its ratio to the base while choosing, its number of blocks, and its status."""

    name: str
    ratio: float | None
    blocks: int
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageGain:
    """What one stage brought: the ratio to the stage before it, and the interval of that.

    ``low`` and ``high`` are None where too few blocks have both.
    """

    stage: str
    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """All that was ``tried``, the best first, and the ``stages`` from the base to the winner."""

    tried: tuple[CandidateResult, ...]
    stages: tuple[StageGain, ...]

    @property
    def waterfall(self) -> Table | None:
        """What each stage brought; None where no stage was measured by itself."""
        if not self.stages:
            return None
        return Table(
            title="What each stage brought",
            caption="Each stage as a ratio to the one before it, from the base to the winner, in"
            " the runs that chose. The last column is the base times all stages so far. Chance"
            " favours what is chosen, so it is often too high: the figure to believe is the"
            " winner's own, above.",
            columns=columns("Stage", ("Times", "So far")),
            rows=tuple(self._rows()),
            drawn=True,
        )

    def _rows(self) -> Iterator[Row]:
        before = 1.0
        for stage in self.stages:
            after = before * stage.ratio
            way = Interval(low=min(before, after), ratio=after, high=max(before, after))
            own = Cell(text=ratio(stage.ratio), margin=margin(half_width(stage)))
            so_far = Cell(text=ratio(after), interval=way)
            yield Row(cells=(Cell(text=stage.stage), own, so_far))
            before = after

    @property
    def candidates(self) -> Table:
        """All that was tried, with its status."""
        return Table(
            title="What was tried",
            caption="Candidates as ratios to the base in the runs that chose: these figures favour"
            " whoever did best. The winner's gain was measured afresh.",
            columns=(
                *columns("Candidate", ("Ratio", "Blocks")),
                Column(title="Status", numeric=False),
            ),
            rows=tuple(
                text_row(
                    one.name,
                    "" if one.ratio is None else ratio(one.ratio),
                    str(one.blocks or ""),
                    one.status,
                )
                for one in self.tried
            ),
        )
