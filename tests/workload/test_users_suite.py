"""Suites that users write: what is refused, what is kept of them, and that servers execute them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone.errors import UsageError
from dbhone.experiment.declaration.load import load_file, parse, recorded
from dbhone.experiment.target.target import training_inputs
from dbhone.home import Home
from dbhone.session import Session
from dbhone.workload import suite as suites
from dbhone.workload import users_suite
from dbhone.workload.suite import Regime, ServerSet, StepKind
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload, load_checked
from tests.workload.live import Live, started

SUITE = """\
title = "a shop's queries"
protocols = ["postgresql"]
training = ["order"]

[server_sizes.quick]
rows = 2_000
threads = [2]
seconds = { read = 1, write = 1 }

[sets."lookup.warm"]
title = "orders, to fill caches"
script = "lookup"
group = "point"
warm_up = true

[sets.lookup]
title = "an order"
script = "lookup"
group = "point"

[sets.revenue]
title = "revenue by region"
script = "revenue.sql"
group = "aggregate"
options = { least = "990" }

[sets.order]
title = "a new order"
script = "order.lua"
group = "write"
"""
EXPERIMENT = """\
title = "on a suite of my own"
base = "rel"

[sources]
pg = "apt:postgresql-15"

[subjects]
rel = { dbms = "postgresql", source = "pg" }
pgo = { like = "rel", variant = "pgo" }

[workload]
suite = "./mine.toml"
"""
SCRIPTS = {
    "load.sql": """\
-- orders
CREATE TABLE orders (
  id INT PRIMARY KEY, region INT NOT NULL, total INT NOT NULL);
INSERT INTO orders SELECT n, n % 7, n * 7919 % 1000 FROM generate_series(1, :rows) AS s(n);
""",
    "verify.sql": """\
SELECT COUNT(*), SUM(total) FROM orders;
UPDATE orders SET region = 8 WHERE id = :rows;
SELECT * FROM orders ORDER BY id
""",
    "lookup.sql": "SELECT total::text FROM orders WHERE id = :random;",
    "revenue.sql": "SELECT region, COUNT(*) FROM orders WHERE total > :least GROUP BY region;",
    "order.lua": """\
local here = debug.getinfo(1, "S").source:match("^@(.*/)")
local common = dofile(here .. "common.lua")
common.step({}, function (con)
   return function ()
      con:query("UPDATE orders SET total = total + 1 WHERE id = " .. common.any_id())
   end
end)
""",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the experiment's file, with the suite and its scripts beside it."""
    folder = tmp_path / "beside"
    (folder / "scripts").mkdir(parents=True)
    (folder / "mine.toml").write_text(SUITE)
    for name, text in SCRIPTS.items():
        (folder / "scripts" / name).write_text(text)
    (folder / "mine-experiment.toml").write_text(EXPERIMENT)
    return folder / "mine-experiment.toml"


def test_a_users_suite_is_read_as_those_that_ship_are(file: Path) -> None:
    suite = suites.load(str(file.parent / "mine.toml"))
    assert suite.measured() == ("lookup", "revenue", "order")
    order = suite.sets["order"]
    assert isinstance(order, ServerSet)
    assert order.kind is StepKind.WRITE
    experiment = load_file(file)
    assert experiment.trained_sets == {"order"}
    assert experiment.suite_label.startswith("mine.toml ")


