"""Starting sysbench, and reading what it prints, strictly."""

from __future__ import annotations

import math
import pprint
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import Chunk, DriverRequest, StepResult
from dbhone.workload.drivers.sysbench import PLUGIN, Script, Tables
from dbhone.workload.task import ClientRun, Scale, Task
from dbhone.workload.workload import Workload

TRANSCRIPTS = Path(__file__).with_name("transcripts")
SUITES = Path(suites.__file__).with_name("suites")
SYSBENCH = Path("/usr/bin/sysbench")
MARIADB = Endpoint(protocol=MYSQL, socket=Path("/i/run/mysql.sock"), user="bench", database="db")
POSTGRES = Endpoint(
    protocol=POSTGRESQL,
    socket=Path("/i/run/.s.PGSQL.5432"),
    user="bench",
    database="db",
    port=5432,
)
TABLES = Tables(tables=3, rows=500)


def is_driven(name: str) -> bool:
    return suites.load(name).driver == PLUGIN.name


def request(seconds: float = 1.0, options: dict[str, str] | None = None) -> DriverRequest:
    job = Script(name="points", options=tuple((options or {}).items()))
    run = ClientRun(job=job, threads=4, seconds=seconds, data=TABLES)
    return DriverRequest(
        program=SYSBENCH,
        task=Task(set="point-query_range=100", run=run),
        database=MARIADB,
    )


def read(text: str, seconds: float = 1.0) -> StepResult:
    chunk = Chunk(data=text.encode(), at=0.0)
    outcome = PLUGIN.read(request(seconds), (chunk,))
    assert outcome.version is None
    assert outcome.verification is None
    (step,) = outcome.steps
    return step


def transcript(name: str) -> str:
    return (TRANSCRIPTS / f"{name}.txt").read_text()


def percentile(buckets: list[tuple[float, int]], wanted: int) -> float:
    """Return the percentile of a histogram the slow way: as an element of all values."""
    values = [value for value, count in buckets for _ in range(count)]
    return values[max(math.floor(len(values) * wanted / 100 + 0.5), 1) - 1]


def printed(buckets: list[tuple[float, int]], *, seconds: float = 1.02, errors: int = 0) -> str:
    """Return what sysbench prints of a run with this histogram, in milliseconds."""
    events = sum(count for _, count in buckets)
    rows = "".join(f"{value:12.3f} |{'*' * 3:<40} {count}\n" for value, count in buckets)
    return (
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\nThreads started!\n\n"
        "Latency histogram (values are in milliseconds)\n"
        "       value  ------------- distribution ------------- count\n"
        f"{rows} \n"
        "SQL statistics:\n"
        f"    transactions:                        {events:<6} (1.00 per sec.)\n"
        f"    ignored errors:                      {errors:<6} (0.00 per sec.)\n"
        "    reconnects:                          0      (0.00 per sec.)\n\n"
        "General statistics:\n"
        f"    total time:                          {seconds:.4f}s\n"
        f"    total number of events:              {events}\n\n"
        f"         95th percentile: {percentile(buckets, 95):27.2f}\n"
        "    execution time (avg/stddev):   1.0002/0.00\n\n"
    )


@st.composite
def histograms(draw: st.DrawFn) -> list[tuple[float, int]]:
    thousandths = draw(st.sets(st.integers(min_value=1, max_value=10**8), min_size=1, max_size=30))
    counts = st.integers(min_value=1, max_value=500)
    return [(value / 1000, draw(counts)) for value in sorted(thousandths)]


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("mariadb-point-query", 3.0),
        ("mariadb-errors", 1.0),
        ("postgresql-errors", 1.0),
        ("mariadb-1.1", 2.0),
    ],
)
def test_real_transcripts_are_read(
    name: str, seconds: float, golden: Callable[[str, bytes], None]
) -> None:
    step = read(transcript(name), seconds)
    text = pprint.pformat(asdict(step), width=100, compact=True, sort_dicts=False)
    golden(f"sysbench/{name}.txt", f"{text}\n".encode())


def test_a_transaction_is_an_operation_and_refused_ones_are_counted() -> None:
    step = read(transcript("mariadb-errors"))
    assert step.key == ""
    assert (step.operations, step.errors, step.seconds) == (676, 158, 1.0111)
    assert step.throughput == pytest.approx(668.6, abs=0.1)


def one_event() -> DriverRequest:
    workload = Workload(name="batch:insert-select", scale=Scale(size="smoke"))
    (task,) = workload.tasks(("run-2",))
    return DriverRequest(program=SYSBENCH, task=task, database=MARIADB)


