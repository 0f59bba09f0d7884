"""What is measured of a server, where a build's time went, and with which settings it ran."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision: str | None = "0001"
branch_labels: str | None = None
depends_on: str | None = None

_FIGURES = (
    "latency_p50",
    "latency_p95",
    "latency_p99",
    "client_cpu_seconds",
    "context_switches",
    "bytes_read",
    "bytes_written",
    "errors",
)


def upgrade() -> None:
    """Add the columns, and show them in the view ``results``.

    None of them has a value in what is there: adding them takes no time, however much it is.
    """
    op.execute("DROP VIEW results")
    for name in _FIGURES:
        op.add_column("measurements", sa.Column(name, sa.Double))
    op.add_column("steps", sa.Column("threads", sa.Integer))
    for name in ("settings", "timings"):
        op.add_column("subjects", sa.Column(name, sa.JSON))
    op.execute(_RESULTS)


_RESULTS = """
CREATE VIEW results AS
SELECT
    measurements.run_id,
    invocations.block,
    subjects.name AS subject,
    subjects.role,
    steps.set_name,
    steps.step_key,
    steps.step_group,
    steps.in_sample,
    steps.threads,
    measurements.throughput,
    measurements.cpu_seconds,
    measurements.instructions,
    measurements.peak_memory_bytes,
    measurements.latency_p50,
    measurements.latency_p95,
    measurements.latency_p99,
    measurements.client_cpu_seconds,
    measurements.context_switches,
    measurements.bytes_read,
    measurements.bytes_written,
    measurements.errors
FROM measurements
JOIN invocations ON invocations.id = measurements.invocation_id
JOIN subjects ON subjects.id = invocations.subject_id
JOIN steps ON steps.id = measurements.step_id
WHERE NOT invocations.superseded
"""
