"""The report as plain values, for programs: what ``docs/reports.md`` documents."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from dbhone.analysis.ceiling import Ceiling, find_ceilings
from dbhone.analysis.change_points import LEAST_CHANGE
from dbhone.analysis.history import History, VersionTrend
from dbhone.analysis.levels import Level
from dbhone.analysis.sample_size import SampleSize
from dbhone.analysis.verdict import Effect, Summary, likely
from dbhone.measurement.build_facts import BuildTimings
from dbhone.measurement.metric import BY_NAME
from dbhone.measurement.record import Run, Subject
from dbhone.report.context import group_name
from dbhone.report.page import Page
from dbhone.report.published_comparison import PublishedComparison, PublishedRow
from dbhone.report.search import Search

SCHEMA = "dbhone-report/1"
EFFECT_KEYS = (
    "subject",
    "step",
    "group",
    "in_sample",
    "metric",
    "ratio",
    "low",
    "high",
    "blocks",
    "verdict",
    "likely",
    "threads",
    "value",
    "base_value",
    "findable",
    "p_adjusted",
)
_DIGITS = 7


def report(page: Page) -> dict[str, Any]:
    """Return the whole contract as plain values."""
    contract = {
        "schema": SCHEMA,
        "headline": page.headline,
        "trust": {"grade": page.trust.grade.value, "reason": page.trust.reason},
        "winner": _winner(page.winner),
        "run": _run(page.run, page.analysis.blocks),
        "joined": [origin.run.id for origin in page.origins] if len(page.origins) > 1 else [],
        "base": page.analysis.base or None,
        "history": _history(page.history) if page.history is not None else None,
        "effects": effects(page),
        "summary": [_summary(summary) for summary in page.analysis.throughput_summaries],
        "needs": _needs(page.needs),
        "levels": [_level(level) for level in page.levels],
        "ceilings": [
            _ceiling(ceiling)
            for ceiling in find_ceilings(page.levels, page.run.steps, page.run.machine.cores)
        ],
        "search": _search(page.search) if page.search is not None else None,
        "builds": [_build(subject) for subject in page.run.subjects],
        "beside": [_beside(comparison) for comparison in page.published],
        "warnings": (*page.alerts, *page.footnotes),
        "environment": page.run.machine,
    }
    plain: dict[str, Any] = _plain(contract)
    return plain


def effects(page: Page) -> list[dict[str, Any]]:
    """Return the effects of all metrics, in the order of subjects and steps."""
    threads = {step.name: step.threads for step in page.run.steps}
    levels = {(level.subject, level.step, level.metric): level.value for level in page.levels}
    base = page.analysis.base

    def row(effect: Effect) -> dict[str, Any]:
        computed = {
            "likely": likely(effect),
            "threads": threads.get(effect.step),
            "value": levels.get((effect.subject, effect.step, effect.metric)),
            "base_value": levels.get((base, effect.step, effect.metric)),
        }
        return {
            key: computed[key] if key in computed else getattr(effect, key) for key in EFFECT_KEYS
        }

    plain: list[dict[str, Any]] = _plain([row(effect) for effect in page.analysis.effects])
    return plain


def _level(level: Level) -> dict[str, Any]:
    return {
        **_named(level, "subject", "step", "metric"),
        "unit": BY_NAME[level.metric].unit,
        **_named(level, "value", "low", "high", "blocks"),
    }


def _ceiling(ceiling: Ceiling) -> dict[str, Any]:
    return {
        **_named(ceiling, "subject", "step"),
        "user_seconds": ceiling.user,
        "system_seconds": ceiling.system,
        "client_seconds": ceiling.client,
        "ratio": ceiling.ratio,
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "subject": summary.subject,
        "group": group_name(summary.group),
        **_named(summary, "in_sample", "ratio", "low", "high", "mean", "median"),
        **_named(summary, "minimum", "maximum", "standard_deviation", "steps", "blocks", "verdict"),
        "likely": likely(summary),
        **_named(summary, "findable", "p_adjusted"),
    }


def _needs(sample_size: SampleSize) -> dict[str, Any]:
    return {
        "verdict_blocks": sample_size.verdict_blocks,
        "verdict_seconds": sample_size.seconds(sample_size.verdict_blocks),
        "target_blocks": sample_size.target_blocks,
        "target_seconds": sample_size.seconds(sample_size.target_blocks),
        "block_seconds": sample_size.block_seconds,
    }


def _history(history: History) -> dict[str, Any]:
    return {
        "versions": history.versions,
        "least_change": LEAST_CHANGE,
        "steps": [_trend(step) for step in history.steps],
        "groups": [_trend(group) for group in history.groups],
    }


def _trend(trend: VersionTrend) -> dict[str, Any]:
    return {
        "step": trend.step,
        "group": group_name(trend.group),
        "in_sample": trend.in_sample,
        **_named(trend, "versions", "segments", "changes"),
        "gradual": trend.overall,
        "seemingly": trend.likely_cause,
        "findable": trend.findable,
    }


def _search(search: Search) -> dict[str, Any]:
    return {
        "stages": search.stages,
        "candidates": search.tried,
    }


def _beside(comparison: PublishedComparison) -> dict[str, Any]:
    return {
        "name": comparison.publication.name,
        "source": comparison.publication.source,
        "theirs": [comparison.pair.theirs, comparison.publication.base],
        "here": [comparison.pair.mine.name, comparison.base.name],
        "unmatched": comparison.unmatched,
        "alone": comparison.alone,
        "rows": [_beside_row(row) for row in comparison.rows],
    }


def _beside_row(row: PublishedRow) -> dict[str, Any]:
    figures = _named(row, "published", "ratio", "low", "high", "lies")
    return _named(row, "what", "metric", "threads", "in_sample") | figures


def _build(subject: Subject) -> dict[str, Any]:
    return {
        "subject": subject.name,
        "role": subject.role.value,
        "digest": subject.build_digest,
        "path": subject.build_path,
        **_named(subject, "variant", "compiler", "flags"),
        "seconds": subject.build_seconds,
        **_named(subject, "binary_bytes", "trained_on", "training_seconds", "profile_coverage"),
        **_named(subject, "broken", "dbms", "version", "source", "source_digest"),
        **_named(subject, "settings", "defaults", "levers", "inputs"),
        "timings": _timings(subject.timings),
        **_named(subject, "layout", "running"),
    }


def _timings(timings: BuildTimings | None) -> dict[str, Any] | None:
    if timings is None:
        return None
    return {
        **_named(timings, "seconds", "cpu_seconds", "instrumented_seconds", "jobs"),
        "targets": timings.files,
        "phases": timings.phases,
        "slowest": [{"target": file, "seconds": seconds} for file, seconds in timings.slowest],
        "build_targets": [
            {
                **_named(target, "name", "cpu_seconds", "files"),
                "share": timings.share(target),
            }
            for target in timings.build_targets
        ],
    }


def _winner(subject: Subject | None) -> dict[str, Any] | None:
    if subject is None:
        return None
    return {
        "subject": subject.name,
        "digest": subject.build_digest,
        "path": subject.build_path,
        **_named(subject, "levers", "inputs"),
    }


def _run(run: Run, blocks: int) -> dict[str, Any]:
    return {
        "id": run.id,
        "title": run.title,
        "experiment": run.experiment_name,
        "experiment_text": run.experiment,
        "state": run.state.value,
        "created_at": run.created_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        **_named(run, "seconds", "suite", "size"),
        "blocks": blocks,
        **_named(run, "stopped_by", "error", "hone_version"),
        "design": run.design,
    }


def _named(record: object, *names: str) -> dict[str, Any]:
    """Return a record's attributes under their own names."""
    return {name: getattr(record, name) for name in names}


def _plain(value: Any) -> Any:
    """Return what JSON has for a value: a number to seven digits, no measurement here knows more.

    A record becomes its fields by name.
    """
    match value:
        case float():
            return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    return value
