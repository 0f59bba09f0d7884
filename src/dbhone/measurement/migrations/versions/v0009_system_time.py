"""The part of a server's CPU time that the kernel took."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dbhone.measurement.migrations.versions.v0006_first_tables import RESULTS

revision = "0009"
down_revision: str | None = "0008"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; an older hone did not tell user and system time apart."""
    op.add_column("measurements", sa.Column("system_seconds", sa.Double))
    op.execute("DROP VIEW results")
    last = "measurements.errors"
    op.execute(RESULTS.replace(last, f"{last},\n    measurements.system_seconds"))
