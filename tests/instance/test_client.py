"""What a client does when a server is not what it should be; real ones are asked elsewhere."""

from __future__ import annotations

import gc
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone.dbms._mysql_protocol import MYSQL
from dbhone.dbms._postgresql_protocol import POSTGRESQL
from dbhone.dbms.base_protocol import Endpoint, Protocol
from dbhone.errors import ServerError
from dbhone.instance.client import connect


def _packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number]) + body


# MySQL's first word, with its protocol, version, capabilities and plugin; then "done" twice: to
# who the client is, and to the character set that it wants.
_GREETING = (
    b"\x0a8.0.12\0\x01\0\0\0" + b"12345678\0" + b"\x08\x82\x21\x02\0\x08\0\x15"
    b"" + bytes(10) + b"123456789012\0mysql_native_password\0"
)
_DONE = b"\0\0\0\x02\0\0\0"
# PostgreSQL's: the client is in without a password, and the server is ready.
WELCOME = {
    MYSQL: (_packet(0, _GREETING), _packet(2, _DONE), _packet(1, _DONE)),
    POSTGRESQL: (b"", b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I"),
}


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="hone-") as folder:
        yield Path(folder)


def endpoint(place: Path, protocol: Protocol) -> Endpoint:
    return Endpoint(protocol=protocol, socket=place / "s", user="u", database="d", port=1)


def hangs_up(place: Path, answers: tuple[bytes, ...] = ()) -> threading.Thread:
    """Listen for one client, say the first answer, the others when it spoke, and hang up."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(place / "s"))
    listening.listen(1)

    def serve() -> None:
        with listening, listening.accept()[0] as client:
            for answer in answers:
                client.sendall(answer)
                client.recv(4096)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("protocol", [MYSQL, POSTGRESQL])
def test_where_nobody_listens_there_is_no_connection(place: Path, protocol: Protocol) -> None:
    with pytest.raises(ServerError, match="no connection to the server"):
        connect(endpoint(place, protocol))
    gc.collect()  # a socket left open would be a warning, and a warning an error


@pytest.mark.parametrize("protocol", [MYSQL, POSTGRESQL])
def test_a_link_in_the_place_of_the_socket_is_not_followed(place: Path, protocol: Protocol) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place / "other"))
        other.listen(1)
        other.setblocking(False)
        (place / "s").symlink_to("other")
        with pytest.raises(ServerError, match="s is a link, not a socket"):
            connect(endpoint(place, protocol))
        with pytest.raises(BlockingIOError):
            other.accept()
    gc.collect()


def test_a_file_in_the_place_of_the_socket_is_told(place: Path) -> None:
    (place / "s").touch()
    with pytest.raises(ServerError, match="s is a file, not a socket"):
        connect(endpoint(place, MYSQL))
    gc.collect()


@pytest.mark.parametrize("protocol", [MYSQL, POSTGRESQL])
def test_a_server_that_hangs_up_at_a_question_is_told_and_leaves_nothing_open(
    place: Path, protocol: Protocol
) -> None:
    server = hangs_up(place, WELCOME[protocol])
    client = connect(endpoint(place, protocol))
    with pytest.raises(ServerError, match="does not answer"):
        client.ask("SELECT 1")
    client.close()
    client.close()
    server.join()
    del client
    gc.collect()


@pytest.mark.parametrize("protocol", [MYSQL, POSTGRESQL])
def test_a_server_that_hangs_up_at_once_does_not_let_in(place: Path, protocol: Protocol) -> None:
    server = hangs_up(place)
    with pytest.raises(ServerError, match="no connection to the server"):
        connect(endpoint(place, protocol))
    server.join()
    gc.collect()
