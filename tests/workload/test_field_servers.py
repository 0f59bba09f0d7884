"""The suites that stand for the field's benchmarks, on the distribution's real servers.

What clients really asked is read from the log of MariaDB, and held against what was published.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload
from tests.workload.live import Live, client, dbms_of_the_suite, started

pytestmark = pytest.mark.integration

SCALE = Scale(size="smoke", threads=(2,))
RECORDS = 2000
STATEMENT = re.compile(r"(?i)(SELECT \* FROM usertable|UPDATE|INSERT).*?'(user\d+)'")


@pytest.fixture(scope="module", params=dbms_of_the_suite())
def server(request: pytest.FixtureRequest) -> Iterator[Live]:
    with started(request.param) as live:
        yield live


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Live]:
    with started("mariadb") as live:
        live.ask("SET GLOBAL log_output = 'TABLE'")
        yield live


def loaded(live: Live, suite: str, name: str) -> Live:
    live = live.in_database(name)
    live.load(Workload(name=suite, scale=SCALE).data)
    return live


def task_of(suite: str, name: str) -> Task:
    (task,) = Workload(name=suite, scale=SCALE).tasks((name,))
    return task


def asked(live: Live, task: Task, command: str) -> list[str]:
    """Return the statements that a task's clients had the server execute, with their values."""
    live.ask("TRUNCATE TABLE mysql.general_log")
    live.ask("SET GLOBAL general_log = ON")
    live.steps(task)
    live.ask("SET GLOBAL general_log = OFF")
    return live.ask(
        "SELECT REPLACE(argument, '\\n', ' ') FROM mysql.general_log"
        f" WHERE command_type = '{command}' ORDER BY event_time"
    )


def assert_share(count: int, total: int, share: float) -> None:
    """Assert that so many of a total are a share of it, as far as chance lets it be."""
    assert abs(count - total * share) < 5 * math.sqrt(total * share * (1 - share)) + 1


@pytest.mark.parametrize("name", ["ycsb", "linkbench"])
def test_every_set_runs_and_counts_the_parts_that_it_declares(server: Live, name: str) -> None:
    live = loaded(server, name, f"{name}_steps")
    workload = Workload(name=name, scale=SCALE)
    for task in workload.tasks((*workload.suite.warm_ups(), *workload.chosen)):
        whole, *parts = live.steps(task)
        assert task.run is not None
        assert whole.operations > 20, task.set
        assert whole.errors <= whole.operations / 100
        assert {part.key for part in parts} <= set(task.run.parts)
        # A stretch of time is cut: an event that is under way at its end may be in one of the two.
        counted = sum(part.operations for part in parts)
        assert not parts or counted == pytest.approx(whole.operations, abs=4)


def test_paused_clients_count_each_part_while_they_go_on(server: Live, tmp_path: Path) -> None:
    live = loaded(server, "linkbench", "linkbench_paused")
    task = task_of("linkbench", "requests")
    assert task.run is not None
    with client(live, task, tmp_path / "client") as driver:
        driver.await_ready(60.0)
        for _ in range(3):
            before = driver.finished_events()
            with driver.running():
                while driver.finished_events() < before + 100:
                    driver.pass_time(0.005)
        driver.end(60.0)
        counts = driver.counts()
    assert driver.parts == task.run.parts
    executed, seconds, failed = counts.parts.T
    assert executed.sum() == pytest.approx(counts.finished, abs=4)
    assert executed[driver.parts.index("get-link-list")] > counts.finished / 3
    assert 0 < seconds.sum() < counts.seconds * 2
    assert failed.sum() <= counts.refused


@pytest.mark.parametrize("name", ["ycsb", "linkbench"])
def test_two_loads_answer_alike_and_a_changed_one_does_not(server: Live, name: str) -> None:
    data_set = Workload(name=name, scale=SCALE).data
    changes = {
        "ycsb": "UPDATE usertable SET field7 = 'x' WHERE ycsb_key > 'user9'",
        "linkbench": "UPDATE linktable SET visibility = 0 WHERE id1 = id2",
    }
    digests = []
    for number in (1, 2, 3):
        live = loaded(server, name, f"{name}_{number}")
        if number == 3:
            live.ask(changes[name])
        digests.append(live.verified(data_set))
    assert digests[0] == digests[1] != digests[2]


