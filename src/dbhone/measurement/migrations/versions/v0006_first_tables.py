"""The first tables.

Its revision is 0006 because stores with just these tables were made before 0.1.0, in six steps.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision: str | None = None
branch_labels: str | None = None
depends_on: str | None = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables, and the view ``results`` for people."""
    _machines()
    _runs()
    _subjects()
    _steps()
    _warnings()
    _invocations()
    _measurements()
    _series()
    _slices()
    op.execute(RESULTS)


def _machines() -> None:
    op.create_table(
        "machines",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("cpu_model", sa.Text, nullable=False),
        sa.Column("cores", sa.Integer, nullable=False),
        sa.Column("memory_bytes", sa.BigInteger, nullable=False),
        sa.Column("kernel", sa.Text, nullable=False),
        sa.Column("distribution", sa.Text, nullable=False),
        sa.Column("virtualisation", sa.Text, nullable=False),
        sa.Column("governor", sa.Text, nullable=False),
        sa.Column("details", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_machines"),
        sa.UniqueConstraint("digest", name="uq_machines_digest"),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("experiment", sa.Text, nullable=False),
        sa.Column("experiment_name", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("finished_at", _MOMENT),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("suite", sa.Text, nullable=False),
        sa.Column("size", sa.Text, nullable=False),
        sa.Column("seed", sa.BigInteger, nullable=False),
        sa.Column("target", sa.Double, nullable=False),
        sa.Column("budget_seconds", sa.Double, nullable=False),
        sa.Column("min_blocks", sa.Integer, nullable=False),
        sa.Column("max_blocks", sa.Integer, nullable=False),
        sa.Column("machine_id", sa.Integer, nullable=False),
        sa.Column("hone_version", sa.Text, nullable=False),
        sa.Column("stopped_by", sa.Text),
        sa.Column("error", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(["machine_id"], ["machines.id"], name="fk_runs_machine_id"),
    )


def _subjects() -> None:
    op.create_table(
        "subjects",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Integer, nullable=False),
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
        sa.Column("settings", sa.JSON),
        sa.Column("timings", sa.JSON),
        sa.Column("levers", sa.JSON),
        sa.Column("defaults", sa.JSON),
        sa.PrimaryKeyConstraint("id", name="pk_subjects"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_subjects_run_id"),
        sa.UniqueConstraint("run_id", "name", name="uq_subjects_run_id_name"),
    )


def _steps() -> None:
    op.create_table(
        "steps",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("set_name", sa.Text, nullable=False),
        sa.Column("step_key", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("step_group", sa.String(16), nullable=False),
        sa.Column("in_sample", sa.Boolean, nullable=False),
        sa.Column("threads", sa.Integer),
        sa.PrimaryKeyConstraint("id", name="pk_steps"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_steps_run_id"),
        sa.UniqueConstraint(
            "run_id", "set_name", "step_key", name="uq_steps_run_id_set_name_step_key"
        ),
    )


def _warnings() -> None:
    op.create_table(
        "warnings",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Integer, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_warnings"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_warnings_run_id"),
        sa.UniqueConstraint(
            "run_id", "code", "subject", "step", name="uq_warnings_run_id_code_subject_step"
        ),
    )


def _invocations() -> None:
    op.create_table(
        "invocations",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Integer, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("set_name", sa.Text, nullable=False),
        sa.Column("subject_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("started_at", _MOMENT, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("command", sa.JSON, nullable=False),
        sa.Column("failure", sa.Text),
        sa.Column("conditions", sa.JSON, nullable=False),
        sa.Column("superseded", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_invocations"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_invocations_run_id"),
        sa.ForeignKeyConstraint(["subject_id"], ["subjects.id"], name="fk_invocations_subject_id"),
    )
    op.create_index(
        "uq_invocations_that_count",
        "invocations",
        ["run_id", "block", "set_name", "subject_id"],
        unique=True,
        sqlite_where=sa.text("superseded IS 0"),
        postgresql_where=sa.text("superseded IS false"),
    )


def _measurements() -> None:
    op.create_table(
        "outputs",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("zlib", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("invocation_id", name="pk_outputs"),
        sa.ForeignKeyConstraint(
            ["invocation_id"], ["invocations.id"], name="fk_outputs_invocation_id"
        ),
    )
    op.create_table(
        "measurements",
        sa.Column("run_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("step_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("throughput", sa.Double, nullable=False),
        sa.Column("cpu_seconds", sa.Double),
        sa.Column("instructions", sa.Double),
        sa.Column("peak_memory_bytes", sa.Double),
        sa.Column("latency_p50", sa.Double),
        sa.Column("latency_p95", sa.Double),
        sa.Column("latency_p99", sa.Double),
        sa.Column("client_cpu_seconds", sa.Double),
        sa.Column("context_switches", sa.Double),
        sa.Column("bytes_read", sa.Double),
        sa.Column("bytes_written", sa.Double),
        sa.Column("errors", sa.Double),
        sa.PrimaryKeyConstraint("run_id", "invocation_id", "step_id", name="pk_measurements"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_measurements_run_id"),
        sa.ForeignKeyConstraint(
            ["invocation_id"], ["invocations.id"], name="fk_measurements_invocation_id"
        ),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name="fk_measurements_step_id"),
        sqlite_with_rowid=False,
    )


def _series() -> None:
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


def _slices() -> None:
    op.create_table(
        "slices",
        sa.Column("invocation_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("round_number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("began", sa.Double, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("operations", sa.BigInteger, nullable=False),
        sa.Column("errors", sa.BigInteger, nullable=False),
        sa.Column("counted", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("invocation_id", "round_number", name="pk_slices"),
        sa.ForeignKeyConstraint(
            ["invocation_id"], ["invocations.id"], name="fk_slices_invocation_id"
        ),
        sqlite_with_rowid=False,
    )


RESULTS = """
CREATE VIEW results AS
SELECT
    measurements.run_id,
    invocations.block,
    subjects.name AS subject,
    subjects.role,
    steps.set_name,
    steps.step_key,
    steps.step_group,
    steps.in_sample,
    steps.threads,
    measurements.throughput,
    measurements.cpu_seconds,
    measurements.instructions,
    measurements.peak_memory_bytes,
    measurements.latency_p50,
    measurements.latency_p95,
    measurements.latency_p99,
    measurements.client_cpu_seconds,
    measurements.context_switches,
    measurements.bytes_read,
    measurements.bytes_written,
    measurements.errors
FROM measurements
JOIN invocations ON invocations.id = measurements.invocation_id
JOIN subjects ON subjects.id = invocations.subject_id
JOIN steps ON steps.id = measurements.step_id
WHERE NOT invocations.superseded
"""
