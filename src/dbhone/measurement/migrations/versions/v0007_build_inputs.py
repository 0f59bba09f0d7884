"""What a user decided of a subject's build."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision: str | None = "0006"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; an older hone kept only what came of the inputs."""
    op.add_column("subjects", sa.Column("inputs", sa.JSON))
