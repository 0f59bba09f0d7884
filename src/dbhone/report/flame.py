"""What ``hone explain`` found as one HTML page, with a differential flame graph.

In a flame graph (B. Gregg, "The Flame Graph", CACM 59/6, 2016) each frame is a function, as wide as
the CPU time in it and in what it calls, above the function that called it. Here the width is the
mean of both servers, and the colour tells by how much the subject differs from the base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbhone.analysis.explained_rounds import Round
from dbhone.analysis.stacks import folded
from dbhone.report.explanation import Explanation, TimeUnit
from dbhone.report.templating import page_style, templates

_WIDTH = 1160
_HEIGHT = 18
_LETTER = 6.7
"""Units of the picture that a letter takes."""
_NARROWEST = 1.0
_STRENGTHS = (1.05, 1.2, 1.5)
"""From which ratio on a frame has a colour, and from which a stronger one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A function as it was called: CPU seconds of an operation of both servers, calls included.

    ``left`` is where it begins, in the same unit, ``depth`` how many calls are below it.
    """

    name: str
    depth: int
    left: float
    base: float
    subject: float

    @property
    def width(self) -> float:
        """The mean of both servers."""
        return (self.base + self.subject) / 2

    @property
    def look(self) -> str:
        """The class of its colour: ``worse-2`` takes clearly more, empty if hardly another."""
        larger, smaller = max(self.base, self.subject), min(self.base, self.subject)
        strength = sum(larger >= ratio * smaller for ratio in _STRENGTHS)
        return f"{'worse' if self.subject > self.base else 'better'}-{strength}" * bool(strength)


def frames(rounds: tuple[Sequence[Round], Sequence[Round]]) -> list[Frame]:
    """Return the frames of both servers' stacks, callers before what they call."""
    base, subject = (folded(own) for own in rounds)
    times: dict[tuple[str, ...], list[float]] = {}
    lefts: dict[tuple[str, ...], float] = {}
    left = 0.0
    # Sorted, all stacks that begin alike stand together, and the shortest is the first.
    for stack in sorted({*base, *subject}, key=lambda stack: [name or "" for name in stack]):
        names = tuple(name or "?" for name in stack)
        both = (base.get(stack, 0.0), subject.get(stack, 0.0))
        for depth in range(len(names)):
            lefts.setdefault(names[: depth + 1], left)
            sums = times.setdefault(names[: depth + 1], [0.0, 0.0])
            sums[0] += both[0]
            sums[1] += both[1]
        left += sum(both) / 2
    return [
        Frame(
            name=names[-1], depth=len(names) - 1, left=lefts[names], base=sums[0], subject=sums[1]
        )
        for names, sums in times.items()
    ]


def explanation_page(
    title: str,
    names: tuple[str, str],
    said: Explanation,
    rounds: tuple[Sequence[Round], Sequence[Round]],
) -> bytes:
    """Return a page that needs no network and no script; what comes from outside is escaped."""
    unit = TimeUnit(work=said.work)
    found = frames(rounds)
    total = sum(frame.width for frame in found if frame.depth == 0)
    shown = [frame for frame in found if frame.width * _WIDTH >= _NARROWEST * total]
    deepest = max((frame.depth for frame in shown), default=0)
    text = (
        templates()
        .get_template("explanation.html")
        .render(
            title=title,
            names=names,
            said=said,
            style=page_style(),
            boxes=list(_boxes(shown, names, total, deepest, unit)),
            width=_WIDTH,
            height=(deepest + 1) * _HEIGHT,
            row=_HEIGHT,
            of=unit.of,
            total=unit.amount(total),
        )
    )
    return text.encode("utf-8", "replace")


def _boxes(
    shown: Sequence[Frame],
    names: tuple[str, str],
    total: float,
    deepest: int,
    unit: TimeUnit,
) -> Iterator[dict[str, float | str]]:
    """Yield the frames as the template draws them."""
    for frame in shown:
        width = frame.width / total * _WIDTH
        letters = int((width - 6) / _LETTER)
        text = frame.name if len(frame.name) <= letters else f"{frame.name[: letters - 1]}…"
        base, subject = unit.amount(frame.base), unit.amount(frame.subject)
        yield {
            "x": round(frame.left / total * _WIDTH, 2),
            "y": (deepest - frame.depth) * _HEIGHT,
            "width": round(width, 2),
            "look": frame.look,
            "text": text if letters > 2 else "",
            "words": f"{frame.name}: {base} with {names[0]}, {subject} with {names[1]}",
        }
