"""The servers' settings: in which the subjects differ, and which they share."""

from __future__ import annotations

from dbhone.report.material import Material, label
from dbhone.report.table import Cell, Column, Row, Table

_ABSENT = "–"


def settings_table(of: Material) -> Table | None:
    """Return the settings in which subjects differ, None if they all have the same."""
    subjects = [each for each in of.subjects if each.settings]
    names = dict.fromkeys(name for each in subjects for name in each.settings)
    differing = [name for name in names if len({each.settings.get(name) for each in subjects}) > 1]
    if not differing:
        return None
    return Table(
        title="Settings that differ",
        caption="The settings in which the subjects' servers differ; – where one does not set it.",
        columns=(
            Column(title="Setting", numeric=False),
            *(Column(title=label(each), numeric=False) for each in subjects),
        ),
        rows=tuple(
            Row(
                cells=(
                    Cell(text=name),
                    *(Cell(text=each.settings.get(name, _ABSENT)) for each in subjects),
                )
            )
            for name in sorted(differing)
        ),
    )


def shared_settings(of: Material) -> tuple[tuple[str, str], ...]:
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
