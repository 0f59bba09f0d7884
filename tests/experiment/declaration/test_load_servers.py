"""Experiments on servers: what may be said, and what is refused before anything starts."""

from __future__ import annotations

import re

import pytest

from dbhone.errors import ExperimentError, UsageError
from dbhone.experiment.declaration.load import load_shipped, parse, shipped_names
from dbhone.experiment.declaration.model import Experiment, Servers, Slices, Training
from dbhone.experiment.declaration.named_configs import load_config
from dbhone.experiment.target.server_target import ServerTarget
from dbhone.experiment.target.target import training_tasks
from dbhone.measurement.record import Role
from dbhone.workload import suite as suites
from dbhone.workload.suite import Regime
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload
from tests.experiment.experiment_files import EMBEDDED, GOOD_SERVERS


def training_of(text: str = GOOD_SERVERS) -> Training:
    training = parse(text, name="x.toml").subject("pgo").training
    assert training is not None
    return training


def settings_of(text: str) -> dict[str, dict[str, str]]:
    return {
        each.name: {wanted.name: wanted.value for wanted in each.settings}
        for each in parse(text, name="x.toml").subjects
    }


def test_names_of_sets_may_be_short_where_one_alone_begins_so() -> None:
    assert parse(GOOD_SERVERS, name="x.toml").workload.sets == (
        "update-index_range=100",
        "read-write_range=10",
    )
    training = training_of()
    assert training.workload.chosen == ("point-query_range=100", "update-index_range=100")
    assert training.shares == (1.0, 3.0)


def test_a_server_is_trained_with_the_settings_of_the_experiment_and_not_of_a_subject() -> None:
    text = GOOD_SERVERS.replace(
        'variant = "pgo" }', 'variant = "pgo", settings = { jit = false } }'
    )
    trained = {wanted.name: wanted.value for wanted in training_of(text).settings}
    assert trained == {"shared_buffers": "1GB", "work_mem": "4MB"}
    assert settings_of(text)["pgo"].keys() == {*trained, "jit"}


def test_settings_of_a_subject_stand_before_those_of_the_experiment() -> None:
    subjects = settings_of(GOOD_SERVERS)
    assert subjects["rel"] == {"shared_buffers": "1GB", "work_mem": "4MB"}
    assert subjects["big"] == {"shared_buffers": "1GB", "work_mem": "64MB", "jit": "on"}


def test_the_same_build_with_other_settings_is_no_control() -> None:
    roles = {each.name: each.role for each in parse(GOOD_SERVERS, name="x.toml").subjects}
    assert roles["control"] is Role.CONTROL
    assert roles["big"] is Role.CANDIDATE


LEVERS = """
jemalloc = { like = "rel", levers = ["jemalloc", "cpus=1,0"] }
again = { like = "jemalloc", levers = ["cpus=0-1", "jemalloc"] }
like = { like = "jemalloc" }
plain = { like = "jemalloc", levers = [] }
"""


def with_levers(levers: str = LEVERS) -> str:
    return GOOD_SERVERS.replace("\n[training]", f"{levers}\n[training]")


def test_levers_are_canonical_inherited_and_part_of_what_a_subject_is() -> None:
    subjects = {each.name: each for each in parse(with_levers(), name="x.toml").subjects}
    assert subjects["rel"].levers == ()
    assert subjects["jemalloc"].levers == ("cpus=0-1", "jemalloc")
    assert subjects["again"].levers == subjects["like"].levers == subjects["jemalloc"].levers
    assert subjects["jemalloc"].role is Role.CANDIDATE
    assert subjects["plain"].role is Role.CONTROL


def test_what_is_declared_just_as_a_base_with_levers_is_its_control() -> None:
    text = with_levers().replace('base = "rel"', 'base = "jemalloc"')
    roles = {each.name: each.role for each in parse(text, name="x.toml").subjects}
    assert roles["again"] is roles["like"] is Role.CONTROL
    assert roles["rel"] is Role.CANDIDATE


@pytest.mark.parametrize(
    ("levers", "said"),
    [
        ('["jemaloc"]', "did you mean 'jemalloc'"),
        ('["jemalloc", "mimalloc"]', "exclude each other"),
        ('["cpus=x"]', "write it as 0-3 or 0,2"),
        ('"jemalloc"', "levers"),
        ("[1]", "levers"),
    ],
)
def test_levers_that_cannot_be_meant_are_refused(levers: str, said: str) -> None:
    text = with_levers(f'odd = {{ like = "rel", levers = {levers} }}\n')
    with pytest.raises(UsageError) as refused:
        parse(text, name="x.toml")
    assert said in f"{refused.value.message} {refused.value.hint}"
    assert "x.toml" in refused.value.message


