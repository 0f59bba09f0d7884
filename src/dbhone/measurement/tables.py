"""The store's tables, as SQLAlchemy Core sees them.

A new store is made with them; ``migrations/`` makes them out of an older store's, and a test holds
the two together. No name is a reserved word, so that people can write plain SQL
(``docs/store.md``). Measurements are wide: a column for each metric.
"""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

from dbhone.measurement.metric import FIGURES, THROUGHPUT

SCHEMA = "0012"
"""The revision of ``migrations/`` that these tables are; kept here so that opening a store
that is up to date need not load Alembic."""


class UtcDateTime(sa.TypeDecorator[datetime]):
    """A moment in UTC, which has its time zone on the Python side only."""

    impl = sa.DateTime
    cache_ok = True

    def process_bind_param(
        self,
        value: datetime | None,
        dialect: sa.Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        """Refuse a moment without a time zone: it would be ambiguous."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(
        self,
        value: datetime | None,
        dialect: sa.Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        """Give the moment its time zone back."""
        return None if value is None else value.replace(tzinfo=UTC)


METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

MACHINES = sa.Table(
    "machines",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("cpu_model", sa.Text, nullable=False),
    sa.Column("cores", sa.Integer, nullable=False),
    sa.Column("memory_bytes", sa.BigInteger, nullable=False),
    sa.Column("kernel", sa.Text, nullable=False),
    sa.Column("distribution", sa.Text, nullable=False),
    sa.Column("virtualisation", sa.Text, nullable=False),
    sa.Column("governor", sa.Text, nullable=False),
    sa.Column("details", sa.JSON, nullable=False),
)

RUNS = sa.Table(
    "runs",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("experiment", sa.Text, nullable=False),
    sa.Column("experiment_name", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("session", sa.Text, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("finished_at", UtcDateTime),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("waited_seconds", sa.Double, nullable=False, server_default="0"),
    sa.Column("suite", sa.Text, nullable=False),
    sa.Column("size", sa.Text, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("target", sa.Double, nullable=False),
    sa.Column("budget_seconds", sa.Double, nullable=False),
    sa.Column("min_blocks", sa.Integer, nullable=False),
    sa.Column("max_blocks", sa.Integer, nullable=False),
    sa.Column("machine_id", sa.ForeignKey("machines.id"), nullable=False),
    sa.Column("hone_version", sa.Text, nullable=False),
    sa.Column("stopped_by", sa.Text),
    sa.Column("error", sa.Text),
)

SUBJECTS = sa.Table(
    "subjects",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("dbms", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("source_digest", sa.Text, nullable=False),
    sa.Column("variant", sa.Text, nullable=False),
    sa.Column("compiler", sa.Text, nullable=False),
    sa.Column("flags", sa.JSON, nullable=False),
    sa.Column("build_digest", sa.Text, nullable=False),
    sa.Column("build_path", sa.Text, nullable=False),
    sa.Column("build_seconds", sa.Double, nullable=False),
    sa.Column("binary_bytes", sa.BigInteger, nullable=False),
    sa.Column("trained_on", sa.JSON, nullable=False),
    sa.Column("training_seconds", sa.Double),
    sa.Column("profile_coverage", sa.Double),
    sa.Column("broken", sa.Text),
    sa.Column("settings", sa.JSON(none_as_null=True)),
    sa.Column("timings", sa.JSON(none_as_null=True)),
    sa.Column("levers", sa.JSON(none_as_null=True)),
    sa.Column("defaults", sa.JSON(none_as_null=True)),
    sa.Column("inputs", sa.JSON(none_as_null=True)),
    sa.Column("layout", sa.JSON(none_as_null=True)),
    sa.Column("running", sa.JSON(none_as_null=True)),
    sa.UniqueConstraint("run_id", "name"),
)

STEPS = sa.Table(
    "steps",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("set_name", sa.Text, nullable=False),
    sa.Column("step_key", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("step_group", sa.String(16), nullable=False),
    sa.Column("in_sample", sa.Boolean, nullable=False),
    sa.Column("threads", sa.Integer),
    sa.UniqueConstraint("run_id", "set_name", "step_key"),
)

# A warning about no subject or step in particular has '' there: in SQL two NULLs differ,
# and the same warning would be kept twice.
WARNINGS = sa.Table(
    "warnings",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("code", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("message", sa.Text, nullable=False),
    sa.UniqueConstraint("run_id", "code", "subject", "step"),
)

INVOCATIONS = sa.Table(
    "invocations",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("run_id", sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("block", sa.Integer, nullable=False),
    sa.Column("set_name", sa.Text, nullable=False),
    sa.Column("subject_id", sa.ForeignKey("subjects.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("started_at", UtcDateTime, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("command", sa.JSON, nullable=False),
    sa.Column("failure", sa.Text),
    sa.Column("conditions", sa.JSON, nullable=False),
    sa.Column("superseded", sa.Boolean, nullable=False),
)
COUNTS = INVOCATIONS.c.superseded.is_(False)
"""The condition that an invocation counts."""
sa.Index(
    "uq_invocations_that_count",
    INVOCATIONS.c.run_id,
    INVOCATIONS.c.block,
    INVOCATIONS.c.set_name,
    INVOCATIONS.c.subject_id,
    unique=True,
    sqlite_where=COUNTS,
)


def _of_invocation() -> sa.Column[int]:
    """Return the key of what belongs to an invocation."""
    return sa.Column(
        "invocation_id", sa.ForeignKey("invocations.id"), primary_key=True, autoincrement=False
    )


# Apart from the invocations, so that reading those does not read through what was printed.
OUTPUTS = sa.Table(
    "outputs",
    METADATA,
    _of_invocation(),
    sa.Column("zlib", sa.LargeBinary, nullable=False),
)

# The key begins with the run and there is no rowid: a run's measurements lie side by side and
# are read in one scan without a join.
MEASUREMENTS = sa.Table(
    "measurements",
    METADATA,
    sa.Column("run_id", sa.ForeignKey("runs.id"), primary_key=True, autoincrement=False),
    _of_invocation(),
    sa.Column("step_id", sa.ForeignKey("steps.id"), primary_key=True, autoincrement=False),
    *(sa.Column(metric.name, sa.Double, nullable=metric is not THROUGHPUT) for metric in FIGURES),
    sqlite_with_rowid=False,
)

# Apart from the invocations, as outputs are: what is compared does not need them.
SERIES = sa.Table(
    "series",
    METADATA,
    _of_invocation(),
    sa.Column("quantity", sa.Text, primary_key=True),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("seconds", sa.JSON, nullable=False),
    sa.Column("readings", sa.JSON, nullable=False),
    sqlite_with_rowid=False,
)

SLICES = sa.Table(
    "slices",
    METADATA,
    _of_invocation(),
    sa.Column("round_number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("began", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("operations", sa.BigInteger, nullable=False),
    sa.Column("errors", sa.BigInteger, nullable=False),
    sa.Column("counted", sa.Boolean, nullable=False),
    sqlite_with_rowid=False,
)

_RESULTS = (
    sa.select(
        MEASUREMENTS.c.run_id,
        INVOCATIONS.c.block,
        SUBJECTS.c.name.label("subject"),
        SUBJECTS.c.role,
        STEPS.c.set_name,
        STEPS.c.step_key,
        STEPS.c.step_group,
        STEPS.c.in_sample,
        STEPS.c.threads,
        *(MEASUREMENTS.c[metric.name] for metric in FIGURES),
    )
    .join(INVOCATIONS, INVOCATIONS.c.id == MEASUREMENTS.c.invocation_id)
    .join(SUBJECTS, SUBJECTS.c.id == INVOCATIONS.c.subject_id)
    .join(STEPS, STEPS.c.id == MEASUREMENTS.c.step_id)
    .where(COUNTS)
)


def make_tables(connection: sa.Connection) -> None:
    """Make the tables in an empty database, and the view ``results`` for people."""
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(sa.text(f"CREATE VIEW results AS {_RESULTS.compile(connection)}"))