def fnv(number: int) -> int:
    """Return the original's hash of a number."""
    result = 0xCBF29CE484222325
    for byte in number.to_bytes(8, "little"):
        result = (result ^ byte) * 1099511628211 % 2**64
    return abs(result - 2**64 if result >= 2**63 else result)


def zeta(first: float, last: float) -> float:
    """Return the sum of the weights of these ranks, by Euler and Maclaurin's formula."""
    inner = (math.pow(last, 0.01) - math.pow(first, 0.01)) / 0.01
    return inner + (math.pow(last, -0.99) + math.pow(first, -0.99)) / 2


def scattered_zipf(records: int) -> dict[str, float]:
    """Return the probability of each key: ranks from 1 to 10^10, scattered by their hashes."""
    ranks, near = 10**10, 50_000
    total = sum(rank**-0.99 for rank in range(1, near)) + zeta(float(near), float(ranks))
    assert total == pytest.approx(26.469, abs=1e-3)  # the original's constant
    weights = [zeta(float(near), float(ranks)) / total / records] * records
    for rank in range(1, near):
        weights[fnv(rank - 1) % records] += rank**-0.99 / total
    return {f"user{fnv(number)}": weight for number, weight in enumerate(weights)}


def test_ycsb_asks_by_its_shares_for_scattered_records_some_far_more_often(mariadb: Live) -> None:
    live = loaded(mariadb, "ycsb", "ycsb_zipfian")
    matches = [
        STATEMENT.match(line) for line in asked(live, task_of("ycsb", "workload-b"), "Execute")
    ]
    assert all(matches)
    statements = [(match[1], match[2]) for match in matches if match]
    assert_share(sum(verb == "UPDATE" for verb, _ in statements), len(statements), 0.05)
    expected = scattered_zipf(RECORDS)
    counts = Counter(key for _, key in statements)
    assert counts.keys() <= expected.keys()
    for key in sorted(expected, key=lambda each: -expected[each])[:50]:
        assert_share(counts[key], len(statements), expected[key])
    hottest = set(sorted(expected, key=lambda each: -expected[each])[:200])
    share = sum(expected[key] for key in hottest)
    assert_share(sum(counts[key] for key in hottest), len(statements), share)


def test_ycsb_reads_latest_what_was_inserted_last(mariadb: Live) -> None:
    live = loaded(mariadb, "ycsb", "ycsb_latest")
    statements = [
        match.groups()
        for line in asked(live, task_of("ycsb", "workload-d"), "Execute")
        if (match := STATEMENT.match(line))
    ]
    inserted = [key for verb, key in statements if verb == "INSERT"]
    assert_share(len(inserted), len(statements), 0.05)
    known = {f"user{fnv(number)}" for number in range(RECORDS)} | set(inserted)
    read = Counter(key for verb, key in statements if verb != "INSERT")
    assert read.keys() <= known
    # Of so many records the newest is read by one request in so many.
    newest_known = 1 / sum(rank**-0.99 for rank in range(1, RECORDS + 1))
    last_loaded = f"user{fnv(RECORDS - 1)}"
    assert read[last_loaded] < newest_known * len(statements)
    assert sum(read[key] for key in inserted) > len(statements) / 4


def test_ycsb_scans_up_to_a_hundred_records(mariadb: Live) -> None:
    live = loaded(mariadb, "ycsb", "ycsb_scans")
    found = [
        int(match[1])
        for line in asked(live, task_of("ycsb", "workload-e"), "Execute")
        if (match := re.search(r"ORDER BY ycsb_key LIMIT (\d+)", line))
    ]
    assert min(found) >= 1
    assert max(found) <= 100
    assert sum(found) / len(found) == pytest.approx(50.5, abs=5 * 29 / math.sqrt(len(found)))