def test_an_embedded_dbms_has_no_levers() -> None:
    with pytest.raises(UsageError, match="sqlite is not a server and has no levers"):
        parse(EMBEDDED.replace('"o3" }', '"o3", levers = ["jemalloc"] }'), name="x.toml")


def test_the_scale_is_what_is_said() -> None:
    workload = parse(GOOD_SERVERS, name="x.toml").workload
    scale = workload.scale
    assert scale.threads == (1, 4)
    assert scale.regime is Regime.OS_CACHED
    assert scale.data == {"rows": 5000}
    tasks = workload.tasks(("update-index_range=100",))
    assert [task.set for task in tasks] == ["update-index_range=100@1", "update-index_range=100@4"]
    assert {task.suite_set for task in tasks} == {"update-index_range=100"}
    assert {task.run.seconds for task in tasks if task.run} == {2.0}


def test_a_subject_runs_like_another_unless_its_settings_differ() -> None:
    experiment = parse(GOOD_SERVERS, name="x.toml")
    alike = {each.name: each.runs_like(experiment.base) for each in experiment.subjects}
    assert alike == {"rel": True, "control": True, "pgo": True, "big": False}


def test_cpus_may_sleep_and_time_is_allotted_unless_the_experiment_says_otherwise() -> None:
    usual = parse(GOOD_SERVERS, name="x.toml")
    other = parse(f"{GOOD_SERVERS}\n[design]\nawake = true\nallot = false\n", name="x.toml")
    assert (usual.awake, usual.allot) == (False, True)
    assert (other.awake, other.allot) == (True, False)


def test_slices_are_chosen_by_themselves_unless_it_is_said_how() -> None:
    assert parse(GOOD_SERVERS, name="x.toml").slices is Slices.AUTO
    assert designed("fresh").slices is Slices.FRESH
    with pytest.raises(ExperimentError, match="write one of auto, fresh, short"):
        designed("quick")


def test_short_slices_are_refused_where_that_cannot_be_done() -> None:
    warm = GOOD_SERVERS.replace("os-cached", "cached")
    assert designed("short", warm).slices is Slices.SHORT
    with pytest.raises(ExperimentError, match="only one server is up at a time"):
        designed("short", GOOD_SERVERS.replace("os-cached", "cold"))
    with pytest.raises(ExperimentError, match="only one server is up at a time"):
        designed('short"\nservers = "one', warm)


@pytest.mark.parametrize(
    ("gigabytes", "servers"), [(4, Servers.ONE), (6, Servers.ALL)], ids=["too many", "fitting"]
)
def test_one_server_is_up_at_a_time_where_the_memory_has_no_room_for_all(
    monkeypatch: pytest.MonkeyPatch, gigabytes: int, servers: Servers
) -> None:
    monkeypatch.setattr("dbhone.instance.memory.memory_for", lambda _: gigabytes * 1024**3)
    assert parse(GOOD_SERVERS, name="x.toml").servers is servers  # four caches of 1 GB
    for word in (Servers.ONE, Servers.ALL):
        asked = parse(f'{GOOD_SERVERS}\n[design]\nservers = "{word.value}"\n', name="x.toml")
        assert asked.servers is word
    cold = parse(GOOD_SERVERS.replace("os-cached", "cold"), name="x.toml")
    assert cold.servers is Servers.ALL
    assert cold.one_by_one


def test_how_many_servers_are_up_is_no_question_without_servers() -> None:
    text = load_shipped("try").text
    assert parse(text, name="x.toml").servers is Servers.ALL
    with pytest.raises(ExperimentError, match="the suite speedtest1 drives no server"):
        parse(re.sub(r"^\[design\]$", '[design]\nservers = "one"', text, flags=re.M), name="x.toml")


def designed(slices: str, text: str = GOOD_SERVERS) -> Experiment:
    return parse(f'{text}\n[design]\nslices = "{slices}"\n', name="x.toml")


def test_training_runs_each_set_for_its_share_with_one_number_of_clients() -> None:
    runs = [task.run for task in training_tasks(training_of()) if task.run]
    assert [run.seconds for run in runs] == [2.0, 6.0]
    assert {run.threads for run in runs} == {4}


