"""What each subject is, told by what tells it from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dbhone.measurement.record import Subject
from dbhone.report.context import ReportContext, subject_row
from dbhone.report.table import Cell, Column, Table
from dbhone.report.wording import compiler

_Told = Callable[[Subject], str]


def differences_table(of: ReportContext) -> Table | None:
    """Return in what the subjects differ, None where there are not two of them.

    Settings have a table of their own. What all have alike is in the caption.
    """
    subjects = of.subjects
    if len(subjects) < 2:
        return None
    aspects = _aspects(subjects)
    said = {name: [tell(each) for each in subjects] for name, tell in aspects.items()}
    differing = [name for name, texts in said.items() if len(set(texts)) > 1]
    if not differing:
        return None
    return Table(
        title="What differs",
        caption=f"Only what tells the subjects apart.{_alike(said, _shared(subjects))}",
        columns=tuple(Column(title=each, numeric=False) for each in ("Subject", *differing)),
        rows=tuple(
            subject_row(each, (Cell(text=aspects[name](each)) for name in differing))
            for each in subjects
        ),
    )


def _aspects(subjects: tuple[Subject, ...]) -> Mapping[str, _Told]:
    shared = _shared(subjects)
    return {
        "DBMS": lambda each: f"{each.dbms} {each.version}",
        "Source": lambda each: each.source,
        "Variant": lambda each: each.variant,
        "Compiler": lambda each: compiler(each.compiler),
        "Flags": lambda each: " ".join(flag for flag in each.flags if flag not in shared),
        "Levers": lambda each: ", ".join(each.levers),
        "Trained on": lambda each: ", ".join(each.trained_on),
    }


def _shared(subjects: tuple[Subject, ...]) -> tuple[str, ...]:
    """Return the flags that all have."""
    first, *others = subjects
    return tuple(flag for flag in first.flags if all(flag in each.flags for each in others))


def _alike(said: Mapping[str, list[str]], flags: tuple[str, ...]) -> str:
    """Return what all have alike, as a sentence."""
    same = dict.fromkeys(texts[0] for texts in said.values() if len(set(texts)) == 1)
    words = [*same, " ".join(flags)]
    return f" All have alike: {', '.join(each for each in words if each)}." if any(words) else ""
