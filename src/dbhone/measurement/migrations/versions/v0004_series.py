"""What was observed of servers while they were measured."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision: str | None = "0003"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Make the table; runs of before have no series."""
    op.create_table(
        "series",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("quantity", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("seconds", sa.JSON, nullable=False),
        sa.Column("readings", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("invocation_id", "quantity", name="pk_series"),
        sa.ForeignKeyConstraint(
            ["invocation_id"], ["invocations.id"], name="fk_series_invocation_id"
        ),
        sqlite_with_rowid=False,
    )