def read_one_event(text: str) -> StepResult:
    chunk = Chunk(data=text.encode(), at=0.0)
    (step,) = PLUGIN.read(one_event(), (chunk,)).steps
    return step


def test_one_event_that_is_many_operations_takes_what_it_took_itself() -> None:
    step = read_one_event(transcript("mariadb-insert-select"))
    # Not what the histogram rounds to (5.03335), nor with what came after it (5.3659).
    assert step.seconds == 5.01441
    assert step.operations == 20_000
    assert step.throughput == pytest.approx(3988.5, abs=0.1)
    assert step.latency is not None
    assert {step.latency.p50, step.latency.p95, step.latency.p99} == {5.01441}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("operations: 20000", "operations: 0", "run-2 did nothing"),
        ("events:              1\n", "events:              2\n", "not its events"),
        ("         sum:                                 5014.41\n", "", "1 events, where one"),
        ("operations: 20000\n", "operations: 20000\noperations: 3\n", "twice"),
    ],
)
def test_an_event_that_did_not_do_what_it_should_is_refused(
    old: str, new: str, complaint: str
) -> None:
    text = transcript("mariadb-insert-select")
    assert text.count(old) == 1
    with pytest.raises(DriverError, match=complaint):
        read_one_event(text.replace(old, new))


def test_a_run_of_several_events_may_end_before_its_seconds_are_over() -> None:
    asked = request(60.0)
    run = replace(asked.run, events=13)
    asked = replace(asked, task=replace(asked.task, run=run))
    text = printed([(10.0, 13)], seconds=0.13).encode()
    chunk = Chunk(data=text, at=0.0)
    (step,) = PLUGIN.read(asked, (chunk,)).steps
    assert step.operations == 13
    assert step.throughput == pytest.approx(100)


def test_what_runs_to_its_end_has_no_seconds() -> None:
    words = PLUGIN.argv(one_event())
    assert {"--time=0", "--events=1", "--threads=1", "--data-seed=1"} <= set(words)


def test_intervals_are_a_series_in_both_spellings() -> None:
    assert read(transcript("mariadb-1.1"), 2.0).interval_rates == (6.0, 7.0)


def test_the_words_of_1_1_mean_the_same() -> None:
    text = printed([(0.5, 10), (2.0, 3)])
    new = text.replace("General statistics:", "Throughput:\n    events/s (eps):     12.7451")
    new = new.replace("total time:", "time elapsed:")
    assert read(new) == read(text)


@pytest.mark.parametrize("name", ["mariadb-died", "postgresql-died"])
def test_a_server_that_died_is_a_failure(name: str) -> None:
    with pytest.raises(DriverError):
        read(transcript(name))


def test_sysbenchs_own_words_say_why() -> None:
    with pytest.raises(DriverError, match=r"sysbench failed: FATAL: mysql_stmt_execute.* 2013"):
        read(transcript("mariadb-died"))
    # Standard error and output are one here: what is fatal may stand in the middle of a line.
    with pytest.raises(DriverError, match="sysbench failed: FATAL: no"):
        read("[ 1s ] thds: FATAL: no\n")


REFUSALS = {
    "FATAL: error 1156: Plugin caching_sha2_password could not be loaded: /nowhere/"
    "caching_sha2_password.so: cannot open shared object file: No such file or directory": (
        "lacks the plugin for the server's authentication",
        "libmariadb3",
    ),
    "FATAL: error 2059: Authentication plugin 'caching_sha2_password' cannot be loaded: no": (
        "lacks the plugin for the server's authentication",
        "libmariadb3",
    ),
    "FATAL: error 2059: Plugin caching_sha2_password could not be loaded: it is already loaded": (
        "twice at once",
        "run the same again",
    ),
    "FATAL: error 1045: Access denied for user 'root'@'localhost' (using password: NO)": (
        "refuses hone's own account",
        "init_file",
    ),
    "FATAL: error 1524: Plugin 'mysql_native_password' is not loaded": (
        "refuses hone's own account",
        "init_file",
    ),
    "FATAL: Connection to database failed: connection to server on socket"
    ' "/s/.s.PGSQL.5432" failed: FATAL:  role "dbhone" does not exist': (
        "refuses hone's own account",
        "init_file",
    ),
    "FATAL: error 1251: Client does not support authentication protocol requested by server": (
        "no authentication in common",
        "newer client library",
    ),
    "FATAL: error 1040: Too many connections": ("no connection left", "max_connections"),
    "FATAL: Connection to database failed: FATAL:  sorry, too many clients already": (
        "no connection left",
        "max_connections",
    ),
}


