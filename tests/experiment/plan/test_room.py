"""Whether memory and disk are enough is told before anything is built."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dbhone.dbms.base import load_dbms
from dbhone.errors import MachineError
from dbhone.experiment.declaration.load import load_shipped, parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.plan import room
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.planning import make_plan
from dbhone.experiment.plan.room import check_caches, check_disk, check_open_files, check_room
from dbhone.home import Home
from dbhone.session import Session
from tests.experiment.experiment_files import GOOD_SERVERS
from tests.experiment.planned import Known

GIB = 1024**3


def declared(design: str = "") -> Experiment:
    return parse(f"{GOOD_SERVERS}\n[design]\n{design}\n", name="x.toml")


def test_servers_that_do_not_fit_together_are_refused_unless_one_is_up_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = SimpleNamespace(available=3 * GIB, total=64 * GIB)
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
    with pytest.raises(MachineError, match="4 servers with a cache of") as caught:
        check_caches(declared())
    assert 'servers = "one"' in (caught.value.hint or "")
    check_caches(declared('servers = "one"'))


@pytest.mark.parametrize(
    ("said", "advised"),
    [
        ('shared_buffers = "1GB"', 'shared_buffers, such as "50% of memory", in the settings'),
        ("jit = true", "[workload] cache"),
    ],
)
def test_a_smaller_cache_is_advised_where_it_has_an_effect(
    said: str, advised: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = SimpleNamespace(available=1, total=64 * GIB)
    monkeypatch.setattr("psutil.virtual_memory", lambda: memory)
    text = GOOD_SERVERS.replace('shared_buffers = "1GB"', said)
    with pytest.raises(MachineError) as caught:
        check_caches(parse(text, name="x.toml"))
    assert f"a smaller cache: {advised}, or" in (caught.value.hint or "")


def test_settings_that_need_more_open_files_than_may_be_are_refused_by_the_subject(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbhone.instance.open_files.most_open_files", lambda: 4096)
    check_open_files(declared())
    wanted = GOOD_SERVERS.replace('work_mem = "64MB"', "max_files_per_process = 5000")
    with pytest.raises(MachineError, match="the server of big needs 5,064 open files"):
        check_open_files(parse(wanted, name="x.toml"))


def test_a_named_config_that_needs_more_open_files_is_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dbhone.instance.open_files.most_open_files", lambda: 4096)
    check_open_files(load_shipped("hiroi10"))


def test_an_embedded_system_asks_for_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=0, total=0))
    check_caches(load_shipped("try"))


def test_a_full_disk_is_told_before_anything_is_compiled(
    monkeypatch: pytest.MonkeyPatch, session: Session
) -> None:
    experiment = declared()
    plan = make_plan(experiment, BuildEstimator(session.home))
    usage = SimpleNamespace(free=64 * GIB)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    check_room(experiment, plan, session.home)
    usage.free = GIB // 2
    with pytest.raises(MachineError, match="the builds and data of 4 subjects need about") as error:
        check_room(experiment, plan, session.home)
    assert "hone clean" in (error.value.hint or "")


def disk_asked_for(
    experiment: Experiment, home: Home, monkeypatch: pytest.MonkeyPatch, *, built: bool
) -> int:
    """Return how many bytes an experiment is said to take, with its builds here already or not."""
    asked: list[int] = []
    kept = {subject.inputs.variant.name: 9 for subject in experiment.subjects} if built else {}
    monkeypatch.setattr(room, "check_disk", lambda needed, *_: asked.append(needed))
    monkeypatch.setattr(room, "check_caches", lambda _: None)
    check_room(experiment, make_plan(experiment, Known(kept=kept)), home)
    return asked[0]


def test_each_layout_of_a_build_takes_its_code_at_least(
    monkeypatch: pytest.MonkeyPatch, session: Session
) -> None:
    usual, in_layouts = (
        disk_asked_for(declared(design), session.home, monkeypatch, built=False)
        for design in ("", "layouts = 6")
    )
    text_bytes = load_dbms("postgresql").text_bytes
    # The base's build has those of the control and of the subject with other settings, too.
    assert in_layouts - usual == (3 * 6 + 6) * text_bytes


def test_a_home_that_is_not_there_yet_has_its_parents_room(session: Session) -> None:
    check_disk(1, "x", Home(session.home.root / "a" / "b"))
