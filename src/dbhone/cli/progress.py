"""Shows what a run is doing: a live line in a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from dbhone.cli.lines import labelled
from dbhone.experiment.plan.events import (
    Began,
    BlockEnded,
    Detail,
    Ended,
    Event,
    InvocationStarted,
    Listener,
    Note,
    WaitBegan,
    WaitEnded,
)
from dbhone.units import duration

_VAGUE = 1.0
_LONG = 60.0
_SHORTEST = 1.0
"""In seconds: nothing shorter is told of the time that is left, or that was not expected."""


@contextlib.contextmanager
def shown(console: Console, *, verbose: bool = False) -> Iterator[Listener]:
    """Yield a listener that shows events on the console while the context lasts.

    If it is ``verbose``, everything is a line that stays.
    """
    if verbose or not console.is_terminal:
        yield _Lines(console, verbose=verbose).listen
        return
    display = _Display(console)
    with Live(display, console=console, refresh_per_second=4, transient=True):
        yield display.listen


class _Lines:
    """Plain lines: one for each thing that is finished, and when something long begins."""

    def __init__(self, console: Console, *, verbose: bool) -> None:
        self._console = console
        self._verbose = verbose
        self._untold: Began | None = None

    def listen(self, event: Event) -> None:
        text = _line(event)
        if isinstance(event, Detail) and self._untold is not None:
            # Something is really being done: it is not there from before.
            text, self._untold = _beginning(self._untold), None
        elif isinstance(event, Began):
            self._untold = None if self._verbose else event
        elif not isinstance(event, Detail | Note | WaitBegan | WaitEnded):
            self._untold = None
        if text is None and self._verbose:
            text = _detail_line(event)
        if text is not None:
            self._console.print(text, soft_wrap=True)


class _Display:
    """Finished things as lines, and below them one live line for what is being done."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._what = "starting"
        self._detail = ""
        self._since = time.monotonic()
        self._expected: float | None = None
        self._until: float | None = None
        self._other = ""
        self._waits_since: float | None = None
        self._spinner = Spinner("dots")

    def listen(self, event: Event) -> None:
        match event:
            case Began():
                count = f" {event.number}/{event.total}" if event.total > 1 else ""
                self._begin(f"{event.stage.value}{count}  {event.what}", event.expected)
                self._set_left(event.left)
            case Detail():
                self._detail = event.text
            case WaitBegan():
                self._other, self._waits_since = event.other, time.monotonic()
            case WaitEnded():
                self._go_on()
            case InvocationStarted():
                self._begin(f"measure  block {event.block + 1}", None)
                self._detail = f"{event.number}/{event.total}  {event.set} on {event.subject}"
                self._set_left(event.left)
            case _:
                text = _line(event)
                if text is not None:
                    self._console.print(text, soft_wrap=True)

    def _begin(self, what: str, expected: float | None) -> None:
        if what != self._what:
            self._since = time.monotonic()
        self._what, self._detail, self._expected = what, "", expected

    def _go_on(self) -> None:
        """Restart the clocks that were stopped while another hone had the machine."""
        if self._waits_since is None:
            return
        waited = time.monotonic() - self._waits_since
        self._since += waited
        self._until = None if self._until is None else self._until + waited
        self._waits_since = None

    def _set_left(self, left: float | None) -> None:
        """Keep when the budget ends; once it has ended, that moment stays."""
        now, before = time.monotonic(), self._until
        ended = left is not None and left <= 0 and before is not None and before < now
        if not ended:
            self._until = None if left is None else now + left

    def __rich__(self) -> RenderableType:
        row = Table.grid(padding=(0, 2))
        now = time.monotonic() if self._waits_since is None else self._waits_since
        left = "" if self._until is None else _left(self._until - now)
        if self._waits_since is not None:
            waited = duration(time.monotonic() - self._waits_since)
            waiting = f"waiting for {self._other}: {waited}"
            row.add_row(self._spinner, Text(waiting, style="yellow"), Text(left, style="dim"))
            return row
        row.add_row(
            self._spinner,
            Text(self._what, style="bold"),
            Text(self._detail),
            Text(_taken(max(0.0, now - self._since), self._expected), style="dim"),
            Text(left, style="dim"),
        )
        return row


def _taken(elapsed: float, expected: float | None) -> str:
    """Say how long something has taken, of how long or how much longer than it was expected to."""
    if not expected:
        return duration(elapsed)
    longer = elapsed - expected
    if longer < _SHORTEST:
        return f"{duration(elapsed)} of about {duration(expected)}"
    return f"{duration(elapsed)}, {duration(longer)} longer than expected"


def _left(seconds: float) -> str:
    """Say how much of the budget is left, or how much more than it was used."""
    told = duration(max(_SHORTEST, abs(seconds)))
    return f"at most {told} left" if seconds > 0 else f"over the budget by {told}"


def _beginning(event: Began) -> Text | None:
    if event.expected is None or event.expected < _LONG:
        return None
    line = labelled(
        event.stage.value, f"{event.what}: begun, about {duration(event.expected)}", "dim"
    )
    line.stylize("dim")
    return line


def _detail_line(event: Event) -> Text | None:
    """Return the line of an event that is otherwise shown for a moment only."""
    match event:
        case Began():
            return labelled(event.stage.value, f"{event.what}: begun", "dim")
        case Detail():
            return labelled("", event.text, "dim")
        case InvocationStarted():
            what = f"block {event.block + 1}, {event.number}/{event.total}"
            return labelled("", f"{what}: {event.set} on {event.subject}", "dim")
        case _:
            return None


def _line(event: Event) -> Text | None:
    match event:
        case Ended():
            seconds = "kept from before" if event.reused else duration(event.seconds)
            note = f"; {event.note}" if event.note else ""
            return labelled(event.stage.value, f"{event.what}  ({seconds}{note})")
        case BlockEnded():
            known = _precision(event)
            left = "" if event.left is None else f"; {_left_after(event.left)}"
            text = f"block {event.block + 1}  ({duration(event.seconds)}{known}{left})"
            return labelled("measure", text)
        case Note():
            return labelled("note", event.text, "bold yellow")
        case _:
            return None


def _left_after(seconds: float) -> str:
    return _left(seconds) if seconds > 0 else "the budget is used up"


def _precision(event: BlockEnded) -> str:
    """Say how well the effects are known by now, once that means something."""
    if event.typical is None or event.typical > _VAGUE:
        return ""
    precision = f"; half of the effects known to ±{event.typical:.1%} or better"
    if event.widest is not None and event.widest < _VAGUE:
        precision += f", all to ±{event.widest:.1%}"
    return precision
