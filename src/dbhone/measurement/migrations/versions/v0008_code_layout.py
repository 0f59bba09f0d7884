"""What a post-link optimiser did to a subject's code."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision: str | None = "0007"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; an older hone had no post-link optimiser."""
    op.add_column("subjects", sa.Column("layout", sa.JSON))
