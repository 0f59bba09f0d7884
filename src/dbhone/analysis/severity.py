"""In which order warnings are read: the gravest first."""

from __future__ import annotations

from collections.abc import Iterable

from dbhone.measurement.record import Code, Warning

CONTROL_CODES = (Code.CONTROL_DIFFERS, Code.CONTROL_NOISY)
"""The warnings of the A/A control, which stand before everything else."""
_RANKS: dict[str, int] = {code: rank for rank, code in enumerate(Code)}


def by_severity(warnings: Iterable[Warning]) -> tuple[Warning, ...]:
    """Return the warnings, the gravest first; those with a code that is not known come last."""
    return tuple(sorted(warnings, key=lambda warning: _RANKS.get(warning.code, len(Code))))
