"""The servers of an experiment: what decides what is loaded into them."""

from __future__ import annotations

import contextlib
import shutil
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbhone import process
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import KeptFile
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.base_server import Installation, ServerDbms
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.errors import ServerError, UsageError
from dbhone.experiment.target.order import BlockSeed
from dbhone.experiment.target.server_pool import ServerPool, ServerSpec, loading_settings
from dbhone.instance.client import connect
from dbhone.instance.programs import installation_of
from dbhone.instance.server import Server
from dbhone.instance.settings import ResolvedSettings
from dbhone.session import Session
from dbhone.workload import suite as suites
from dbhone.workload.drivers import replay
from dbhone.workload.task import Scale, Task
from dbhone.workload.workload import Workload
from tests.capture.written_logs import GOLDEN
from tests.compilation.plain_build import plain_build
from tests.experiment.pretended import pretended_server
from tests.instance import lives
from tests.instance.conftest import skip_without_account
from tests.workload.live import open_folder
from tests.workload.written_workload import Asked, workload_of

GENERAL_LOG = GOLDEN / "mariadb-10.11-general.log"


def test_of_the_settings_only_those_that_shape_data_hold_for_loading() -> None:
    charset = RequestedSetting(name="loose-Character-Set-Server", value="utf8mb4")
    pages = RequestedSetting(name="innodb-page-size", value="4k")
    engine = RequestedSetting(name="default_storage_engine", value="MyISAM")
    words = RequestedSetting(name="innodb_ft_min_token_size", value="2")
    settings = (charset, RequestedSetting(name="sync_binlog", value="1"), pages, engine, words)
    assert loading_settings(lives.Mariadb(), settings) == (charset, pages, engine, words)
    target = RequestedSetting(name="default_statistics_target", value="10")
    jit = RequestedSetting(name="jit", value="on")
    assert loading_settings(lives.Postgresql(), (target, jit)) == (target,)


def test_a_server_has_another_layout_of_its_code_in_each_block() -> None:
    server = pretended_server("10.11.6")
    usual = server.installation
    layouts = tuple(replace(usual, prefix=Path(name)) for name in ("/1", "/2"))
    spec = replace(server, layouts=layouts)
    in_blocks = [
        spec.in_block(BlockSeed.of_block(1, block, fresh_data=False), "rel") for block in (0, 1)
    ]
    assert {one.installation.prefix for one in in_blocks} == {Path("/1"), Path("/2")}
    assert all(one.tools == usual for one in in_blocks)


def test_a_server_takes_the_clients_of_whatever_may_be_asked_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of warm-ups and of sets on request, too, if they have numbers of their own."""
    workload = Workload(name="sysbench:micro", scale=Scale(size="smoke"))
    suite, usual = workload.suite, workload.connections
    name = suite.warm_ups()[0]
    many = {**suite.sets, name: suite.sets[name].model_copy(update={"threads": 64})}
    wider = suite.model_copy(update={"sets": many})
    monkeypatch.setattr(suites, "load", lambda _: wider)
    assert workload.connections >= max(64, usual)


def pool_of(session: Session) -> ServerPool:
    workload = Workload(name="sysbench:micro", scale=Scale(size="smoke"))
    return ServerPool(session, workload, lambda _: None)


def data_key(session: Session, version: str, source: str) -> str:
    """Return the key of the loaded data of a PostgreSQL."""
    installation = Installation(
        dbms="postgresql",
        version=version,
        prefix=Path("/p"),
        server=Path("/p/bin/postgres"),
        source=source,
    )
    spec = ServerSpec(dbms=lives.Postgresql(), installation=installation, settings=())
    pool = pool_of(session)
    return pool._key(spec, pool.clients.data)


@pytest.mark.parametrize("version", ["15.16", "9.6.24"])
def test_one_release_has_one_set_of_loaded_data(session: Session, version: str) -> None:
    assert data_key(session, version, "1" * 64) == data_key(session, version, "2" * 64)


@pytest.mark.parametrize("version", ["19devel", "18beta1", "17rc1", "9.6rc1"])
def test_each_source_of_a_version_under_development_has_data_of_its_own(
    session: Session, version: str
) -> None:
    assert data_key(session, version, "1" * 64) != data_key(session, version, "2" * 64)
    assert data_key(session, version, "1" * 64) == data_key(session, version, "1" * 64)


def test_the_server_of_a_build_tells_its_source(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("postgres", "initdb"):
        program = tmp_path / "bin" / name
        program.touch()
        program.chmod(0o755)
    inputs = BuildInputs(dbms="postgresql", source="dir:/x", variant=parse_variant("rel"))
    kept = KeptFile(path="bin/postgres", bytes=0, sha256="0" * 64)
    build = plain_build(tmp_path, inputs, source_digest="5" * 64, files={"server": kept})
    assert installation_of(lives.Postgresql(), build).source == "5" * 64


def mariadb_with(**settings: str) -> ServerSpec:
    """Return this machine's MariaDB with these settings; skip the test where there is none."""
    return server_with(lives.Mariadb(), lives.MARIADB, settings)


