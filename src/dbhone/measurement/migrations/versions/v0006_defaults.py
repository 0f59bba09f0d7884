"""What a subject's server takes by itself for what nobody set."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision: str | None = "0005"
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Add the column; an older hone did not keep them."""
    op.add_column("subjects", sa.Column("defaults", sa.JSON))