# What LinkBench's authors published (config/FBWorkload.properties), and how a request begins.
SHARES = {
    "SELECT id1, id2, .* ORDER BY time DESC": 50.7119145,
    "SELECT id, type, version": 12.9326683,
    "INSERT INTO linktable": 8.9886601 + 8.0122125,
    "UPDATE nodetable": 7.366437,
    "SELECT count": 4.8863567,
    "SELECT visibility": 2.9907664,
    "INSERT INTO nodetable": 2.5732789,
    "DELETE FROM nodetable": 1.0115914,
    "SELECT id1, id2, .* id2 IN": 0.5261142,
}
OUTDEGREES = {0: 0.4533, 1: 0.3213, 2: 0.0950, 3: 0.0503}


def test_linkbench_asks_by_the_published_shares(mariadb: Live) -> None:
    live = loaded(mariadb, "linkbench", "linkbench_shares")
    lines: list[str] = []
    total = 0
    for _ in range(9):  # a run of a slow machine asks less
        lines += asked(live, task_of("linkbench", "requests"), "Query")
        counts = {begin: sum(bool(re.match(begin, line)) for line in lines) for begin in SHARES}
        total = sum(counts.values())
        if total > 1000:
            break
    assert total > 1000
    assert sum(SHARES.values()) == pytest.approx(100, abs=1e-4)
    for begin, share in SHARES.items():
        assert_share(counts[begin], total, share / 100)
    nodes = [int(line.rpartition(" ")[2]) for line in lines if line.startswith("SELECT id, type")]
    weights = sorted((rank**-0.625 for rank in range(1, RECORDS + 1)), reverse=True)
    hottest = [count for _, count in Counter(nodes).most_common(20)]
    assert hottest[0] < sum(hottest) < len(nodes) / 2
    assert sum(hottest) > len(nodes) * sum(weights[:20]) / sum(weights) * 0.8
    (miscounted,) = live.ask(
        "SELECT COUNT(*) FROM counttable c WHERE count <> (SELECT COUNT(*) FROM linktable l WHERE"
        " l.id1 = c.id AND l.link_type = c.link_type AND l.visibility = 1)"
    )
    assert miscounted == "0"


def test_linkbenchs_nodes_have_as_many_links_as_published(mariadb: Live) -> None:
    live = loaded(mariadb, "linkbench", "linkbench_links")
    degrees = live.ask(
        "SELECT degree, COUNT(*) FROM (SELECT id, (SELECT COUNT(*) FROM linktable WHERE id1 = id)"
        " AS degree FROM nodetable) AS each_node GROUP BY degree ORDER BY degree"
    )
    shares = {int(degree): int(count) / RECORDS for degree, count in map(str.split, degrees)}
    for degree, share in OUTDEGREES.items():
        assert shares[degree] == pytest.approx(share, abs=1 / RECORDS)
    mean = sum(degree * share for degree, share in shares.items())
    # Ten million nodes have 4.1: few of them have more links than these 2,000 nodes can show.
    assert mean == pytest.approx(2.91, abs=0.05)
    (lengths,) = live.ask(
        "SELECT AVG(LENGTH(data) < 8), AVG(LENGTH(data) < 22), AVG(LENGTH(data) < 3) FROM linktable"
    )
    # Log-normal with the median 8: one sigma is a factor of e.
    assert [float(each) for each in lengths.split()] == pytest.approx([0.5, 0.843, 0.163], abs=0.04)


@pytest.mark.parametrize(("statements", "command"), [("text", "Query"), ("prepared", "Execute")])
def test_hiroi10s_mix_is_sent_as_text_or_prepared(
    mariadb: Live, statements: str, command: str
) -> None:
    live = loaded(mariadb, "hiroi10", f"hiroi10_{statements}")
    scale = replace(SCALE, data={"statements": statements})
    (task,) = Workload(name="hiroi10", scale=scale).tasks(("oltp",))
    verbs = [line.split()[0] for line in asked(live, task, command)]
    counts = Counter(verb for verb in verbs if verb != "SET")
    transactions = counts["COMMIT"]
    assert transactions > 20
    each = {"BEGIN": 1, "SELECT": 5, "UPDATE": 2, "DELETE": 1, "INSERT": 1, "COMMIT": 1}
    assert {verb: round(count / transactions) for verb, count in counts.items()} == each