def postgresql_with(**settings: str) -> ServerSpec:
    return server_with(lives.Postgresql(), lives.POSTGRESQL, settings)


def server_with(dbms: ServerDbms, prefix: Path, settings: dict[str, str]) -> ServerSpec:
    installation = lives.installed(dbms, prefix)
    if installation is None:
        pytest.skip(f"{dbms.title} is not installed")
    return ServerSpec(
        dbms=dbms,
        installation=installation,
        settings=tuple(RequestedSetting(name=name, value=settings[name]) for name in settings),
    )


def pool_with(session: Session, dump: Path, folder: Path, protocol: str = "mysql") -> ServerPool:
    """Return servers on which a captured workload is replayed, for which a dump is restored."""
    asked: Asked = ("text", "SELECT 1", [])
    workload = workload_of(folder, protocol, [[asked]])
    scale = Scale(size="smoke", data={"dump": str(dump)})
    replayed = Workload(name=str(workload), scale=scale)
    return ServerPool(session, replayed, lambda _: None)


def test_a_dump_that_is_written_anew_is_not_loaded_beside_what_servers_have(
    session: Session, tmp_path: Path
) -> None:
    dump = tmp_path / "shop.sql"
    dump.write_text("CREATE TABLE orders (id int);\n")
    pool, spec = pool_with(session, dump, tmp_path), pretended_server("10.11.6")
    kept = session.home.data / pool._key(spec, pool.clients.data)
    (kept / "data").mkdir(parents=True)
    dump.write_text("CREATE TABLE orders (id int, name text);\n")

    assert pool._kept_data(spec) == kept
    with pytest.raises(UsageError, match=r"changed while hone ran: shop\.sql"):
        pool._kept_data(pretended_server("10.6.25"))


def refused(folder: Path) -> None:
    raise UsageError(f"a running server uses {folder}")


