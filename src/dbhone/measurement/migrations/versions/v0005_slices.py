"""The short slices that measurements with frozen clients were computed from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision: str | None = "0004"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Make the table; in runs of before the driver measured by itself."""
    op.create_table(
        "slices",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("round_number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("began", sa.Double, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("operations", sa.BigInteger, nullable=False),
        sa.Column("errors", sa.BigInteger, nullable=False),
        sa.Column("counted", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("invocation_id", "round_number", name="pk_slices"),
        sa.ForeignKeyConstraint(
            ["invocation_id"], ["invocations.id"], name="fk_slices_invocation_id"
        ),
        sqlite_with_rowid=False,
    )