ELSEWHERE = GOOD_SERVERS.replace("shares = { update-index = 3 }", 'suite = "ycsb"').replace(
    'sets = ["point-query", "update-index"]', 'sets = ["workload-a", "workload-c"]'
)


def test_what_is_trained_on_another_suite_is_held_out_everywhere() -> None:
    training = training_of(ELSEWHERE)
    assert training.trained_on == ("ycsb/workload-a", "ycsb/workload-c")
    assert parse(ELSEWHERE, name="x.toml").trained_sets == frozenset()
    (run, _) = (task.run for task in training_tasks(training))
    assert run is not None
    assert run.data == Workload(name="ycsb", scale=Scale(size="smoke")).data


def test_each_subject_may_be_trained_on_a_suite_of_its_own() -> None:
    text = GOOD_SERVERS.replace(
        'variant = "pgo" }', 'variant = "pgo", train = ["workload-a"], train_suite = "ycsb" }'
    )
    text = text.replace("\nbig =", '\nown = { like = "rel", variant = "pgo" }\nbig =')
    found = parse(text, name="x.toml")
    shares = {each.name: each.training.shares for each in found.subjects if each.training}
    assert shares == {"pgo": (), "own": (1.0, 3.0)}
    trained = {each.name: each.training.trained_on for each in found.subjects if each.training}
    assert trained == {
        "pgo": ("ycsb/workload-a",),
        "own": ("point-query_range=100", "update-index_range=100"),
    }
    assert found.trained_sets == {"point-query_range=100", "update-index_range=100"}


def test_the_suite_that_is_measured_may_be_trained_on_other_data() -> None:
    text = GOOD_SERVERS.replace("[training]", "[training]\ndata = { rows = 900 }")
    assert training_of(text).workload.scale.data == {"rows": 900}
    assert training_of(text).workload.scale.threads == (4,)
    full = training_of(text.replace("[training]", '[training]\nsize = "quick"')).workload.scale
    assert (full.data, full.regime) == ({"rows": 900}, Regime.OS_CACHED)
    assert parse(text, name="x.toml").workload.scale.data == {"rows": 5000}


def test_data_for_the_suite_that_one_subject_alone_is_trained_on_is_not_that_of_another() -> None:
    text = GOOD_SERVERS.replace("[training]", "[training]\ndata = { warehouses = 2 }")
    with pytest.raises(ExperimentError, match="sysbench:micro has no 'warehouses'"):
        parse(text, name="x.toml")
    other = (
        'other = { like = "rel", variant = "pgo", train = ["mix"], train_suite = "tpcc" }\nbig ='
    )
    found = parse(text.replace("big =", other), name="x.toml")
    trained = ((each.name, each.training) for each in found.subjects)
    data = {name: training.workload.scale.data for name, training in trained if training}
    assert data == {"pgo": {"rows": 5000}, "other": {"warehouses": 2}}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["point-query", ', '["point-quer", ', "point-query_range=100"),
        ("shares = { update-index", "shares = { insert", "insert"),
        ("[training]", '[training]\nsize = "huge"', "smoke"),
        ("[training]", '[training]\nsuite = "nothing"', "sysbench:micro"),
        ("[training]", "[training]\ndata = { rowz = 9 }", "rowz"),
    ],
)
def test_a_training_that_cannot_be_meant_is_refused_though_nobody_is_trained(
    old: str, new: str, said: str
) -> None:
    nobody = GOOD_SERVERS.replace('variant = "pgo"', 'variant = "o3"')
    assert all(each.training is None for each in parse(nobody, name="x.toml").subjects)
    assert old in nobody
    with pytest.raises(UsageError) as caught:
        parse(nobody.replace(old, new), name="x.toml")
    assert said in f"{caught.value.message} {caught.value.hint}"
    assert "training" in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"ycsb"', '"ysb"', "ycsb"),
        ('"ycsb"', '"speedtest1"', "cannot drive postgresql"),
        ('"ycsb"', '"./mine.toml"', "only where it is measured"),
        ('"ycsb"', '"./no.workload"', "no.workload"),
        ('["workload-a", "workload-c"]', '["workload-a", "z"]', "workload-b"),
        ('suite = "ycsb"', 'suite = "ycsb"\nsize = "huge"', "smoke"),
        ('suite = "ycsb"', 'suite = "ycsb"\ndata = "./shop.dump"', "dump"),
    ],
)
def test_a_training_elsewhere_that_cannot_be_meant_is_refused(
    old: str, new: str, said: str
) -> None:
    assert old in ELSEWHERE
    with pytest.raises(UsageError) as caught:
        parse(ELSEWHERE.replace(old, new), name="x.toml")
    assert said in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["update-index", ', '["updat-index", ', "update-index_range=100"),
        ('["update-index", ', '["point-query.warm", ', "point-query.warm"),
        ('["update-index", ', '["read-write", ', "read-write"),
        ('"os-cached"', '"warm"', "cached, os-cached, cold"),
        ('seconds = "2s"', 'seconds = "500ms"', "whole seconds"),
        ("[1, 4]", "[4, 4]", "twice"),
        ("[1, 4]", "[0]", "threads"),
        ("shares = { update-index", "shares = { insert", "insert"),
        ("rows = 5000", "rows = 5", "rows"),
        ("rows = 5000", "data = { rows = 1.5 }", "workload.data: write the path of a dump, or"),
        ("rows = 5000", "data = 7", "workload.data: write the path of a dump, or"),
        ('size = "smoke"', 'size = "smok"', "smoke"),
        ("[config]\nset", "[config]\nsett", "set"),
    ],
)
def test_what_cannot_be_meant_is_refused(old: str, new: str, said: str) -> None:
    assert old in GOOD_SERVERS
    with pytest.raises(UsageError) as refused:
        parse(GOOD_SERVERS.replace(old, new), name="x.toml")
    assert said in f"{refused.value.message} {refused.value.hint}"
    assert "x.toml" in refused.value.message