def test_a_data_directory_may_be_used_again_once_its_copy_is_kept(
    open_session_home: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_account(open_session_home)
    session = open_session_home
    folder = tmp_path / "mysql"
    folder.mkdir()
    (folder / "ibdata1").write_bytes(b"rows")
    workload = workload_of(tmp_path, "mysql", [[("text", "SELECT 1", [])]])
    scale = Scale(size="smoke", data={"folder": str(folder), "database": "shop"})
    pool = ServerPool(session, Workload(name=str(workload), scale=scale), lambda _: None)
    spec = pretended_server("10.11.6")
    (session.home.data / pool._key(spec, pool.clients.data) / "data").mkdir(parents=True)
    monkeypatch.setattr(
        "dbhone.instance.settings.choose", lambda *_, **__: ResolvedSettings(values={})
    )
    monkeypatch.setattr(Server, "__enter__", lambda server: server)
    monkeypatch.setattr(Server, "__exit__", lambda *_: None)
    monkeypatch.setattr(replay, "check_unused", refused)
    driven: list[str] = []

    def drive(_: Server, task: Task) -> SimpleNamespace:
        driven.append(task.set)
        return SimpleNamespace(require_report=lambda: None)

    monkeypatch.setattr(pool.clients, "drive", drive)
    with pool.running(spec) as server:
        pool.clients.warm_up(server, BlockSeed())
    assert len(driven) > 0


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_a_dump_that_is_written_anew_changes_no_data(
    open_session_home: Session, tmp_path: Path
) -> None:
    skip_without_account(open_session_home)
    dump, spec = tmp_path / "shop.sql", mariadb_with()
    counts: list[int] = []
    for word in ("VALUES (1)", "VALUES (1), (2)"):
        dump.write_text(f"CREATE TABLE orders (id int);\nINSERT INTO orders {word};\n")
        if not counts:
            pool = pool_with(open_session_home, dump, tmp_path)
        with (
            pool.running(spec) as server,
            contextlib.closing(connect(server.endpoint)) as client,
        ):
            ((count,),) = client.ask("SELECT count(*) FROM sbtest.orders")
        counts.append(int(str(count)))
    assert counts == [1, 1]


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_what_clients_replay_is_closed_to_others_and_clients_read_it(
    open_session_home: Session, tmp_path: Path
) -> None:
    skip_without_account(open_session_home)
    if not process.can_enclose():
        pytest.skip("without sandboxes the clients' account is not the servers'")
    dump = tmp_path / "shop.sql"
    dump.write_text("CREATE TABLE orders (id int);\n")
    pool = pool_with(open_session_home, dump, tmp_path)
    assert "answer sbtest.orders" in str(pool.verify(mariadb_with())).replace("`", "")
    (written,) = open_session_home.home.data.glob("**/earlier")
    closed = written.parents[1]
    assert closed.parent == open_session_home.home.data
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_a_row_longer_than_servers_usually_allow_is_loaded(
    open_session_home: Session, tmp_path: Path
) -> None:
    skip_without_account(open_session_home)
    dump, longest = tmp_path / "shop.sql", 20_000_000
    dump.write_text(
        f"CREATE TABLE pages (id int, text longtext);\nINSERT INTO pages VALUES (1,"
        f" '{'x' * longest}');\n"
    )
    pool = pool_with(open_session_home, dump, tmp_path)
    with (
        pool.running(mariadb_with()) as server,
        contextlib.closing(connect(server.endpoint)) as client,
    ):
        ((length, packet),) = client.ask(
            "SELECT LENGTH(text), @@max_allowed_packet FROM sbtest.pages"
        )
    assert (int(str(length)), int(str(packet))) == (longest, 16 * 1024**2)


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
@pytest.mark.parametrize("name", ["mariadb", "postgresql"])
def test_a_dump_that_only_its_owner_can_read_is_restored(
    open_session_home: Session, tmp_path: Path, name: str
) -> None:
    skip_without_account(open_session_home)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    dump = closed / "shop.sql"
    dump.write_text("CREATE TABLE orders (id int);\nINSERT INTO orders VALUES (1), (2), (3);\n")
    dump.chmod(0o600)
    spec = mariadb_with() if name == "mariadb" else postgresql_with()
    pool = pool_with(open_session_home, dump, tmp_path, spec.dbms.protocol.name)
    table = "sbtest.orders" if name == "mariadb" else "orders"
    with (
        pool.running(spec) as server,
        contextlib.closing(connect(server.endpoint)) as client,
    ):
        assert [int(str(n)) for (n,) in client.ask(f"SELECT count(*) FROM {table}")] == [3]


def page_size(pool: ServerPool, spec: ServerSpec) -> int:
    with (
        pool.running(spec) as server,
        contextlib.closing(connect(server.endpoint)) as client,
    ):
        ((size, rows),) = client.ask(
            "SELECT @@innodb_page_size, (SELECT COUNT(*) FROM sbtest.sbtest1)"
        )
    assert int(str(rows)) > 0
    return int(str(size))


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_servers_with_pages_of_two_sizes_have_data_of_their_own_and_answer_alike(
    open_session_home: Session,
) -> None:
    skip_without_account(open_session_home)
    usual, small = mariadb_with(), mariadb_with(innodb_page_size="4k")
    pool = pool_of(open_session_home)

    assert [page_size(pool, spec) for spec in (usual, small)] == [16384, 4096]
    kept = sorted(open_session_home.home.data.glob("mariadb-*"))
    assert pool.verify(usual) == pool.verify(small)
    assert sorted(open_session_home.home.data.glob("mariadb-*")) == kept
    assert len(kept) == 2


@pytest.mark.integration
@pytest.mark.parametrize(
    ("with_settings", "name"),
    [(mariadb_with, "aria_log_file_size"), (postgresql_with, "max_connections")],
)
def test_a_server_is_tried_on_no_data(
    open_session_home: Session, with_settings: Callable[..., ServerSpec], name: str
) -> None:
    skip_without_account(open_session_home)
    pool = pool_of(open_session_home)
    pool.try_start(with_settings())
    with pytest.raises(ServerError, match=name.replace("_", ".")):
        pool.try_start(with_settings(**{name: "none"}))
    assert not list(open_session_home.home.data.iterdir())


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_a_dump_of_several_databases_is_asked_in_its_first(open_session_home: Session) -> None:
    skip_without_account(open_session_home)
    spec = mariadb_with()
    with open_folder() as folder:
        asked: Asked = ("text", "SELECT * FROM orders", [])
        workload = workload_of(folder, "mysql", [[asked]])
        (folder / "a.sql").write_text(
            "CREATE DATABASE shop;\nUSE `shop`;\nCREATE TABLE orders (id int);\n"
            "CREATE DATABASE other;\nUSE `other`;\n"
        )
        scale = Scale(size="smoke", data={"dump": str(folder / "a.sql")})
        asks = Workload(name=str(workload), scale=scale)
        found = ServerPool(open_session_home, asks, lambda _: None).verify(spec)
    assert found.refusals is None
    assert "answer `shop`.`orders`" in found.answers
