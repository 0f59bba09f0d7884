"""The report as plain values, for programs: what ``docs/reports.md`` documents."""

from __future__ import annotations

import math
from typing import Any

from dbhone.analysis.history import Change, History, Segment, Series
from dbhone.analysis.levels import Level
from dbhone.analysis.sample_size import SampleSize
from dbhone.analysis.verdict import Summary
from dbhone.measurement.metric import BY_NAME
from dbhone.measurement.record import BuildTimings, Run, Subject, Warning
from dbhone.report.page import Page
from dbhone.report.published_comparison import Beside, BesideRow

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
    "threads",
    "value",
    "base_value",
    "findable",
)
_DIGITS = 7


def report(page: Page) -> dict[str, Any]:
    """Return the whole contract as plain values."""
    return {
        "schema": SCHEMA,
        "headline": page.headline,
        "winner": _winner(page.winner),
        "run": _run(page.run, page.analysis.blocks),
        "joined": [each.run.id for each in page.origins] if len(page.origins) > 1 else [],
        "base": page.analysis.base or None,
        "history": _history(page.history.found) if page.history is not None else None,
        "effects": effects(page),
        "summary": [_summary(each) for each in page.analysis.throughput_summaries],
        "needs": _needs(page.needs),
        "levels": [_level(each) for each in page.levels],
        "builds": [_build(each) for each in page.run.subjects],
        "beside": [_beside(each) for each in page.beside],
        "warnings": [_warning(each) for each in (*page.alerts, *page.footnotes)],
        "environment": _environment(page.run),
    }


def effects(page: Page) -> list[dict[str, Any]]:
    """Return the effects of all metrics, in the order of subjects and steps."""
    threads = {step.name: step.threads for step in page.run.steps}
    levels = {(each.subject, each.step, each.metric): each.value for each in page.levels}
    base = page.analysis.base
    return [
        {
            "subject": each.subject,
            "step": each.step,
            "group": each.group.value,
            "in_sample": each.in_sample,
            "metric": each.metric,
            "ratio": _number(each.ratio),
            "low": _number(each.low),
            "high": _number(each.high),
            "blocks": each.blocks,
            "verdict": each.verdict,
            "threads": threads.get(each.step),
            "value": _number(levels.get((each.subject, each.step, each.metric))),
            "base_value": _number(levels.get((base, each.step, each.metric))),
            "findable": _number(each.findable),
        }
        for each in page.analysis.effects
    ]


def _level(each: Level) -> dict[str, Any]:
    return {
        "subject": each.subject,
        "step": each.step,
        "metric": each.metric,
        "unit": BY_NAME[each.metric].unit,
        "value": _number(each.value),
        "low": _number(each.low),
        "high": _number(each.high),
        "blocks": each.blocks,
    }


def _summary(each: Summary) -> dict[str, Any]:
    return {
        "subject": each.subject,
        "group": each.group.value if each.group is not None else "all",
        "in_sample": each.in_sample,
        "ratio": _number(each.ratio),
        "low": _number(each.low),
        "high": _number(each.high),
        "mean": _number(each.mean),
        "median": _number(each.median),
        "minimum": _number(each.minimum),
        "maximum": _number(each.maximum),
        "standard_deviation": _number(each.standard_deviation),
        "steps": each.steps,
        "blocks": each.blocks,
        "verdict": each.verdict,
        "findable": _number(each.findable),
    }


def _needs(found: SampleSize) -> dict[str, Any]:
    return {
        "verdict_blocks": found.verdict_blocks,
        "verdict_seconds": _number(found.seconds(found.verdict_blocks)),
        "target_blocks": found.target_blocks,
        "target_seconds": _number(found.seconds(found.target_blocks)),
        "block_seconds": _number(found.block_seconds),
    }


def _history(found: History) -> dict[str, Any]:
    return {
        "versions": list(found.versions),
        "least_change": found.least,
        "steps": [_series(each) for each in found.steps],
        "groups": [_series(each) for each in found.groups],
    }


def _series(each: Series) -> dict[str, Any]:
    group = each.group.value if each.group is not None else "all"
    return {
        "step": each.step,
        "group": group,
        "in_sample": each.in_sample,
        "versions": list(each.versions),
        "segments": [_segment(it) for it in each.segments],
        "changes": [_change(it) for it in each.changes],
        "gradual": _change(each.overall) if each.overall is not None else None,
        "seemingly": each.seemingly,
        "findable": _number(each.findable),
    }


