"""How far a run is that a later session plans again."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.execution.earlier_sessions import EarlierSessions, progress_of
from dbhone.experiment.target.target import ServerState, Target
from dbhone.measurement.record import Role
from dbhone.measurement.store import Store
from tests.experiment.experiment_files import GOOD_SERVERS
from tests.measurement.store_records import MOMENT, begin, invocation, subject


def test_a_block_counts_once_all_sound_subjects_have_measured_it(store: Store) -> None:
    number = begin(store)
    for block, name in [(0, "rel"), (0, "pgo"), (1, "rel"), (1, "pgo"), (2, "rel")]:
        began = MOMENT + timedelta(seconds=4 * block)
        store.record(number, replace(invocation(block, name), started_at=began))
    store.update_run(number, seconds_added=60.0)
    progress = progress_of(store.run(number), store)
    assert (progress.seconds, progress.blocks, progress.block_seconds) == (60.0, 2, 4.0)
    store.set_subject(number, 1, subject("pgo", broken="it crashed"))
    broken = progress_of(store.run(number), store)
    assert (broken.blocks, broken.broken) == (3, {"pgo": "it crashed"})


@pytest.mark.parametrize(
    ("measured", "later", "refused"), [(True, 1.0, True), (True, -1.0, False), (False, 1.0, False)]
)
def test_a_dump_that_was_written_since_the_run_began_is_refused_once_something_is_measured(
    store: Store, tmp_path: Path, measured: bool, later: float, refused: bool
) -> None:
    run = store.run(begin(store))
    dump = tmp_path / "shop.dump"
    dump.touch()
    written = run.created_at.timestamp() + later
    os.utime(dump, (written, written))
    earlier = EarlierSessions(run, {}, frozenset({"rel"} if measured else ()))
    said = pytest.raises(UsageError, match=f"shop.dump was written after run {run.id} began")
    with said if refused else contextlib.nullcontext():
        earlier.check_files([dump, tmp_path / "gone.dump"])


SHARES = """shared_buffers = "50% of memory", work_mem = "4MB" """


@pytest.mark.parametrize(
    ("now", "refused"),
    [
        ({"shared_buffers": "2088960kB"}, None),
        ({"shared_buffers": "1044480kB"}, "shared_buffers"),
        ({"work_mem": "4095kB"}, "work_mem"),
    ],
)
def test_a_share_of_the_memory_may_be_a_little_another_size_after_a_reboot(
    store: Store, now: dict[str, str], refused: str | None
) -> None:
    before = {"shared_buffers": "2097152kB", "work_mem": "4MB"}
    number = begin(store)
    store.set_subject(number, 0, replace(subject("rel", Role.BASE), settings=before))
    text = GOOD_SERVERS.replace('shared_buffers = "1GB", work_mem = "4MB"', SHARES)
    subjects = {each.name: each for each in parse(text, name="x.toml").subjects}
    state = ServerState(settings=before | now)
    target = cast("Target", SimpleNamespace(state=lambda _: state))
    earlier = EarlierSessions(store.run(number), subjects, frozenset({"rel"}))
    said = pytest.raises(UsageError, match=f"settings of rel are no longer .*: {refused}$")
    with said if refused else contextlib.nullcontext():
        earlier.check_settings(["rel"], target)


def test_a_run_that_has_measured_nothing_does_not_know_how_long_a_block_takes(
    store: Store,
) -> None:
    progress = progress_of(store.run(begin(store)), store)
    assert (progress.blocks, progress.block_seconds, progress.measured) == (0, None, frozenset())
