"""Where the time of a build went: from records as a build leaves them."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation import builder
from dbhone.compilation.compile_commands import COMMANDS, CompileCommand
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.timings import efficiency, lanes, timings, trace
from dbhone.compilation.variant import parse_variant
from dbhone.measurement.build_facts import BuildTarget
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.plain_build import plain_build
from tests.compilation.tiny import make_spec

START = 1_700_000_000.0


def command(began: float, seconds: float, target: str = "a.o", **facts: Any) -> CompileCommand:
    words = ("-O2", target) if facts.pop("links", False) else ("-O2", "-c", "x.c", "-o", target)
    known: dict[str, Any] = {
        "phase": "compile",
        "cpu": seconds / 2,
        "memory": 2**20,
        "status": 0,
        "program": "gcc",
        "argv": words,
    }
    return CompileCommand(began=START + began, seconds=seconds, **known | facts)


def make_build(
    folder: Path, commands: list[CompileCommand], *, configured: float = 5.0, linked: float = 0.0
) -> Build:
    folder.mkdir(parents=True)
    lines = [each.model_dump_json() + "\n" for each in commands]
    (folder / COMMANDS).write_text("".join(lines))
    phases = {"configure": configured, "compile": 15.0, "layouts": linked}
    inputs = BuildInputs(dbms="mariadb", source="dir:mariadb", variant=parse_variant("rel"))
    return plain_build(
        folder,
        inputs,
        version="11.8.6",
        phase_seconds={name: seconds for name, seconds in phases.items() if seconds},
        compile_commands=len(commands),
    )


COMMANDS_OF_A_BUILD = [
    command(5.5, 4.0, "sql/parse.o"),
    command(5.5, 9.0, "sql/optimise.o"),
    command(9.75, 4.0, "sql/item.o"),
    command(9.0, 0.25, "broken.o", status=1),
    command(15.0, 4.0, "-o", argv=("parse.o", "optimise.o", "-o", "sql/server"), cpu=7.0),
]


def test_timings_tell_wall_and_cpu_time_jobs_files_and_the_slowest(tmp_path: Path) -> None:
    found = timings(make_build(tmp_path / "b", COMMANDS_OF_A_BUILD), slowest=3)
    assert (found.seconds, found.phases) == (20.0, {"configure": 5.0, "compile": 15.0})
    assert found.cpu_seconds == pytest.approx((4.0 + 9.0 + 4.0 + 0.25) / 2 + 7.0)
    assert (found.jobs, found.files) == (3, 3)
    assert found.slowest == (("sql/optimise.o", 9.0), ("sql/item.o", 4.0), ("sql/parse.o", 4.0))


def test_linking_other_layouts_is_no_part_of_where_the_time_of_a_build_went(tmp_path: Path) -> None:
    link = command(20.0, 50.0, argv=("parse.o", "-o", "layout-1"), phase="layouts")
    plain = make_build(tmp_path / "plain", COMMANDS_OF_A_BUILD)
    other = make_build(tmp_path / "other", [*COMMANDS_OF_A_BUILD, link], linked=50.0)
    assert other.manifest.phase_seconds["layouts"] == 50.0
    assert timings(other) == timings(plain)


def test_a_build_that_keeps_its_jobs_busy_is_efficient(tmp_path: Path) -> None:
    busy = [command(each, 20.0, cpu=20.0) for each in (0.0, 0.5)]
    idle = [command(0.0, 5.0, cpu=5.0), command(0.5, 5.0, cpu=5.0)]
    assert efficiency(timings(make_build(tmp_path / "busy", busy))) == pytest.approx(1.0)
    assert efficiency(timings(make_build(tmp_path / "idle", idle))) == pytest.approx(0.25)
    assert efficiency(timings(make_build(tmp_path / "none", []))) is None


def test_outputs_are_named_relative_to_the_builds_folder() -> None:
    assert command(0, 1, "heapam.o", folder="src/backend").output == "src/backend/heapam.o"
    assert command(0, 1, "../x.o", folder="src/backend").output == "src/x.o"
    assert command(0, 1, "sql/x.o").output == "sql/x.o"


def compiled(output: str, seconds: float = 1.0, folder: str = ".") -> CompileCommand:
    return command(0.0, seconds, output, folder=folder)


def linked(output: str, *objects: str, folder: str = ".") -> CompileCommand:
    return command(0.0, 2.0, argv=("-O2", "-Wl,-q", *objects, "-o", output), folder=folder)


@pytest.mark.parametrize(
    ("made", "target"),
    [
        (compiled("sql/CMakeFiles/sql.dir/item.cc.o"), "sql"),
        (compiled("CMakeFiles/sql.dir/__/mysys/my_init.c.o", folder="sql"), "sql"),
        (linked("sql/mariadbd", "sql/CMakeFiles/mariadbd.dir/main.cc.o", "a.a"), "mariadbd"),
        (compiled("heapam.o", folder="src/backend/access/heap"), "src/backend/access/heap"),
        (linked("postgres", "access/heap/heapam.o", folder="src/backend"), "src/backend"),
        (compiled("sqlite3.o"), "."),
    ],
)
def test_a_command_tells_the_build_systems_target(made: CompileCommand, target: str) -> None:
    assert made.build_target == target


def test_build_targets_have_their_cpu_time_and_the_largest_comes_first(tmp_path: Path) -> None:
    commands = [
        compiled("sql/CMakeFiles/sql.dir/item.cc.o", 6.0),
        compiled("sql/CMakeFiles/sql.dir/field.cc.o", 2.0),
        compiled("sql/CMakeFiles/server.dir/main.cc.o", 2.0),
        linked("sql/server", "sql/CMakeFiles/server.dir/main.cc.o"),
    ]
    found = timings(make_build(tmp_path / "b", commands))
    assert found.build_targets == (
        BuildTarget(name="sql", cpu_seconds=4.0, files=2),
        BuildTarget(name="server", cpu_seconds=2.0, files=1),
    )
    assert found.share(found.build_targets[1]) == pytest.approx(2.0 / 6.0)


def test_a_real_builds_outputs_are_those_of_its_folder(tree: SourceTree, session: Session) -> None:
    build = builder.make(make_spec(tree), session, lambda _: None)
    found = timings(build)
    assert {name for name, _ in found.slowest} == {"main.o", "work.o", "tiny"}
    assert (found.jobs, found.files) == (1, 2)
    assert found.cpu_seconds > 0
    assert 0 < sum(seconds for _, seconds in found.slowest) <= found.seconds
    assert {each.folder for each in build.commands()} == {"."}


Commands = st.lists(
    st.builds(command, began=st.integers(0, 40).map(float), seconds=st.integers(1, 20).map(float)),
    max_size=25,
)


@given(Commands, st.randoms(use_true_random=False))
def test_lanes_have_every_command_once_and_no_overlap_and_are_as_few_as_can_be(
    commands: list[CompileCommand], rng: random.Random
) -> None:
    shuffled = list(commands)
    rng.shuffle(shuffled)
    packed = lanes(shuffled)

    assert sorted(map(repr, (each for lane in packed for each in lane))) == sorted(
        map(repr, commands)
    )
    for lane in packed:
        for one, next_one in itertools.pairwise(lane):
            assert one.began + one.seconds <= next_one.began
    at_once = (
        sum(other.began <= each.began < other.began + other.seconds for other in commands)
        for each in commands
    )
    assert len(packed) == max(at_once, default=0)


def events(builds: list[Build]) -> list[dict[str, Any]]:
    whole = json.loads(trace(builds))
    assert set(whole) == {"traceEvents", "displayTimeUnit"}
    found: list[dict[str, Any]] = whole["traceEvents"]
    return found


def test_a_trace_has_a_process_for_each_build_and_a_thread_for_each_job(tmp_path: Path) -> None:
    one = make_build(tmp_path / "one", COMMANDS_OF_A_BUILD)
    two = make_build(tmp_path / "two", COMMANDS_OF_A_BUILD[:1], configured=0.0)
    named = [each for each in events([one, two]) if each["ph"] == "M"]
    assert [(each["name"], each["pid"], each["tid"], each["args"]["name"]) for each in named] == [
        ("process_name", 1, 0, "mariadb 11.8.6, rel (gcc 12.2.0)"),
        ("thread_name", 1, 0, "configure"),
        ("thread_name", 1, 1, "job 1"),
        ("thread_name", 1, 2, "job 2"),
        ("thread_name", 1, 3, "job 3"),
        ("process_name", 2, 0, "mariadb 11.8.6, rel (gcc 12.2.0)"),
        ("thread_name", 2, 1, "job 1"),
    ]


def test_a_traces_events_are_complete_and_in_microseconds_from_the_builds_start(
    tmp_path: Path,
) -> None:
    done = events([make_build(tmp_path / "b", COMMANDS_OF_A_BUILD)])
    drawn = {each["name"]: each for each in done if each["ph"] == "X"}
    assert (drawn["configure"]["ts"], drawn["configure"]["dur"]) == (0, 5_000_000)
    assert drawn["sql/optimise.o"] == {
        "ph": "X",
        "name": "sql/optimise.o",
        "cat": "compile",
        "ts": 5_000_000,
        "dur": 9_000_000,
        "pid": 1,
        "tid": 2,
        "args": {"cpu_seconds": 4.5, "memory_bytes": 2**20, "status": 0},
    }
    assert drawn["sql/server"]["cat"] == "link"
    assert len(drawn) == 1 + len(COMMANDS_OF_A_BUILD)


def test_a_build_without_records_still_has_a_trace(tmp_path: Path) -> None:
    assert [each["name"] for each in events([make_build(tmp_path / "b", [])])] == [
        "process_name",
        "thread_name",
        "configure",
    ]
