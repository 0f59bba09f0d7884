"""What `hone history --join` writes: an anchor and new versions, at the same work."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbhone.dbms.base import load_dbms
from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.declaration.join import joining_name, joining_text
from dbhone.experiment.declaration.load import experiment_of, parse
from dbhone.experiment.declaration.model import Placement, Servers, Slices
from dbhone.experiment.declaration.templates import DesignOptions
from dbhone.home import Home
from dbhone.measurement.machine import read_machine
from dbhone.measurement.record import Role, Run, Warning
from dbhone.measurement.store import Store
from dbhone.session import Session
from dbhone.source.known_versions import KnownVersion, known_versions
from tests.cli.finished_run import invoke
from tests.report.sample_history import a_version
from tests.report.sample_servers import a_server_run
from tests.serve.stored import keep

KNOWN = known_versions()
EXPERIMENT = """\
title = "Old ones"
base = "5.6.14"

[history]
order = ["5.6.14", "5.7.22"]

[sources]
"5.6.14" = "known:mysql@5.6.14"
newer = "known:mysql@5.7.22"

[subjects]
"5.6.14" = { dbms = "mysql", source = "5.6.14", settings = { sync_binlog = 0 } }
control = { like = "5.6.14" }
"5.7.22" = { like = "5.6.14", source = "newer" }

[workload]
suite = "sysbench:micro"
sets = ["scan", "insert"]
rows = 5000
seconds = "2s"

[config]
drop_unknown = true
set = { innodb_io_capacity = 5000, innodb_doublewrite = false }