@pytest.mark.parametrize("said", ["threads = [4]\n", 'cache = "1G"\n'])
def test_an_embedded_dbms_has_no_clients_and_no_cache(said: str) -> None:
    with pytest.raises(UsageError):
        parse(EMBEDDED + said, name="x.toml")


BATCH = """\
title = "t"
base = "old"

[sources]
s = "dir:/s"

[subjects]
old = {{ dbms = "{dbms}", source = "s" }}
other = {{ like = "old", variant = "{variant}" }}

[training]
sets = ["{set}"]

[workload]
suite = "{suite}"
size = "smoke"
"""


@pytest.mark.parametrize("said", ["threads = [4]", "tables = 2", 'seconds = "9s"'])
def test_what_runs_to_its_end_has_no_clients_tables_and_seconds_to_choose(said: str) -> None:
    text = BATCH.format(dbms="mariadb", variant="o3", set="run-1", suite="batch:insert-select")
    assert parse(text + "rows = 5000\n", name="x.toml").workload.scale.data == {"rows": 5000}
    with pytest.raises(UsageError, match="runs one statement to its end") as refused:
        parse(f"{text}{said}\n", name="x.toml")
    assert "rows" in (refused.value.hint or "")


def test_a_suite_that_cannot_drive_a_dbms_names_those_that_can() -> None:
    text = BATCH.format(dbms="sqlite", variant="o3", set="run-1", suite="batch:insert-select")
    with pytest.raises(UsageError, match="cannot drive sqlite") as refused:
        parse(text, name="x.toml")
    assert "batch:insert-select-sqlite" in (refused.value.hint or "")


def test_nothing_is_trained_on_a_suite_whose_driver_no_instrumented_build_has() -> None:
    parts = {"dbms": "sqlite", "set": "insert-select", "suite": "batch:insert-select-sqlite"}
    assert parse(BATCH.format(variant="o3", **parts), name="x.toml")
    with pytest.raises(UsageError, match="nothing can be trained"):
        parse(BATCH.format(variant="pgo", **parts), name="x.toml")


def test_a_plan_counts_that_each_block_is_loaded_anew() -> None:
    text = BATCH.format(dbms="mariadb", variant="o3", set="run-1", suite="batch:insert-select")
    experiment = parse(text, name="x.toml")
    runs, load = 4 * (0.1 + 0.3), 2 * 0.1 + 5.0
    subjects = 3
    assert ServerTarget.block_seconds(experiment, subjects) == pytest.approx(
        subjects * (runs + 5.0 + load)
    )


@pytest.mark.parametrize("name", shipped_names())
def test_every_experiment_that_ships_can_be_read_and_has_a_control(name: str) -> None:
    roles = [each.role for each in load_shipped(name).subjects]
    assert roles[0] is Role.BASE
    assert Role.CONTROL in roles


