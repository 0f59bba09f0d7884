"""What a subject's running server said of its settings, and its limit of open files."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision: str | None = "0011"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; an older hone kept of it only a warning."""
    op.add_column("subjects", sa.Column("running", sa.JSON))
