"""The servers' settings: where subjects differ, what they share, and what no subject sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dbhone.measurement.record import Subject
from dbhone.report.context import ReportContext, label
from dbhone.report.table import Table, text_columns, text_row

_ABSENT = "–"
_EMPTY = "(none)"
_LONG = 40
_OPEN_FILES = "(limit of open files)"


def settings_table(context: ReportContext) -> Table | None:
    """Return the settings in which subjects differ, None if they all have the same."""
    subjects = [subject for subject in context.subjects if subject.settings]
    names = dict.fromkeys(name for subject in subjects for name in _settings(subject))
    return _differing(
        subjects,
        names,
        _settings,
        title="Settings that differ",
        caption="The settings in which the subjects' servers differ; – where one does not set it.",
    )


def defaults_table(context: ReportContext) -> Table | None:
    """Return the defaults that differ between the servers, None if nothing is known of them.

    A setting that a version lacks has no default to compare.
    """
    subjects = [subject for subject in context.subjects if subject.defaults]
    if not subjects:
        return None
    common = set[str].intersection(*({*subject.defaults} for subject in subjects))
    return _differing(
        subjects,
        common,
        lambda subject: subject.defaults,
        title="Defaults that differ",
        caption="Settings that no subject sets and whose defaults differ, as servers report them"
        " before they start: part of what is compared. Some are computed again at the start.",
        folded=True,
    )


def _settings(subject: Subject) -> dict[str, str]:
    """Return the settings of a server, and how many files its process could have open."""
    limit = subject.running.open_files if subject.running else None
    return subject.settings | ({} if limit is None else {_OPEN_FILES: str(limit)})


def _differing(
    subjects: list[Subject],
    names: Iterable[str],
    values: Callable[[Subject], Mapping[str, str]],
    *,
    title: str,
    caption: str,
    folded: bool = False,
) -> Table | None:
    """Return the values of the names in which subjects differ, None if there are none."""
    values_by_name = {
        name: [values(subject).get(name, _ABSENT) for subject in subjects] for name in names
    }
    differing = {
        name: _apart(cells) for name, cells in sorted(values_by_name.items()) if len({*cells}) > 1
    }
    if not differing:
        return None
    return Table(
        title=title,
        caption=caption,
        columns=text_columns(("Setting", *map(label, subjects))),
        rows=tuple(
            text_row(name, *(value or _EMPTY for value in cells))
            for name, cells in differing.items()
        ),
        folded=folded,
    )


def _apart(values: list[str]) -> list[str]:
    """Return long lists without their common words; values without common words as they are."""
    if max(len(value) for value in values) <= _LONG or not any("," in value for value in values):
        return values
    lists = [value.split(",") for value in values]
    common = set[str].intersection(*({*words} for words in lists))
    if not common:
        return values
    return [",".join(("…", *(word for word in words if word not in common))) for words in lists]


def shared_settings(context: ReportContext) -> tuple[tuple[str, str], ...]:
    """Return the settings that all subjects with settings have alike, by name."""
    subjects = [_settings(subject) for subject in context.subjects if subject.settings]
    if not subjects:
        return ()
    first, *others = subjects
    return tuple(
        (name, value)
        for name, value in sorted(first.items())
        if all(other.get(name) == value for other in others)
    )