def test_hiroi10s_settings_and_transactions_are_trained_on_and_measured() -> None:
    experiment = load_shipped("hiroi10")
    for subject in experiment.subjects:
        assert {each.name for each in subject.settings} == set(load_config("hiroi10-8.0").settings)
        if subject.training is not None:
            assert subject.training.settings == subject.settings
            assert subject.training.workload.chosen == suites.load("hiroi10").measured()


def test_a_plan_tells_how_long_a_block_takes() -> None:
    experiment = parse(GOOD_SERVERS, name="x.toml")
    tasks, warm_ups, subjects = 4, 3, 4
    settling = tasks * 4 * 0.1
    assert ServerTarget.block_seconds(experiment, subjects) == pytest.approx(
        subjects * ((tasks + warm_ups) * 2.3 + settling + 5.0)
    )
    cold = parse(GOOD_SERVERS.replace("os-cached", "cold"), name="x.toml")
    assert ServerTarget.block_seconds(cold, subjects) == pytest.approx(
        subjects * tasks * (2.3 + 5.0)
    )
    assert ServerTarget.training_seconds(training_of()) == 3 * (2.0 + 6.0 + 5.0)


def test_a_plan_counts_subjects_that_take_no_part_among_those_whose_clients_are_too_many() -> None:
    text = GOOD_SERVERS.replace("os-cached", "cached").replace("[1, 4]", "[200]")
    alone = GOOD_SERVERS.replace("os-cached", "cached").replace("[1, 4]", "[100]")
    sliced, fresh = (
        ServerTarget.block_seconds(parse(each, name="x.toml"), 2) for each in (alone, text)
    )
    assert sliced is not None
    assert fresh is not None
    assert sliced - fresh == pytest.approx(2 * 2 * 0.4), "two subjects settle on two sets"


VARIED = """\
big = { like = "rel", settings = { work_mem = "64MB", jit = true } }
more = { like = "big", vary = { jit = [true, false], work_mem = ["8MB", "9MB"] } }
"""


def test_one_line_varies_settings_and_keeps_the_others() -> None:
    text = GOOD_SERVERS.replace(VARIED.splitlines(keepends=True)[0], VARIED)
    subjects = settings_of(text)
    varied = [name for name in subjects if name.startswith("more")]
    assert varied == ["more-on-8MB", "more-on-9MB", "more-off-8MB", "more-off-9MB"]
    assert subjects["more-off-9MB"] == {"shared_buffers": "1GB", "work_mem": "9MB", "jit": "off"}
    only = text.replace("jit = [true, false], ", "")
    assert settings_of(only)["more-8MB"].keys() == {"shared_buffers", "work_mem", "jit"}


def test_one_subject_that_varies_is_enough() -> None:
    text = GOOD_SERVERS.replace('base = "rel"', 'base = "rel-8MB"')
    declared, rest = text.index("rel = {"), text.index("[training]")
    vary = 'rel = { dbms = "postgresql", source = "pg", vary = { work_mem = ["8MB", "9MB"] } }\n'
    alone = f"{text[:declared]}{vary}\n{text[rest:]}"
    assert list(settings_of(alone)) == ["rel-8MB", "rel-9MB", "control"]
    with pytest.raises(ExperimentError, match="subjects: give 2 or more, not 1"):
        parse(alone.replace(', "9MB"', ""), name="x.toml")


def test_values_that_cannot_stand_in_a_name_are_respelled_in_it() -> None:
    shares = 'vary = { shared_buffers = ["25% of memory", "5% of cache, at least 64M"] }'
    long = f'{{ like = "rel", vary = {{ search_path = ["{"a," * 30}", "{"b," * 30}"] }} }}'
    varied = f'share = {{ like = "rel", {shares} }}\nlong = {long}\nbig ='
    subjects = settings_of(GOOD_SERVERS.replace("big =", varied))
    values = {name: subjects[name]["shared_buffers"] for name in subjects if "share" in name}
    assert values == {
        "share-25-of-memory": "25% of memory",
        "share-5-of-cache-at-least-64M": "5% of cache, at least 64M",
    }
    shortened = [name for name in subjects if name.startswith("long")]
    assert len(shortened) == 2
    assert max(map(len, shortened)) <= 40


def test_a_name_that_varying_makes_twice_is_refused() -> None:
    text = GOOD_SERVERS.replace(VARIED.splitlines(keepends=True)[0], VARIED)
    with pytest.raises(ExperimentError, match="two subjects would be named more-on-8MB"):
        parse(text.replace("control =", '"more-on-8MB" ='), name="x.toml")
