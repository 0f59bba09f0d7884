"""How long the sessions of a run waited for other hones, added up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision: str | None = "0010"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; of older runs only a warning tells how long their last session waited."""
    waited = sa.Column("waited_seconds", sa.Double, nullable=False, server_default="0")
    op.add_column("runs", waited)
