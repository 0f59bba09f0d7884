"""A server logs for a while: what it logged is captured, and its settings are restored."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.capture import live
from dbhone.capture.capture import CaptureOptions
from dbhone.capture.live import capture_live
from dbhone.capture.servers.base import (
    Address,
    Connection,
    NoAnswerError,
    RefusedError,
    parse_address,
)
from dbhone.errors import MachineError, UsageError
from dbhone.home import Home
from tests.capture.addresses import address_of
from tests.capture.pretended import ON, PUT_BACK, REMOVE, Pretended
from tests.workload.live import started

ADDRESS = parse_address("mysql://me@db1")


@pytest.fixture
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretended:
    """Return a server that takes every statement; no watcher waits for one that does not answer."""
    server = Pretended(tmp_path / "asked")
    monkeypatch.setattr(live, "load_server", lambda _: server)
    monkeypatch.setattr(live, "_PATIENCE", 0.0)
    return server


def captured_of(
    folder: Path,
    waiting: Callable[[float], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
    output: Path | None = None,
) -> None:
    """Capture the pretended server for a moment."""
    capture_live(
        Home(folder / "home"),
        ADDRESS,
        0.01,
        output or folder / "a.workload",
        CaptureOptions(),
        ask=lambda _: None,
        tell=tell,
        waiting=waiting,
    )


def notes(folder: Path) -> list[Path]:
    return list((folder / "home" / "logging").glob("*"))


def test_a_note_names_the_server_and_what_puts_its_settings_back(
    tmp_path: Path, pretended: Pretended
) -> None:
    written: list[str] = []

    def take(_: float) -> None:
        written.extend(note.read_text() for note in notes(tmp_path))

    captured_of(tmp_path, take)
    note = json.loads(written[0])
    process, start = note["hone"]
    file = tmp_path / "home" / "logging" / "a.json"
    file.write_text(json.dumps(note))
    assert live.left_on(Home(tmp_path / "home")) == ((), ())
    # Another process may have got the number since then.
    file.write_text(json.dumps(note | {"hone": [process, start - 1]}))
    ((found,), unreadable) = live.left_on(Home(tmp_path / "home"))
    assert not unreadable
    assert found.address == ADDRESS
    before = len(pretended.asked())
    live.put_back(found, lambda _: None)
    assert pretended.asked()[before:] == [*PUT_BACK, *REMOVE]
    assert not notes(tmp_path)


def test_a_server_that_listens_on_its_socket_only_has_its_password_asked_for(
    pretended: Pretended, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect_to(address: Address, password: str | None) -> Connection:
        if not address.socket:
            raise NoAnswerError("connection refused")
        if password is None:
            raise RefusedError("a password is wanted")
        return pretended

    monkeypatch.setattr(pretended, "connect_to", connect_to)
    monkeypatch.setattr(Path, "is_socket", lambda _: True)
    pretended.sockets = ("/run/a.sock",)
    address = parse_address("mysql://me@localhost")
    assert live._logged_in(address, lambda _: "secret") == (pretended, "secret")
    with pytest.raises(RefusedError, match="a password is wanted"):
        live._logged_in(address, lambda _: None)


def test_where_the_log_cannot_be_read_nothing_is_switched_on(
    tmp_path: Path, pretended: Pretended
) -> None:
    pretended.refused |= {"the log", *PUT_BACK}
    with pytest.raises(RefusedError, match="the log"):
        captured_of(tmp_path)
    assert not {*ON, *PUT_BACK} & set(pretended.asked())
    assert not notes(tmp_path)


def test_where_a_setting_may_not_be_changed_the_others_are_put_back_and_no_note_stays(
    tmp_path: Path, pretended: Pretended
) -> None:
    pretended.refused |= {ON[1], PUT_BACK[0]}
    with pytest.raises(RefusedError, match=ON[1]):
        captured_of(tmp_path)
    assert pretended.asked()[-4:] == [*ON, *PUT_BACK]
    assert not notes(tmp_path)


@pytest.mark.parametrize(("error", "tries"), [(RefusedError, 1), (NoAnswerError, 3)])
def test_the_watcher_tries_again_only_where_the_server_does_not_answer(
    pretended: Pretended,
    monkeypatch: pytest.MonkeyPatch,
    error: type[MachineError],
    tries: int,
) -> None:
    tried: list[None] = []

    def connect(*_: object) -> Connection:
        tried.append(None)
        raise error("not now") if len(tried) < 3 else RefusedError("never")

    monkeypatch.setattr(pretended, "connect", connect)
    monkeypatch.setattr(live, "_PATIENCE", 600.0)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(RefusedError):
        live._put_back_patiently(ADDRESS, None, pretended.logging_statements(pretended))
    assert len(tried) == tries


def test_what_was_logged_is_removed_once_it_is_fetched(
    tmp_path: Path, pretended: Pretended
) -> None:
    told: list[str] = []
    captured_of(tmp_path, tell=told.append)
    assert pretended.asked() == ["the log", *ON, *PUT_BACK, "fetch", *REMOVE]
    assert "replicas have it, too" in told
    assert "it stays in the file" in told


class Lost(BaseException):
    """What ends a capture in its middle."""


def test_what_was_logged_is_removed_also_where_a_capture_is_interrupted(
    tmp_path: Path, pretended: Pretended
) -> None:
    def lose(_: float) -> None:
        raise Lost

    with pytest.raises(Lost):
        captured_of(tmp_path, waiting=lose)
    assert pretended.asked() == ["the log", *ON, *PUT_BACK, *REMOVE]
    assert not notes(tmp_path)


@pytest.mark.parametrize(
    "logged", [b"", b"2026-05-04T10:20:30.000000Z\t    8 Connect\tme@db1 on\n"]
)
def test_where_no_client_asks_anything_that_is_told_with_the_server_s_address(
    tmp_path: Path, pretended: Pretended, logged: bytes
) -> None:
    pretended.logged = logged
    with pytest.raises(UsageError, match=r"no client asked mysql://me@db1:3306/ anything in 0 s"):
        captured_of(tmp_path)


def test_a_log_that_a_server_gave_has_the_server_s_address_for_a_name(
    tmp_path: Path, pretended: Pretended
) -> None:
    pretended.logged = b"nothing of it is a log\n"
    with pytest.raises(UsageError, match=r"^mysql://me@db1:3306/ is not a log"):
        captured_of(tmp_path)


def test_a_file_that_cannot_be_written_is_told_before_the_server_is_asked(
    tmp_path: Path, pretended: Pretended
) -> None:
    with pytest.raises(UsageError, match=r"cannot write .*none/a\.workload: No such file"):
        captured_of(tmp_path, output=tmp_path / "none" / "a.workload")
    assert not pretended.asked()


def test_what_was_logged_is_kept_where_no_workload_comes_of_it(
    tmp_path: Path, pretended: Pretended
) -> None:
    told: list[str] = []
    pretended.logged = b"nothing of it is a log\n"
    with pytest.raises(UsageError, match="is not a log"):
        captured_of(tmp_path, tell=told.append)
    (spool,) = tmp_path.glob("a.*.log")
    assert spool.read_bytes() == pretended.logged
    assert spool.stat().st_mode & 0o077 == 0
    assert f"'hone capture {spool} -o {tmp_path / 'a.workload'}'" in told[-1]


@pytest.mark.parametrize("logged", [b"", Pretended.logged])
def test_no_log_stays_where_there_is_a_workload_and_where_no_client_asked(
    tmp_path: Path, pretended: Pretended, logged: bytes
) -> None:
    pretended.logged = logged
    with contextlib.suppress(UsageError):
        captured_of(tmp_path)
    assert (tmp_path / "a.workload").exists() is bool(logged)
    assert not list(tmp_path.glob("*.log"))


@pytest.mark.integration
def test_what_clients_ask_meanwhile_is_captured_and_the_settings_are_restored(
    tmp_path: Path,
) -> None:
    settings = "SELECT CONCAT(@@GLOBAL.general_log, @@GLOBAL.log_output)"
    with started("mariadb") as server:
        before = server.ask(settings)

        def ask(_: float) -> None:
            server.ask("SELECT 4711")

        captured = capture_live(
            Home(tmp_path / "home"),
            address_of(server),
            3.0,
            tmp_path / "a.workload",
            CaptureOptions(),
            ask=lambda _: None,
            tell=lambda _: None,
            waiting=ask,
        )
        assert server.ask(settings) == before
    assert ("SELECT ", "") in [each.pieces for each in captured.header.templates]
    assert not list((tmp_path / "home" / "logging").iterdir())


@pytest.mark.integration
def test_a_second_capture_of_a_server_is_refused_while_one_is_under_way(tmp_path: Path) -> None:
    settings = "SELECT CONCAT(@@GLOBAL.general_log, @@GLOBAL.log_output)"
    with started("mariadb") as server:
        before = server.ask(settings)
        refused: list[str] = []

        def capture(name: str, waiting: Callable[[float], None]) -> None:
            capture_live(
                Home(tmp_path / name),
                address_of(server),
                2.0,
                tmp_path / f"{name}.workload",
                CaptureOptions(),
                ask=lambda _: None,
                tell=lambda _: None,
                waiting=waiting,
            )

        def second(_: float) -> None:
            server.ask("SELECT 4711")
            with pytest.raises(MachineError, match="another capture") as error:
                capture("second", lambda _: None)
            refused.append(str(error.value))

        capture("first", second)
        assert refused
        assert server.ask(settings) == before