@pytest.mark.parametrize("line", REFUSALS)
def test_a_client_that_is_not_let_in_is_told_why_and_what_to_do(line: str) -> None:
    message, hint = REFUSALS[line]
    before = "FATAL: unable to connect to MySQL server on socket '/s/mysql.sock', aborting..."
    after = "FATAL: `init' function failed: common.lua:64: connection creation failed"
    found = PLUGIN.error_in_output(f"sysbench 1.0.20\n\n{before}\n{line}\n{after}\n")
    assert found is not None
    assert message in found.message
    assert line in found.message
    assert hint in (found.hint or "")


def test_of_unknown_complaints_the_one_that_says_why_is_told() -> None:
    before = "FATAL: unable to connect to MySQL server on socket '/nowhere', aborting..."
    why = "FATAL: error 2002: Can't connect to local server through socket '/nowhere' (2)"
    after = "FATAL: `init' function failed: common.lua:64: connection creation failed"
    found = PLUGIN.error_in_output("\n".join((before, why, after)))
    assert found is not None
    assert found.message == f"sysbench failed: {why}"
    assert PLUGIN.error_in_output(transcript("mariadb-point-query")) is None


@given(histograms(), st.integers(min_value=0, max_value=9))
def test_percentiles_are_those_of_the_histogram(
    buckets: list[tuple[float, int]], errors: int
) -> None:
    step = read(printed(buckets, errors=errors))
    assert step.operations == sum(count for _, count in buckets)
    assert step.errors == errors
    assert step.latency is not None
    assert step.latency.p50 == percentile(buckets, 50) / 1000
    assert step.latency.p95 == percentile(buckets, 95) / 1000
    assert step.latency.p99 == percentile(buckets, 99) / 1000
    assert step.latency.p50 <= step.latency.p95 <= step.latency.p99


@given(st.data())
def test_a_transcript_that_was_cut_off_is_refused(data: st.DataObject) -> None:
    text = transcript("mariadb-errors").rstrip("\n")
    cut = data.draw(st.integers(min_value=0, max_value=len(text) - 2))
    with pytest.raises(DriverError):
        read(text[:cut])


@given(st.text(min_size=1), st.integers(0, 40))
def test_a_line_that_sysbench_never_prints_is_refused(line: str, at: int) -> None:
    lines = printed([(0.5, 10), (2.0, 3)]).splitlines()
    lines.insert(at % len(lines), f"x{line}")
    with pytest.raises(DriverError):
        read("\n".join(lines))


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_never_crashes(data: bytes) -> None:
    with pytest.raises(DriverError):
        read(data.decode("utf-8", "replace"))


def test_the_line_that_is_refused_is_shown() -> None:
    with pytest.raises(DriverError, match="an unexpected line: 'WARNING: something new'"):
        read(printed([(0.5, 10)]) + "WARNING: something new\n")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("transactions:                        13", "transactions:   12", "not its events"),
        ("events:              13", "events:              14", "not its events"),
        ("     10\n", "     11\n", "histogram has other events"),
        ("2.00\n    exec", "2.01\n    exec", "percentile is 2.01 ms, but 2 ms"),
        ("       0.500", "       5.000", "not in order"),
        ("1.0200s", "0.0000s", "took no time"),
        ("1.0200s", "0.5000s", "ended after 0.5 s"),
        ("    reconn", "    transactions: 13 (1.00 per sec.)\n    reconn", "twice"),
        ("    ignored errors:                      0      (0.00 per sec.)\n", "", "ignored errors"),
    ],
)
def test_what_contradicts_itself_is_refused(old: str, new: str, complaint: str) -> None:
    text = printed([(0.5, 10), (2.0, 3)])
    assert text.count(old) == 1
    with pytest.raises(DriverError, match=complaint):
        read(text.replace(old, new))


def test_a_slice_in_which_nothing_ended_is_too_short() -> None:
    text = printed([(0.5, 10)]).replace(":              10", ":              0")
    with pytest.raises(DriverError, match="too short for this step") as caught:
        read(text)
    assert caught.value.hint is not None


