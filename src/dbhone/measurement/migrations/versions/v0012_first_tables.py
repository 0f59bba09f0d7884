"""The tables of hone 0.1.0, from which later migrations lead on.

Stores of earlier revisions were made before 0.1.0; no migration leads from them.
"""

from __future__ import annotations

revision = "0012"
down_revision: str | None = None
branch_labels: str | None = None
depends_on: str | None = None


def upgrade() -> None:
    """Do nothing: ``tables.py`` makes the tables of a new store, of whatever revision they are."""
