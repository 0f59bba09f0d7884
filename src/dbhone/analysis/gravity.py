"""In which order warnings are read: the gravest first."""

from __future__ import annotations

from collections.abc import Iterable

from dbhone.measurement.record import (
    COLD,
    IDENTICAL,
    INTERLEAVED_STEPS,
    ONE_BY_ONE,
    ONE_SERVER,
    REJECTED,
    SHORT_SLICES,
    SLOW_OPERATIONS,
    STALLED_TRIAL,
    Warning,
)

CONTROL_DIFFERS = "control-differs"
"""The code of the warning that the base differs from itself."""
CONTROL_NOISY = "control-noisy"
"""The code of the warning that the control is known less well than the winner is better."""
CONTROL_CODES = (CONTROL_DIFFERS, CONTROL_NOISY)
"""The warnings of the A/A control, which stand before everything else."""
MANY_REFUSED = "many-refused"
"""The code of the warning that a server refused so much that ratios are of something else."""
SOME_REFUSED = "refused-transactions"
REFUSED_STATEMENTS = "refused-statements"
"""The code of the warning that says what a server refused of a captured workload, and why."""
FAILED_INVOCATIONS = "failed-invocations"
"""The code of the warning that a subject's server or driver failed in some blocks."""
COMPILERS_DIFFER = "compilers-differ"
"""The code of the warning that ready-made servers were built by different compilers."""
GRAVITY = (
    # Figures may be untrue, or are not enough for a verdict.
    *CONTROL_CODES,
    MANY_REFUSED,
    SOME_REFUSED,
    REFUSED_STATEMENTS,
    REJECTED,
    "failed-test",
    "subject-broken",
    FAILED_INVOCATIONS,
    "run-not-finished",
    "setting-not-taken",
    "not-enclosed",
    "base-drift",
    "too-few-blocks",
    "not-enough-data",
    "no-control",
    COMPILERS_DIFFER,
    "client-heavy",
    # Figures are imprecise.
    "target-not-met",
    "stopped-early",
    "steal",
    "other-load",
    "memory-pressure",
    "throttled",
    "hot",
    "hybrid-cpu",
    "stalls",
    "two-humped",
    "outliers",
    "short-steps",
    # Something was left out.
    "left-out",
    "sets-missing",
    "steps-left-out",
    "varying-answers",
    "step-unknown",
    "unusable-values",
    "not-observed",
    "counter-missing",
    # What was measured, and how.
    IDENTICAL,
    "low-coverage",
    "functions-changed",
    "units-without-profile",
    "asynchronous-commits",
    COLD,
    ONE_SERVER,
    "settings-differ",
    "setting-dropped",
    "setting-translated",
    "setting-ignored",
    "observed-settings",
    "awake",
    SLOW_OPERATIONS,
    STALLED_TRIAL,
    ONE_BY_ONE,
    "suite-note",
    "other-locale",
    "joined",
    SHORT_SLICES,
    INTERLEAVED_STEPS,
    "unsettled",
    "waited",
    "not-measured",
)
"""The codes of all warnings, the gravest first."""
_RANKS = {code: rank for rank, code in enumerate(GRAVITY)}


def by_gravity(warnings: Iterable[Warning]) -> tuple[Warning, ...]:
    """Return the warnings, the gravest first; those with a code that is not known come last."""
    return tuple(sorted(warnings, key=lambda warning: _RANKS.get(warning.code, len(GRAVITY))))