def _segment(each: Segment) -> dict[str, Any]:
    return {
        "versions": list(each.versions),
        "ratio": _number(each.ratio),
        "low": _number(each.low),
        "high": _number(each.high),
    }


def _change(each: Change) -> dict[str, Any]:
    return {
        "before": each.before,
        "after": each.after,
        "ratio": _number(each.ratio),
        "low": _number(each.low),
        "high": _number(each.high),
        "p_adjusted": _number(each.p_adjusted),
        "level": _segment(each.level),
    }


def _beside(of: Beside) -> dict[str, Any]:
    return {
        "name": of.name,
        "source": of.publication.source,
        "theirs": [of.pair.theirs, of.publication.base],
        "here": [of.pair.mine.name, of.base],
        "unmatched": of.unmatched,
        "alone": of.alone,
        "rows": [_beside_row(each) for each in of.rows],
    }


def _beside_row(each: BesideRow) -> dict[str, Any]:
    return {
        "what": each.what,
        "metric": each.metric,
        "threads": each.threads,
        "in_sample": each.in_sample,
        "published": _number(each.published),
        "ratio": _number(each.ratio),
        "low": _number(each.low),
        "high": _number(each.high),
        "lies": each.lies,
    }


def _build(subject: Subject) -> dict[str, Any]:
    return {
        "subject": subject.name,
        "role": subject.role.value,
        "digest": subject.build_digest,
        "path": subject.build_path,
        "variant": subject.variant,
        "compiler": subject.compiler,
        "flags": list(subject.flags),
        "seconds": _number(subject.build_seconds),
        "binary_bytes": subject.binary_bytes,
        "trained_on": list(subject.trained_on),
        "training_seconds": _number(subject.training_seconds),
        "profile_coverage": _number(subject.profile_coverage),
        "broken": subject.broken,
        "dbms": subject.dbms,
        "version": subject.version,
        "source": subject.source,
        "source_digest": subject.source_digest,
        "settings": dict(subject.settings),
        "levers": list(subject.levers),
        "inputs": dict(subject.inputs),
        "timings": _timings(subject.timings),
    }


def _timings(timings: BuildTimings | None) -> dict[str, Any] | None:
    if timings is None:
        return None
    return {
        "seconds": _number(timings.seconds),
        "cpu_seconds": _number(timings.cpu_seconds),
        "instrumented_seconds": _number(timings.instrumented_seconds),
        "jobs": timings.jobs,
        "targets": timings.targets,
        "phases": {name: _number(each) for name, each in timings.phases.items()},
        "slowest": [
            {"target": target, "seconds": _number(seconds)} for target, seconds in timings.slowest
        ],
    }


def _winner(subject: Subject | None) -> dict[str, Any] | None:
    if subject is None:
        return None
    return {
        "subject": subject.name,
        "digest": subject.build_digest,
        "path": subject.build_path,
        "levers": list(subject.levers),
        "inputs": dict(subject.inputs),
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
        "seconds": _number(run.seconds),
        "suite": run.suite,
        "size": run.size,
        "blocks": blocks,
        "stopped_by": run.stopped_by,
        "error": run.error,
        "hone_version": run.hone_version,
        "design": {
            "seed": run.design.seed,
            "target": run.design.target,
            "budget_seconds": run.design.budget_seconds,
            "min_blocks": run.design.min_blocks,
            "max_blocks": run.design.max_blocks,
        },
    }


def _environment(run: Run) -> dict[str, Any]:
    machine = run.machine
    return {
        "fingerprint": machine.fingerprint,
        "cpu_model": machine.cpu_model,
        "cores": machine.cores,
        "memory_bytes": machine.memory_bytes,
        "kernel": machine.kernel,
        "distribution": machine.distribution,
        "virtualisation": machine.virtualisation,
        "governor": machine.governor,
        "details": dict(machine.details),
    }


def _warning(each: Warning) -> dict[str, Any]:
    return {
        "code": each.code,
        "text": each.text,
        "subject": each.subject,
        "step": each.step,
    }


def _number(value: float | None) -> float | None:
    """Return a number that JSON has, to seven digits: no measurement here knows more."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")
