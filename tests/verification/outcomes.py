"""What a list of tests found, as it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from dbhone.verification.outcome import Evidence, ListResult, Status, TestResult

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def results(
    statuses: Mapping[str, Status], wrong: str = "", answers: Mapping[str, str] | None = None
) -> ListResult:
    """Return results; ``wrong`` is what failed tests found instead of what they expected."""
    tests = tuple(
        TestResult(
            name=name,
            status=status,
            difference=wrong if status is Status.FAILED else "",
            answer=(answers or {}).get(name, ""),
        )
        for name, status in statuses.items()
    )
    return ListResult(
        check="check",
        list="list",
        build="build",
        evidence=Evidence.BYTES,
        tests=tests,
        seconds=1.0,
        finished_at=NOW,
    )