[design]
budget = "20m"
"""


def a_run(**changes: object) -> Run:
    subjects = (
        a_version("5.6.14", Role.BASE),
        a_version("control", Role.CONTROL),
        a_version("5.7.22"),
    )
    run = replace(a_server_run(subjects=subjects), id=7, experiment=EXPERIMENT)
    return replace(run, **changes)  # type: ignore[arg-type]


def version(name: str) -> KnownVersion:
    return replace(KNOWN.find("mysql", "8.0.12"), name=name)


def text_of(*names: str, run: Run | None = None, dbms: str = "mysql", **chosen: Any) -> str:
    versions = tuple(version(name) for name in names)
    design = DesignOptions(budget=None, target=0.02, seed=3)
    return joining_text(run or a_run(), dbms, versions, design, **chosen)


def test_new_versions_stand_beside_the_nearest_older_one_of_the_run() -> None:
    experiment = parse(text_of("8.0.12", "8.0.33"), name="x")
    assert {each.name: each.role for each in experiment.subjects} == {
        "5.7.22": Role.BASE,
        "control": Role.CONTROL,
        "8.0.12": Role.CANDIDATE,
        "8.0.33": Role.CANDIDATE,
    }
    assert experiment.base.inputs.source == KNOWN.find("mysql", "5.7.22").source
    assert experiment.title == "MySQL 8.0.12 and 8.0.33 beside 5.7.22"


def test_the_work_and_the_settings_are_those_of_the_run() -> None:
    first = parse(EXPERIMENT, name="x")
    second = parse(text_of("8.0.12"), name="x")
    assert second.workload == first.workload
    asked = {each.name: each.settings for each in first.subjects}
    assert {each.name: each.settings for each in second.subjects} == {
        "5.7.22": asked["5.7.22"],
        "control": asked["5.7.22"],
        "8.0.12": asked["5.7.22"],
    }
    table = tomllib.loads(text_of("8.0.12"))
    assert table["workload"] == tomllib.loads(EXPERIMENT)["workload"]
    assert table["config"] == tomllib.loads(EXPERIMENT)["config"]


def test_without_a_budget_there_is_time_for_what_must_be_compiled() -> None:
    compiled = replace(version("8.0.36"), source="git:URL@mysql-8.0.36", variant=None)
    design = DesignOptions(budget=None, target=0.02, seed=3)

    def budget(*versions: KnownVersion) -> float:
        return parse(
            joining_text(a_run(), "mysql", versions, design), name="x"
        ).design.budget_seconds

    ready_made = budget(version("8.0.36"))
    assert budget(compiled) == ready_made + load_dbms("mysql").build_seconds


def test_a_version_with_a_varied_setting_cannot_be_joined() -> None:
    subjects = (a_version("5.6.14-1", Role.BASE), a_version("5.6.14-2"))
    varied = (
        EXPERIMENT.replace('order = ["5.6.14", "5.7.22"]', 'order = ["5.6.14-1", "5.6.14-2"]')
        .replace('base = "5.6.14"', 'base = "5.6.14-1"')
        .replace("settings = { sync_binlog = 0 }", "vary = { sync_binlog = [1, 2] }")
    )
    with pytest.raises(UsageError, match="a version with a varied setting"):
        text_of("8.0.12", run=a_run(subjects=subjects, experiment=varied))


def test_a_run_that_was_measured_in_layouts_cannot_be_joined() -> None:
    subjects = tuple(replace(each, inputs={"layouts": 12}) for each in a_run().subjects)
    in_layouts = a_run(subjects=subjects, experiment=f"{EXPERIMENT}layouts = 6\n")
    with pytest.raises(UsageError, match="run 7 was measured in layouts"):
        text_of("8.0.12", run=in_layouts)


def test_a_suite_of_the_users_own_is_the_one_that_the_run_recorded() -> None:
    files = {"mine.toml": 'driver = "sysbench"\n', "read.lua": "function event()\nend\n"}
    written = "".join(f"\"{name}\" = '''{text}'''\n" for name, text in files.items())
    run = a_run(experiment=f"{EXPERIMENT}\n[files]\n{written}")
    assert tomllib.loads(text_of("8.0.12", run=run))["files"] == files


def test_the_source_of_an_anchors_profile_is_taken_over_with_it() -> None:
    trained = (
        EXPERIMENT.replace("[sources]", '[sources]\nold = "git:URL@mysql-5.7.20"')
        .replace('newer = "known:mysql@5.7.22"', 'newer = "git:URL@mysql-5.7.22"')
        .replace('source = "newer"', 'source = "newer", variant = "pgo", profile_source = "old"')
    )
    sources = tomllib.loads(text_of("8.0.12", run=a_run(experiment=trained)))["sources"]
    assert sources.keys() == {"old", "newer", "8.0.12"}


def test_some_of_the_sets_will_do() -> None:
    text = text_of("8.0.12", sets=("scan",))
    assert parse(text, name="x").workload.sets == ("scan_range=100",)


def test_older_versions_become_the_base() -> None:
    experiment = parse(text_of("5.5.62"), name="x")
    assert experiment.base.name == "5.5.62"
    assert "5.6.14" in {each.name for each in experiment.subjects}


def test_another_anchor_can_be_chosen() -> None:
    experiment = parse(text_of("8.0.12", anchor="5.6.14"), name="x")
    assert experiment.base.name == "5.6.14"


def test_the_design_is_its_own() -> None:
    design = parse(text_of("8.0.12"), name="x").design
    assert (design.budget_seconds, design.seed) == (45 * 60.0, 3)


def test_what_would_keep_the_runs_apart_is_taken_over_from_its_design() -> None:
    run = a_run(experiment=f'{EXPERIMENT}awake = true\nallot = false\nslices = "fresh"\n')
    first = parse(run.experiment, name="x")
    second = parse(text_of("8.0.12", run=run), name="x")
    assert first.awake
    assert (second.awake, second.allot, second.slices) == (first.awake, first.allot, first.slices)


@pytest.mark.parametrize(
    ("chosen", "slices"),
    [("waited", Slices.FRESH), ("interleaved-steps", Slices.AUTO), ("short-slices", Slices.AUTO)],
)
def test_where_hone_chose_fresh_drivers_it_does_not_choose_again(
    chosen: str, slices: Slices
) -> None:
    run = a_run(warnings=(Warning(code=chosen, text=""),))
    assert parse(text_of("8.0.12", run=run), name="x").slices is slices


@pytest.mark.parametrize(
    ("design", "chosen", "servers"),
    [
        ("", "waited", Servers.ALL),
        ("", "one-server", Servers.ONE),
        ('servers = "auto"\n', "one-server", Servers.ONE),
        ('servers = "one"\n', "one-server", Servers.ONE),
        ('servers = "all"\n', "waited", Servers.ALL),
    ],
)
def test_as_many_servers_are_up_at_a_time_as_in_the_run(
    design: str, chosen: str, servers: Servers
) -> None:
    note = Warning(code=chosen, text="")
    run = a_run(experiment=f"{EXPERIMENT}{design}", warnings=(note,))
    assert parse(text_of("8.0.12", run=run), name="x").servers is servers


@pytest.mark.parametrize(
    ("chosen", "placement"), [("cpus-apart", Placement.AUTO), ("waited", Placement.FREE)]
)
def test_clients_have_cores_of_their_own_if_they_had_some_in_the_run(
    chosen: str, placement: Placement
) -> None:
    run = a_run(warnings=(Warning(code=chosen, text=""),))
    assert parse(text_of("8.0.12", run=run), name="x").placement is placement


@pytest.mark.parametrize(
    ("chosen", "placement"), [("cpus-apart", Placement.AUTO), ("waited", Placement.FREE)]
)
def test_a_run_goes_on_with_clients_on_the_cpus_where_they_were(
    chosen: str, placement: Placement, tmp_path: Path
) -> None:
    run = a_run(warnings=(Warning(code=chosen, text=""),))
    assert experiment_of(run, Home(tmp_path)).placement is placement
    unmeasured = replace(run, steps=())
    assert experiment_of(unmeasured, Home(tmp_path)).placement is Placement.AUTO


@pytest.mark.parametrize(
    ("names", "asked", "said"),
    [
        (("5.7.22",), {}, "run 7 has 5.7.22 already"),
        ((), {}, "no version to join run 7 is named"),
        (("8.0.12",), {"run": a_run(experiment="")}, "run 7 is not a history"),
        (("8.0.12",), {"anchor": "5.5"}, "there is no version in run 7 '5.5'"),
        (("8.0.12",), {"dbms": "mariadb"}, "run 7 is of mysql, not of mariadb"),
    ],
)
def test_what_cannot_join_is_refused(
    names: tuple[str, ...], asked: dict[str, Any], said: str
) -> None:
    with pytest.raises((UsageError, UnknownName)) as error:
        text_of(*names, **asked)
    assert said in error.value.message


def test_a_version_that_broke_is_no_anchor() -> None:
    broken = tuple(
        replace(each, broken="it crashed") if each.name == "5.7.22" else each
        for each in a_run().subjects
    )
    text = text_of("8.0.12", run=a_run(subjects=broken))
    assert parse(text, name="x").base.name == "5.6.14"


def test_an_anchor_takes_part_also_if_it_was_optional() -> None:
    optional = EXPERIMENT.replace('source = "newer" }', 'source = "newer", optional = true }')
    experiment = parse(text_of("8.0.12", run=a_run(experiment=optional)), name="x")
    assert experiment.base.name == "5.7.22"
    assert not any(each.optional for each in experiment.subjects)


@pytest.mark.parametrize(
    ("names", "optional"),
    [(("8.0.12", "8.0.33"), {"8.0.12", "8.0.33"}), (("5.5.62",), set())],
)
def test_new_versions_may_be_left_out_but_for_one_that_is_the_base(
    names: tuple[str, ...], optional: set[str]
) -> None:
    experiment = parse(text_of(*names, optional=True), name="x")
    assert {each.name for each in experiment.subjects if each.optional} == optional


@pytest.mark.parametrize("here", [True, False])
def test_a_run_of_another_machine_is_refused_before_anything_is_made(
    session: Session, here: bool
) -> None:
    machine = read_machine(session.home.root)
    with Store.open(session.home.database) as store:
        keep(store, a_run(machine=machine) if here else a_run())
        result = invoke(
            session.home,
            *("history", "mysql", "--join", "1", "--versions", "8.0.12", "--plan"),
            catch_exceptions=True,
        )
        assert len(store.runs()) == 1
    if here:
        assert result.exit_code == 0
    else:
        assert isinstance(result.exception, UsageError)
        assert "run 1 began on another machine or kernel" in result.exception.message


def test_it_stands_beside_the_file_of_the_run_if_that_was_one() -> None:
    assert joining_name(a_run(experiment_name="mysql-history"), "mysql") == "mysql-joins-7"
    beside = joining_name(a_run(experiment_name="/e/mine.toml"), "mysql")
    assert beside == "/e/mysql-joins-7.toml"
