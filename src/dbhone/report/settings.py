"""The servers' settings: in which the subjects differ, which they share, and which nobody set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dbhone.measurement.record import Subject
from dbhone.report.context import ReportContext, label
from dbhone.report.table import Cell, Column, Row, Table

_ABSENT = "–"
_EMPTY = "(none)"
_LONG = 40


def settings_table(of: ReportContext) -> Table | None:
    """Return the settings in which subjects differ, None if they all have the same."""
    subjects = [each for each in of.subjects if each.settings]
    names = dict.fromkeys(name for each in subjects for name in each.settings)
    return _differing(
        subjects,
        names,
        lambda each: each.settings,
        title="Settings that differ",
        caption="The settings in which the subjects' servers differ; – where one does not set it.",
    )


def defaults_table(of: ReportContext) -> Table | None:
    """Return what nobody set and the servers take otherwise, None if nothing is known of that.

    What a version does not have at all has no default to compare: it belongs to the version.
    """
    subjects = [each for each in of.subjects if each.defaults]
    if not subjects:
        return None
    common = set[str].intersection(*({*each.defaults} for each in subjects))
    return _differing(
        subjects,
        common,
        lambda each: each.defaults,
        title="Defaults that differ",
        caption="What nobody set, and the subjects' servers take otherwise by themselves, as they"
        " say before they start: part of what is compared. Some are reckoned anew at the start.",
    )


def _differing(
    subjects: list[Subject],
    names: Iterable[str],
    values: Callable[[Subject], Mapping[str, str]],
    *,
    title: str,
    caption: str,
) -> Table | None:
    """Return the values of those names that not all subjects have alike, None if there are none."""
    found = {name: [values(each).get(name, _ABSENT) for each in subjects] for name in names}
    differing = {name: _apart(cells) for name, cells in sorted(found.items()) if len({*cells}) > 1}
    if not differing:
        return None
    return Table(
        title=title,
        caption=caption,
        columns=(
            Column(title="Setting", numeric=False),
            *(Column(title=label(each), numeric=False) for each in subjects),
        ),
        rows=tuple(
            Row(cells=(Cell(text=name), *(Cell(text=value or _EMPTY) for value in cells)))
            for name, cells in differing.items()
        ),
    )


def _apart(values: list[str]) -> list[str]:
    """Return long lists without what they have in common, other values as they are."""
    if max(len(each) for each in values) <= _LONG or not any("," in each for each in values):
        return values
    lists = [each.split(",") for each in values]
    common = set[str].intersection(*({*each} for each in lists))
    return [",".join(("…", *(word for word in each if word not in common))) for each in lists]


def shared_settings(of: ReportContext) -> tuple[tuple[str, str], ...]:
    """Return the settings that all subjects with settings have alike, by name."""
    subjects = [each.settings for each in of.subjects if each.settings]
    if not subjects:
        return ()
    first, *others = subjects
    return tuple(
        (name, value)
        for name, value in sorted(first.items())
        if all(each.get(name) == value for each in others)
    )
