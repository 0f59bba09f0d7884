"""Alembic's entry: runs the migrations on the connection that ``database.py`` hands over.

The caller holds a transaction and the lock of the store; nothing is committed here.
"""

from __future__ import annotations

from alembic import context

from dbhone.measurement.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,  # SQLite alters a table by making it anew
)
context.run_migrations()