@pytest.mark.parametrize(
    ("old", "new", "told", "hint"),
    [
        ('group = "aggregate"', 'gruop = "aggregate"', "sets.revenue.group is missing", None),
        ('"aggregate"', '"agregate"', "sets.revenue.group: write one of", None),
        ("rows = 2_000", "rows = 2", "at size quick: sysbench: 'rows' is invalid", None),
        ("rows = 2_000", "rwos = 2_000", "sysbench: 'rows' is invalid", None),
        ("revenue.sql", "revenues.sql", "no script 'revenues.sql'", "did you mean 'revenue.sql'"),
        ("options =", "optoins =", "'optoins' is invalid", None),
        ('["order"]', '["ordre"]', "training: there is no set 'ordre'", "did you mean 'order'?"),
        ("[sets.order]", "[sets.order", "is not valid TOML.*line 27", None),
        ("training", "trainnig", "trainnig: there is no such key", "did you mean 'training'"),
        ('training = ["order"]', "", "profile-guided and must be trained", None),
        ("training", "driver = 'pgbench'\ntraining", "driven by sysbench", "leave it out"),
        ("[server_sizes.quick]", "[x]", "x: there is no such key", None),
        ("training", "scripts = '..'\ntraining", "not in the folder", "copy the scripts beside it"),
        ("training", "scripts = 'no'\ntraining", "there is no folder", 'scripts = "."'),
        (
            "threads = [2]",
            "cache = { cached = 67108864 }",
            "cache.cached: write it as a size",
            None,
        ),
        ("threads = [2]", "cache = { cached = '64 MX' }", "'64 MX' is not a size", None),
        ("[sets.order]", "[sets]\nx = 3\n[sets.order]", "sets.x: write a table", None),
        ("[sets.revenue]", "[sets.'read@home']", "'read@home' has a '@'", None),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    file: Path, old: str, new: str, told: str, hint: str | None
) -> None:
    path = file.parent / "mine.toml"
    path.write_text(SUITE.replace(old, new, 1))
    with pytest.raises(UsageError, match=told) as caught:
        load_file(file)
    assert str(file) in caught.value.message
    assert str(path) in caught.value.message or "trained" in told
    assert hint is None or hint in (caught.value.hint or "")


def test_what_a_size_does_not_say_is_as_usual(file: Path) -> None:
    path = file.parent / "mine.toml"
    given = 'seconds = { read = 1 }\ncache = { os-cached = "8M" }'
    path.write_text(SUITE.replace("seconds = { read = 1, write = 1 }", given, 1))
    size = load_file(file).workload.suite.server_sizes["quick"]
    assert size.seconds == {StepKind.READ: 1.0, StepKind.WRITE: 2.0}
    assert size.cache == {Regime.CACHED: 512 << 20, Regime.OS_CACHED: 8 << 20}


@pytest.mark.parametrize(
    ("name", "told"),
    [("binary", "not a text file"), ("link", "is a link"), ("outside", "neither beside it nor")],
)
def test_a_script_that_is_none_or_lies_elsewhere_is_refused(
    file: Path, name: str, told: str
) -> None:
    script = file.parent / "scripts" / "order.lua"
    script.unlink()
    if name == "link":
        script.symlink_to("/etc/passwd")
    else:
        lines = {"binary": b"\xff", "outside": b'dofile(here .. "../../secret.lua")'}
        script.write_bytes(lines[name])
    with pytest.raises(UsageError, match=told) as caught:
        load_file(file)
    assert str(script) in caught.value.message


def test_tables_of_its_own_must_be_verified(file: Path) -> None:
    (file.parent / "scripts" / "verify.sql").unlink()
    with pytest.raises(UsageError, match="nothing verifies them"):
        load_file(file)


def test_a_recorded_experiment_is_executed_as_it_was_whatever_happens_to_the_files(
    file: Path, session: Session
) -> None:
    begun = recorded(load_file(file), session.home)
    (file.parent / "mine.toml").unlink()
    (file.parent / "scripts" / "order.lua").write_text("changed")
    resumed = parse(begun.text, name=begun.name, home=session.home)
    assert resumed == begun
    assert recorded(resumed, session.home).text == begun.text
    laid_out = Path(resumed.workload.name)
    assert laid_out.is_relative_to(session.home.data)
    assert laid_out.read_text() == SUITE
    assert {name: (laid_out.parent / "scripts" / name).read_text() for name in SCRIPTS} == SCRIPTS


@pytest.mark.parametrize("name", ["../../elsewhere.sql", "/etc/passwd", "a//b.sql", ".hidden"])
def test_recorded_names_cannot_lead_elsewhere(name: str, session: Session) -> None:
    with pytest.raises(UsageError, match="not a name that a suite"):
        users_suite.lay_out("mine.toml", {"mine.toml": SUITE, name: "x"}, session.home)


def test_a_script_whose_name_cannot_be_recorded_is_refused_when_the_suite_is_read(
    file: Path,
) -> None:
    (file.parent / "scripts" / "order (copy).lua").write_text("-- a copy")
    with pytest.raises(UsageError, match=r"'scripts/order \(copy\)\.lua' is not a name"):
        load_file(file)


def test_a_file_of_sql_named_like_what_shared_scripts_use_is_refused(file: Path) -> None:
    (file.parent / "scripts" / "rows.sql").write_text("SELECT 1;")
    with pytest.raises(UsageError, match=r"rows\.sql has the name of rows\.lua"):
        load_file(file)


def workload_of(file: Path, home: Home) -> object:
    experiment = recorded(load_file(file), home)
    (training,) = (each.training for each in experiment.subjects if each.training)
    return training_inputs(training)


def test_a_changed_script_of_the_training_changes_its_key(file: Path, session: Session) -> None:
    before = workload_of(file, session.home)
    scripts = file.parent / "scripts"
    (scripts / "lookup.sql").write_text("SELECT 1;")  # no set of the training
    assert workload_of(file, session.home) == before
    for name in ("order.lua", "load.sql"):
        (scripts / name).write_text(f"-- changed\n{SCRIPTS[name]}")
        changed = workload_of(file, session.home)
        assert changed != before
        before = changed


def test_a_script_for_pgbench_is_recorded_too(file: Path, session: Session) -> None:
    script = file.parent / "my own.pgbench"
    script.write_text("SELECT 1;")
    text = EXPERIMENT.replace("./mine.toml", script.name).replace(', variant = "pgo"', "")
    begun = recorded(parse(text, name=str(file)), session.home)
    script.unlink()
    resumed = parse(begun.text, name=begun.name, home=session.home)
    assert resumed.workload.chosen == ("my-own",)
    assert Path(resumed.workload.name).read_text() == "SELECT 1;"


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    with started("postgresql") as live:
        yield live


@pytest.mark.integration
def test_a_server_loads_answers_and_executes_sql_and_lua(
    file: Path, server: Live, session: Session
) -> None:
    begun = recorded(load_file(file), session.home)
    load_checked(begun.workload.name)
    workload = Workload(name=begun.workload.name, scale=Scale(size="quick"))
    data = workload.data
    live = server.in_database("shop")
    live.load(data)
    answers = live.verified(data)
    assert live.ask("SELECT COUNT(*) FROM orders") == ["2000"]
    tasks = {task.set: task for task in workload.tasks()}
    assert all(live.driver.can_pause(task) for task in tasks.values())
    for task in tasks.values():
        assert operations(live, task) > 10
    assert live.verified(data) != answers  # orders have changed what is answered


def operations(live: Live, task: Task) -> float:
    return live.step(task).operations
