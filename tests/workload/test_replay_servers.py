"""A captured workload on real servers: what is replayed is what was logged, in the same shares."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import pytest

from dbhone.capture.capture import CaptureOptions, capture
from dbhone.measurement.record import Group
from dbhone.workload import suite as suites
from dbhone.workload.counting import CountFile
from dbhone.workload.drivers.base import DriverRequest, Materials
from dbhone.workload.drivers.replay import PLUGIN, UsersData
from dbhone.workload.drivers.sysbench import PLUGIN as SYSBENCH
from dbhone.workload.drivers.sysbench import Tables
from dbhone.workload.replay_file import parts_of
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload
from dbhone.workload.workload_file import Header, read_header, read_transactions
from tests.workload.live import Live, client, started

pytestmark = pytest.mark.integration

CLIENTS = 3
_CALL = Path(__file__).with_name("call.lua")
_NEWEST = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parts[4]))


def run(*argv: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in argv], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


LITERALS = ("one", "two")
"""In statements of one template that a client has prepared, each by itself."""
_LIKE = "SELECT count(*) FROM pgbench_accounts WHERE aid = :aid AND filler <> '{}'"


class Postgresql:
    """pgbench on a PostgreSQL that logs to the file in which hone keeps its messages."""

    name = "postgresql"

    def __init__(self, live: Live) -> None:
        self.live = live
        endpoint = live.endpoint
        self.reach = (
            *("-h", str(endpoint.socket.parent), "-p", str(endpoint.port)),
            *("-U", endpoint.user),
        )

    def program(self, name: str) -> Path:
        return _NEWEST[-1] / name

    def load(self) -> None:
        run(self.program("pgbench"), "-i", "-q", *self.reach, self.live.endpoint.database)

    def dump(self, path: Path) -> None:
        run(self.program("pg_dump"), "-Fc", "-f", path, *self.reach, self.live.endpoint.database)

    def work(self) -> None:
        script = self.live.folder / "literals.sql"
        script.write_text("".join(f"{_LIKE.format(word)};\n" for word in LITERALS))
        prepared = ("-n", "-c", "1", "-t", "100", "-M", "prepared", "-D", "aid=1")
        run(
            self.program("pgbench"),
            *prepared,
            "-f",
            str(script),
            *self.reach,
            self.live.endpoint.database,
        )
        for mode in ("simple", "extended", "prepared"):
            options = ("-n", "-c", "3", "-t", "100", "-M", mode)
            run(self.program("pgbench"), *options, *self.reach, self.live.endpoint.database)

    def log(self, switched: bool) -> Path:
        self.live.ask(f"ALTER SYSTEM SET log_min_duration_statement = {0 if switched else -1}")
        self.live.ask("SELECT pg_reload_conf()")
        (path,) = (path for path in self.live.folder.rglob("log") if path.is_file())
        return path


class Mariadb:
    """sysbench on a MariaDB with its general log."""

    name = "mariadb"
    workload = Workload(name="sysbench:micro", scale=Scale(size="smoke", threads=(3,)))

    def __init__(self, live: Live) -> None:
        self.live = live
        self.reach = (f"--socket={live.endpoint.socket}", f"--user={live.endpoint.user}")

    def load(self) -> None:
        self.live.load(self.workload.data)

    def dump(self, path: Path) -> None:
        database = self.live.endpoint.database
        run("mariadb-dump", "--no-defaults", *self.reach, f"--result-file={path}", database)

    def work(self) -> None:
        words = ("read-write_range=10", "update-index", "point-query")
        names = suites.full_names(self.workload.suite, words)
        for task in self.workload.tasks(names):
            self.live.step(task)

    def log(self, switched: bool) -> Path:
        self.live.ask(f"SET GLOBAL general_log = {int(switched)}")
        (line,) = self.live.ask("SELECT CONCAT(@@datadir, @@general_log_file)")
        return Path(line.split("\t")[0].split(" ")[0].strip())


Kind = Callable[[Live], Postgresql | Mariadb]


@pytest.fixture(scope="module", params=[Postgresql, Mariadb])
def kind(request: pytest.FixtureRequest) -> Kind:
    if request.param is Postgresql and not _NEWEST:
        pytest.skip("there is no PostgreSQL")
    if request.param is Mariadb and shutil.which("mariadb-dump") is None:
        pytest.skip("mariadb-dump is not installed")
    chosen: Kind = request.param
    return chosen


@pytest.fixture(scope="module")
def captured(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> UsersData:
    """Return a dump of a server, and the workload that it logged."""
    folder = tmp_path_factory.mktemp("captured")
    with started(kind.name) as live:  # type: ignore[attr-defined]
        server = kind(live)
        server.load()
        server.dump(folder / "dump")
        log = server.log(True)
        server.work()
        server.log(False)
        capture((log,), folder / "a.workload", CaptureOptions())
    data = UsersData(
        source=folder / "dump",
        workload=folder / "a.workload",
        scripts=suites.load(str(folder / "a.workload")).scripts,
    )
    materials: Materials = PLUGIN.materials(data)
    (folder / "clients").mkdir()
    materials.write(folder / "clients")
    return data.with_materials(folder / "clients")


@pytest.fixture
def server(kind: Kind, captured: UsersData) -> Iterator[Postgresql | Mariadb]:
    """Return another server, with the dump restored."""
    with started(kind.name) as live:  # type: ignore[attr-defined]
        assert live.restore(captured).ok
        live.printed(PLUGIN.finish_background_work(live.program, live.endpoint, captured))
        yield kind(live)


def task(data: UsersData, half: str) -> Task:
    scale = Scale(size="smoke", threads=(CLIENTS,), data={"dump": str(data.source)})
    (one,) = Workload(name=str(data.workload), scale=scale).tasks((half,))
    assert data.prepared is not None
    return one.with_materials(data.prepared).in_order(7)


def replaying(server: Postgresql | Mariadb) -> Live:
    return dataclasses.replace(server.live, driver=PLUGIN)


def statements(header: Header, workload: Path, earlier: bool | None = None) -> dict[int, list[str]]:
    """Return the templates that each session executed, in their order."""
    executed: defaultdict[int, list[str]] = defaultdict(list)
    for transaction in read_transactions(workload, header):
        if earlier is None or (transaction.began < header.cut) == earlier:
            executed[transaction.session] += [
                header.templates[one.template].text.rstrip(";") for one in transaction.statements
            ]
    return executed


def test_what_is_replayed_is_what_was_logged_in_the_same_shares(
    server: Postgresql | Mariadb, captured: UsersData, tmp_path: Path
) -> None:
    header = read_header(captured.workload)
    wanted = Counter(chain(*statements(header, captured.workload, earlier=True).values()))
    # With so many one client, at least, has been through all of them.
    enough = CLIENTS * sum(
        transaction.began < header.cut
        for transaction in read_transactions(captured.workload, header)
    )
    log = server.log(True)
    with client(replaying(server), task(captured, "earlier"), tmp_path / "client") as clients:
        clients.await_ready(60)
        with clients.running():
            while clients.finished_events() < enough:
                clients.pass_time(0.01)
        clients.end(60)
        counts = clients.counts()
    server.log(False)
    if isinstance(server, Postgresql):
        printed = log.read_text()
        assert all(printed.count(f"'{word}'") > 10 for word in LITERALS)
    parts, _ = parts_of(header)
    assert len(parts) == len(counts.parts)
    assert counts.refused == 0
    assert counts.parts[:, 2].sum() == 0
    assert counts.parts[:, 0].sum() >= enough
    capture((log,), tmp_path / "again.workload", CaptureOptions())
    again = statements(read_header(tmp_path / "again.workload"), tmp_path / "again.workload")
    replayed = [[text for text in session if text in wanted] for session in again.values()]
    through_all = [session for session in replayed if len(session) >= wanted.total()]
    assert through_all
    for session in through_all:
        assert Counter(session[: wanted.total()]) == wanted
    foreign = sum(text not in wanted for session in again.values() for text in session)
    assert foreign <= 2 * CLIENTS


def test_every_kind_of_statement_is_a_step_of_its_own(
    server: Postgresql | Mariadb, captured: UsersData
) -> None:
    began = time.monotonic()
    whole, *parts = replaying(server).steps(task(captured, "earlier"))
    took = time.monotonic() - began
    assert whole.key == ""
    assert whole.operations > 10
    assert not whole.part
    assert len(parts) >= 5
    assert all(part.part and part.seconds > 0 and part.operations >= 1 for part in parts)
    # The statements' time is that of all clients, less what they do themselves.
    assert sum(part.seconds for part in parts) < CLIENTS * took


def test_the_statements_of_one_kind_alone_are_a_set_on_request(
    server: Postgresql | Mariadb, captured: UsersData, tmp_path: Path
) -> None:
    header = read_header(captured.workload)
    parts, numbers = parts_of(header)
    chosen = next(at for at, part in enumerate(parts) if part.group is Group.WRITE)
    texts = {
        template.text.rstrip(";")
        for template, number in zip(header.templates, numbers, strict=True)
        if number == chosen
    }
    log = server.log(True)
    replaying(server).steps(task(captured, parts[chosen].key))
    server.log(False)
    capture((log,), tmp_path / "again.workload", CaptureOptions())
    again = statements(read_header(tmp_path / "again.workload"), tmp_path / "again.workload")
    replayed = Counter(chain(*again.values()))
    assert sum(replayed[text] for text in texts) > 0.3 * replayed.total()
    others = {text.upper() for text in replayed if text not in texts and "@@" not in text}
    assert others <= {"BEGIN", "COMMIT", "END"}


def test_a_set_on_request_has_as_many_counting_clients_as_are_chosen(
    server: Postgresql | Mariadb, captured: UsersData, tmp_path: Path
) -> None:
    live, clients = server.live, 40
    one = task(captured, parts_of(read_header(captured.workload))[0][0].key)
    assert one.run is not None
    run = dataclasses.replace(one.run, threads=clients)
    request = DriverRequest(
        program=live.program,
        task=dataclasses.replace(one, run=run),
        database=live.endpoint,
    )
    counts = CountFile(tmp_path / "counts", clients, len(run.parts))
    argv = PLUGIN.counting_argv(request, counts.path)
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as process:
        while counts.ready < clients and process.poll() is None:
            time.sleep(0.05)
        counts.begin()
        while counts.finished() < clients and process.poll() is None:
            time.sleep(0.05)
        counts.end()
    assert process.returncode == 0


def test_two_servers_with_the_same_dump_answer_alike(
    server: Postgresql | Mariadb, kind: Kind, captured: UsersData
) -> None:
    def verified(live: Live) -> dict[str, str]:
        printed = live.printed(PLUGIN.verify(live.program, live.endpoint, captured))
        assert printed.count("answer") > 50
        return PLUGIN.answers(printed)

    with started(kind.name) as live:  # type: ignore[attr-defined]
        assert live.restore(captured).ok
        first = verified(live)
    assert verified(server.live) == first


def test_the_server_s_timeouts_do_not_end_what_hone_asks_for_itself(
    server: Postgresql | Mariadb, kind: Kind, captured: UsersData
) -> None:
    live = server.live
    if server.name == "postgresql":
        live.ask("ALTER SYSTEM SET statement_timeout = '1ms'")
        live.ask("SELECT pg_reload_conf()")
    else:
        live.ask("SET GLOBAL max_statement_time = 0.00001")
    printed = live.printed(PLUGIN.verify(live.program, live.endpoint, captured))
    assert "verified" in printed
    assert not re.search(r"failed (57014|1969)", printed)
    live.printed(PLUGIN.finish_background_work(live.program, live.endpoint, captured))


def test_every_result_of_a_procedure_is_read_before_the_next_statement() -> None:
    scripts = suites.load("sysbench:micro").scripts.parents[1] / "replay" / "scripts"
    with started("mariadb") as live:
        settle = SYSBENCH.finish_background_work(
            live.program, live.endpoint, Tables(tables=1, rows=100)
        )
        options = (*settle[2:-1], f"--folder={scripts}")
        lines = live.printed((settle[0], str(_CALL), *options, "ask")).splitlines()
    assert [line for line in lines if line][1:] == [
        *("first", "second", "afterwards"),
        *("before", "failed: 1146", "at last"),
    ]


def test_a_dump_with_an_error_is_told(kind: Kind, captured: UsersData, tmp_path: Path) -> None:
    broken = tmp_path / "broken.sql"
    broken.write_text("CREATE TABLE a (x int);\nINSERT INTO nosuch VALUES (1);\n")
    with started(kind.name) as live:  # type: ignore[attr-defined]
        data = UsersData(source=broken, workload=captured.workload, scripts=tmp_path)
        finished = live.restore(data)
        error = PLUGIN.error_in_output(finished.text())
    assert error is not None
    assert "nosuch" in error.message
