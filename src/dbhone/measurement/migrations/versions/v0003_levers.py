"""What was done to a subject's server when it was started."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision: str | None = "0002"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; a subject of an older hone had no levers."""
    op.add_column("subjects", sa.Column("levers", sa.JSON))
