"""Figures and names as sentences and tables write them, and how they are read."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from dbhone.analysis.precision import Bounded, half_width
from dbhone.analysis.verdict import (
    Analysis,
    Effect,
    Summary,
    differs,
    direction_of,
    likely,
    overall,
)
from dbhone.measurement.record import Warning
from dbhone.report.table import Cell, Interval
from dbhone.units import count_of

_COMPILER = re.compile(r"(?P<name>[A-Za-z][\w+-]*)")
_PROFILE = re.compile(r"=[~/]\S*/profiles/([0-9a-f]{12})[0-9a-f]{52}\S*")
_PATH = re.compile(r"(?<==)[~/]\S+")
_VERSION = re.compile(r"(?<![\w.])(\d+)\.(\d+)(?:\.\d+)*")


def ratio(value: float) -> str:
    """Return a ratio for a table: ``1.071``."""
    return f"{value:.3f}"


def format_ratio(value: float, effect: Effect | Summary) -> str:
    """Return a ratio, or an end of its interval, for a sentence.

    Two digits after the point, and three where two would blur the interval or the difference
    from 1.
    """
    narrow = effect.low is not None and effect.high is not None and effect.high - effect.low < 0.02
    return f"{value:.3f}" if narrow or abs(effect.ratio - 1) < 0.02 else f"{value:.2f}"


def margin(half: float | None) -> str:
    """Return an interval's half-width, relative to the ratio: ``±1.8%``."""
    if half is None:
        return ""
    return f"±{half:.1%}" if half < 0.0995 else f"±{half:.0%}"


def figure(effect: Effect | Summary | None) -> Cell:
    """Return an effect or a summary as a cell; an empty one for what was not measured."""
    if effect is None:
        return Cell(text="")
    return _cell(effect, ratio(effect.ratio), margin(half_width(effect)))


def short_figure(effect: Effect | Summary | None) -> Cell:
    """Return an effect as a cell for a wide table, with no more digits than are known."""
    if effect is None:
        return Cell(text="")
    half = half_width(effect)
    if half is None or half >= 0.00995:
        cell = _cell(effect, f"{effect.ratio:.2f}", "" if half is None else f"±{half:.0%}")
    else:
        cell = _cell(effect, ratio(effect.ratio), margin(half))
    return _with_strength(cell, effect)


def step_figure(effect: Effect | None) -> Cell:
    """Return the effect on a step as a cell whose colour shows how large it is."""
    return figure(effect) if effect is None else _with_strength(figure(effect), effect)


def _with_strength(cell: Cell, effect: Effect | Summary) -> Cell:
    """Return the cell with how large a certain difference is: below 5 %, below 20 %, or more."""
    if not differs(effect):
        return cell
    size = abs(math.log(effect.ratio))
    return replace(cell, strength=1 + sum(size >= math.log(limit) for limit in (1.05, 1.2)))


def reach(bounded: Bounded) -> str:
    """Return an interval for a table: ``1.05–1.09``; nothing where there is none."""
    if bounded.low is None or bounded.high is None:
        return ""
    return f"{ratio(bounded.low)}–{ratio(bounded.high)}"


def cost_words(cost: Summary, base: str, *, server: bool) -> str:
    """Return what an operation costs a subject: ``takes 0.87 times the CPU time of rel``.

    A ``server`` is distinguished from its clients, whose CPU time is not included.
    """
    whose = "server CPU time" if server else "CPU time"
    interval = f" [{ends(cost)}]" if cost.low is not None else ""
    return f"takes {format_ratio(cost.ratio, cost)} times{interval} the {whose} of {base}"


def ends(bounded: Bounded) -> str:
    """Return an interval in words: ``1.05 to 1.09``; nothing where there is none."""
    return reach(bounded).replace("–", " to ")


def _cell(effect: Effect | Summary, text: str, half: str) -> Cell:
    return Cell(
        text=text,
        margin=half,
        verdict=verdict_words(effect),
        direction=direction_of(effect),
        interval=Interval.of(effect),
        detail=", ".join(filter(None, (ends(effect), count_of(effect.blocks, "block")))),
    )


def verdict_words(effect: Effect | Summary) -> str:
    """Return the verdict in words, with what is likely where nothing is certain."""
    word = likely(effect)
    return effect.verdict if word is None else f"likely {word}, not certain among so many"


def number(value: float) -> str:
    """Return a figure with three digits or more: ``12,340``, ``56.7``, ``0.342``."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = round(value, digits)
    digits = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{digits}f}"


def capital(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def compiler(text: str) -> str:
    """Return a compiler's name and version in short: ``gcc 12.2``."""
    versions = _VERSION.findall(text)
    name = _COMPILER.search(text)
    known = next((family for family in ("clang", "gcc", "icx") if family in text), None)
    if not versions or (known is None and name is None):
        return text
    major, minor = versions[-1]
    word = known or (name.group("name") if name else text)
    return f"{word} {major}.{minor}"


def short_flag(flag: str) -> str:
    """Return a flag without folders: of a profile it has the beginning of its digest."""
    return _PATH.sub("…", _PROFILE.sub(r"=profile \1", flag))


def joined(words: Sequence[str]) -> str:
    """Return words in a sentence: ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def legend(analysis: Analysis, controls: Collection[str] = ()) -> str:
    """Return how to read figures and verdicts; nothing if there is no figure.

    Figures of ``controls`` are corrected on their own.
    """
    effects = analysis.throughput_effects_with_parts
    summaries = analysis.throughput_summaries
    if not effects + summaries:
        return ""
    steps = sum(effect.subject not in controls for effect in effects)
    others = sum(summary.subject not in controls for summary in summaries)
    own = len(effects) + len(summaries) - steps - others
    compared = dict.fromkeys(summary.subject for summary in summaries)
    judged = sum(overall(analysis, name) is not None for name in compared if name not in controls)
    word = "summary" if judged == 1 else "summaries"
    kinds = {
        f"{count_of(steps, 'effect')} on steps": steps,
        f"{judged} {word} by which subjects are judged": judged,
        count_of(others - judged, "other"): others - judged,
        f"{count_of(own, 'figure')} of the control": own,
    }
    named = [what for what, count in kinds.items() if count]
    apart = ", each kind by itself" if len(named) > 1 else ""
    return (
        "± is half of the 95 % interval, relative to the ratio. "
        "+ faster (other metrics: better), - slower (worse), (+) and (-) likely so, but not "
        "certain among so many comparisons, ~ no difference found, ? not enough data. Verdicts "
        "are corrected (Holm) for the number of comparisons: "
        f"{joined(named)}{apart}, and those of all other metrics."
    )


def told_together(notes: Sequence[Warning]) -> tuple[str, ...]:
    """Return notes as texts. What is said of several subjects alike stands once, where it begins.

    It is alike where only the name differs, with which the text begins: ``lto was left out: …``.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for number, note in enumerate(notes):
        name, said = note.subject or "", note.text + (f" ({note.step})" if note.step else "")
        if name and said.startswith((f"{name}: ", f"{name} was ")):
            alike.setdefault((note.code, said.removeprefix(name)), []).append(name)
        else:
            alike[str(number), said] = []
    return tuple(
        joined(names) + (said.replace(" was ", " were ", 1) if said.startswith(" was ") else said)
        if len(names) > 1
        else "".join(names) + said
        for (_, said), names in alike.items()
    )
