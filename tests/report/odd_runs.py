"""Runs of which little is known, as they are left when things go wrong."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from dbhone.measurement.record import Role, Run, RunState
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.page import Page, build_page
from tests.analysis.columns import columns, only
from tests.report.sample_history import a_history, history_samples
from tests.report.sample_run import SUBJECTS, Shape, a_run, samples
from tests.report.sample_servers import Shape as ServerShape
from tests.report.sample_servers import a_server_run, a_sweep_run, server_samples


def _broken(reason: str, *names: str) -> Run:
    return a_run(
        subjects=tuple(
            replace(each, broken=reason) if each.name in names else each for each in SUBJECTS
        )
    )


def _without(of: SampleArray, *metrics: str) -> SampleArray:
    return only(of, *(name for name in of.metrics if name not in metrics))


@functools.cache
def odd_runs() -> dict[str, tuple[Run, SampleArray]]:
    """Return runs and their samples by what is odd about them."""
    whole = a_run()
    nothing = a_run(subjects=(), steps=(), state=RunState.FAILED, error="the source is gone")
    failed = a_run(state=RunState.FAILED, error="gcc: internal compiler error", stopped_by=None)
    everyone = [each.name for each in SUBJECTS]
    in_sample = replace(whole, steps=tuple(step for step in whole.steps if step.in_sample))
    untrained = replace(whole, steps=tuple(replace(step, in_sample=False) for step in whole.steps))
    single = replace(whole, steps=whole.steps[:1])
    others = [each for each in SUBJECTS if each.role is Role.CANDIDATE]

    def no_base(subject: str, step: str, block: int) -> bool:
        return subject == "rel"

    return {
        "nothing": (nothing, samples(nothing)),
        "no block": (failed, samples(failed, Shape(blocks=0))),
        "no values": (whole, only(samples(whole, Shape(blocks=0)))),
        "one block": (whole, samples(whole, Shape(blocks=1))),
        "five blocks": (whole, samples(whole, Shape(blocks=5))),
        "interrupted": (
            a_run(state=RunState.INTERRUPTED, finished_at=None, stopped_by=None),
            samples(whole, Shape(blocks=8)),
        ),
        "base broken": (_broken("it crashed", "rel"), samples(whole, Shape(missing=no_base))),
        "all broken": (
            _broken("wrong results", *everyone[1:]),
            samples(_broken("wrong results", *everyone[1:])),
        ),
        "base alone": (a_run(subjects=SUBJECTS[:1]), samples(a_run(subjects=SUBJECTS[:1]))),
        "no base": (a_run(subjects=tuple(others)), samples(a_run(subjects=tuple(others)))),
        "base not measured": (whole, samples(whole, Shape(missing=no_base))),
        "no control": (
            a_run(subjects=(SUBJECTS[0], *others)),
            samples(a_run(subjects=(SUBJECTS[0], *others))),
        ),
        "in-sample only": (in_sample, samples(in_sample)),
        "nothing trained": (untrained, samples(untrained)),
        "one step": (single, samples(single)),
        "throughput only": (
            whole,
            _without(samples(whole), "cpu_seconds", "instructions", "peak_memory_bytes"),
        ),
        "no throughput": (whole, _without(samples(whole), "throughput")),
        "huge effect": (whole, samples(whole, Shape(effects={"pgo": (40.0, 0.01)}))),
        "no noise": (whole, _quiet(samples(whole))),
        **_odd_servers(),
        **_odd_histories(),
    }


@functools.cache
def odd_page(odd: str) -> Page:
    """Return the page of a run, by what is odd about it."""
    return build_page(*odd_runs()[odd])


def _odd_servers() -> dict[str, tuple[Run, SampleArray]]:
    server, sweep = a_server_run(), a_sweep_run()
    few = replace(sweep, steps=sweep.steps[:3])
    measured = server_samples(few, ServerShape(blocks=6))
    old = replace(few, subjects=tuple(replace(s, settings={}, timings=None) for s in few.subjects))
    others = tuple(each for each in few.subjects if each.role is not Role.BASE)
    broken = replace(few, subjects=(replace(few.subjects[0], broken="it crashed"), *others))
    batch = replace(server, suite="batch:insert-select")
    return {
        "batch, no block": (batch, server_samples(batch, ServerShape(blocks=0))),
        "servers, no block": (server, server_samples(server, ServerShape(blocks=0))),
        "servers, one block": (few, server_samples(few, ServerShape(blocks=1))),
        "servers, base broken": (broken, server_samples(broken, ServerShape(blocks=6))),
        "servers, no base": (replace(few, subjects=others), measured),
        "servers, throughput only": (
            old,
            only(measured, "throughput"),
        ),
    }


def _odd_histories() -> dict[str, tuple[Run, SampleArray]]:
    history = a_history()
    pair = replace(history, subjects=tuple(s for s in history.subjects if s.name < "6"))
    gone = tuple(replace(each, broken="it crashed") for each in history.subjects[:1])
    return {
        "history, no block": (history, history_samples(history, blocks=0)),
        "history, one block": (history, history_samples(history, blocks=1)),
        "history of two": (pair, history_samples(pair)),
        "history, oldest broken": (
            replace(history, subjects=(*gone, *history.subjects[1:])),
            history_samples(replace(history, subjects=history.subjects[1:])),
        ),
    }


def _quiet(of: SampleArray) -> SampleArray:
    quiet = columns(of)
    quiet.values = {name: np.ones(len(quiet.step)) for name in quiet.values}
    return quiet.array()