@pytest.mark.parametrize("name", [each for each in suites.names() if is_driven(each)])
@pytest.mark.parametrize("where", [MARIADB, POSTGRES], ids=["mysql", "postgresql"])
def test_the_command_lines(
    where: Endpoint, name: str, golden: Callable[[str, bytes], None]
) -> None:
    workload = Workload(name=name, scale=Scale(size="full"))
    tasks = workload.tasks((*workload.suite.warm_ups(), *workload.chosen))
    scale = Scale(size="full", data={"tables": TABLES.tables, "rows": TABLES.rows})
    tables = Workload(name=name, scale=scale).data
    requests = [DriverRequest(program=SYSBENCH, task=task, database=where) for task in tasks]
    commands = [
        PLUGIN.load(SYSBENCH, where, tables),
        PLUGIN.finish_background_work(SYSBENCH, where, tables),
        PLUGIN.verify(SYSBENCH, where, tables),
        *(
            PLUGIN.counting_argv(request, Path("/counts"))
            if PLUGIN.can_pause(request.task)
            else PLUGIN.argv(request)
            for request in requests
        ),
    ]
    for command in commands:
        assert Path(command[1]).is_file()
        assert not any("password" in word for word in command)
    text = "".join(" ".join(command) + "\n" for command in commands)
    golden(
        f"sysbench/commands-{name.rpartition(':')[2]}-{where.protocol.name}.txt",
        text.replace(f"{SUITES.resolve()}/", "").encode(),
    )


def test_a_slice_has_whole_seconds_and_a_series_when_it_is_long() -> None:
    assert "--time=1" in PLUGIN.argv(request(0.3))
    assert not any("report-interval" in word for word in PLUGIN.argv(request(2.0)))
    assert {"--time=3", "--report-interval=1"} <= set(PLUGIN.argv(request(3.0)))


def test_what_a_set_says_replaces_what_every_set_has() -> None:
    words = PLUGIN.argv(request(options={"table-size": "1", "rand-type": "pareto"}))
    assert "--rand-type=pareto" in words
    assert "--table-size=1" in words
    assert not {"--rand-type=uniform", "--table-size=500"} & set(words)


def test_what_is_loaded_depends_on_the_scripts_that_load_and_on_those_that_they_use() -> None:
    names = [script.name for script in PLUGIN.load_scripts(TABLES)]
    assert sorted(names) == ["load.lua", "rows.lua", "settle.lua", "settling.lua"]
    batch = [
        script.name
        for script in PLUGIN.load_scripts(replace(TABLES, scripts=SUITES / "batch" / "scripts"))
    ]
    assert sorted(batch) == [
        *("common.lua", "counting.lua", "load.lua", "settle.lua", "settling.lua", "tables.lua")
    ]


def test_a_file_is_no_server() -> None:
    wrong = DriverRequest(
        program=SYSBENCH, task=request().task, database=Path("/d/x"), verify=False
    )
    with pytest.raises(DriverError, match="/d/x is a file"):
        PLUGIN.argv(wrong)


def answers(*lines: str) -> str:
    return "\n".join(("sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)", "", *lines)) + "\n"


def test_each_answer_has_a_digest_of_its_own() -> None:
    lines = ("answer 1/point/1 1 0a0b0c0d", "answer 1/all 9 07", "sound 1/check", "verified")
    digests = PLUGIN.answers(answers(*lines))
    assert list(digests) == ["answer 1/point/1", "answer 1/all", "sound 1/check"]
    other = answers(*lines).replace("1.0.20 (using system", "1.1.0-abc (using bundled")
    assert PLUGIN.answers(other) == digests
    changed = PLUGIN.answers(answers(*lines).replace("0a0b0c0d", "0a0b0c0e"))
    assert [name for name in digests if digests[name] != changed[name]] == ["answer 1/point/1"]


def test_lines_of_one_name_are_one_answer() -> None:
    once = PLUGIN.answers(answers("answer rows 1", "answer rows 2", "verified"))
    other = PLUGIN.answers(answers("answer rows 2", "answer rows 1", "verified"))
    assert list(once) == list(other) == ["answer rows"]
    assert once != other


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ((), "before it had verified"),
        (("verified",), "before it had verified"),
        (("answer 1/point/1 1 0a",), "before it had verified"),
        (("answer 1/point/1 1 0a", "noise", "verified"), "unexpected line: 'noise'"),
        (("answer 1/a 1 0a", "FATAL: no", "verified"), "unexpected line: 'FATAL: no'"),
        (("answer 1/a 1 0a", "damage 1/check: error: bad", "verified"), "damaged: 1/check: error"),
        (("answer 1/a 1 0a", "damage 1/primary: 7, not 8"), "damaged: 1/primary: 7, not 8"),
    ],
)
def test_damage_and_nonsense_are_no_verification(lines: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(DriverError, match=complaint):
        PLUGIN.answers(answers(*lines))
