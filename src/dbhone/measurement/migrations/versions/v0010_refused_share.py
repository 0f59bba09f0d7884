"""Of refused transactions their share, in place of their number."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from dbhone.measurement.migrations.versions.v0006_first_tables import RESULTS

revision = "0010"
down_revision: str | None = "0009"
branch_labels: str | None = None
depends_on: str | None = None

_SHARES = """
UPDATE measurements SET refused_share = CASE WHEN errors = 0 THEN 0.0 ELSE (
    SELECT SUM(slices.errors) * 1.0 / SUM(slices.errors + slices.operations)
    FROM slices
    JOIN steps ON steps.id = measurements.step_id AND steps.step_key = ''
    WHERE slices.invocation_id = measurements.invocation_id
    AND slices.counted AND slices.errors + slices.operations > 0
) END
WHERE errors IS NOT NULL
"""


def upgrade() -> None:
    """Put the share in the number's place, where slices tell of how many it was."""
    op.execute("DROP VIEW results")
    op.add_column("measurements", sa.Column("refused_share", sa.Double))
    op.execute(_SHARES)
    op.drop_column("measurements", "errors")
    shares = "measurements.refused_share,\n    measurements.system_seconds"
    op.execute(RESULTS.replace("measurements.errors", shares))
