from __future__ import annotations

import gzip
import hashlib
import http.server
import os
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
import urllib3

from dbhone.errors import HoneError, SourceError
from dbhone.session import Session
from dbhone.source.kinds import https
from tests.source.getting import get
from tests.source.make_archives import tarred
from tests.source.make_elf import elf


def archive(name: str, content: bytes) -> bytes:
    return gzip.compress(tarred({f"project-1/{name}": content}))


CONTENT = archive("file", b"one")
SERVER = archive("bin/mysqld", elf())
SUM = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers by the path: /good, /server, /short (ends early), /to?URL (redirects), /500, …."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        name, _, rest = self.path.lstrip("/").partition("?")
        if name == "to":
            self.answer(302, b"", Location=rest)
        elif name == "loop":
            self.answer(302, b"", Location="/loop")
        elif name.isdigit():
            self.answer(int(name), b"sorry")
        elif name.startswith("short"):
            self.answer(200, CONTENT[:50], length=len(CONTENT))
        else:
            self.answer(200, SERVER if name.startswith("server") else CONTENT)

    def answer(
        self, status: int, body: bytes, *, length: int | None = None, **headers: str
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


class QuietServer(http.server.HTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are what is tested."""


class Server:
    """An https server on this machine, with an authority of its own."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.authority = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.authority))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self.asked: list[str] = []
        handler = type("Asked", (Handler,), {"asked": self.asked})
        self.server = QuietServer(("127.0.0.1", 0), handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://localhost:{self.server.server_address[1]}"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server(tmp_path)
    thread = threading.Thread(target=server.server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(server.authority))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    monkeypatch.setattr("urllib3.util.retry.Retry.sleep", lambda *_: None)
    try:
        yield server
    finally:
        server.server.shutdown()
        thread.join()
        server.server.server_close()


def refused(text: str, session: Session) -> HoneError:
    """Return the error that this reference gives; nothing may be left of it."""
    with pytest.raises(HoneError) as caught:
        get(session, text)
    assert not list(session.home.sources.iterdir())
    return caught.value


def test_an_archive_is_fetched_verified_and_unpacked(
    server: Server, session: Session, notified: list[str]
) -> None:
    text = f"{server.url}/good/project-1.tar.gz#sha256={SUM}"
    tree = get(session, text, notified.append)
    assert [path.name for path in tree.path.iterdir()] == ["file"]
    assert tree.resolved == text
    assert any("downloading project-1.tar.gz, " in line for line in notified)


def test_a_ready_made_server_can_be_executed(server: Server, session: Session) -> None:
    text = f"{server.url}/server.tar.gz#sha256={hashlib.sha256(SERVER).hexdigest()}"
    tree = get(session, text)
    assert os.access(tree.path / "bin" / "mysqld", os.X_OK)


def test_the_same_archive_again_needs_no_server(server: Server, session: Session) -> None:
    text = f"{server.url}/good#sha256={SUM}"
    first = get(session, text)
    assert get(session, text) == first
    assert len(server.asked) == 1


def test_redirects_are_followed(server: Server, session: Session) -> None:
    get(session, f"{server.url}/to?/to?{server.url}/good#sha256={SUM}")
    assert server.asked[-1] == "/good"


def test_a_wrong_checksum_is_refused_and_reported(server: Server, session: Session) -> None:
    error = refused(f"{server.url}/good#sha256={'0' * 64}", session)
    assert isinstance(error, SourceError)
    assert "different checksum" in error.message
    assert SUM in error.message


def test_a_checksum_is_verified_before_anything_is_unpacked(
    server: Server, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("unpacked")

    monkeypatch.setattr("dbhone.source.kinds.https.unpack", never)
    refused(f"{server.url}/good#sha256={'0' * 64}", session)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("/404", "answered 404"),
        ("/500", "answered 500"),
        ("/503", "503"),
        ("/304", "answered 304"),
        ("/short", "IncompleteRead"),
        ("/to?http://localhost/good", "not https"),
        ("/to?file:///etc/passwd", "not https"),
    ],
)
def test_bad_answers_are_reported(server: Server, session: Session, path: str, part: str) -> None:
    error = refused(f"{server.url}{path}#sha256={SUM}", session)
    assert isinstance(error, SourceError)
    assert part in error.message


def test_redirects_end(server: Server, session: Session) -> None:
    error = refused(f"{server.url}/loop#sha256={SUM}", session)
    assert "redirects too many times" in error.message


def test_an_unknown_authority_is_not_trusted(
    server: Server, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = tmp_path / "stranger.pem"
    trustme.CA().cert_pem.write_to_path(str(stranger))
    monkeypatch.setenv("SSL_CERT_FILE", str(stranger))
    error = refused(f"{server.url}/good#sha256={SUM}", session)
    assert "CERTIFICATE_VERIFY_FAILED" in error.message
    assert not server.asked


def test_a_certificate_for_another_host_is_not_trusted(server: Server, session: Session) -> None:
    error = refused(f"{server.url.replace('localhost', '127.0.0.1')}/good#sha256={SUM}", session)
    assert "CERTIFICATE_VERIFY_FAILED" in error.message


def test_a_server_that_is_not_there_is_reported(server: Server, session: Session) -> None:
    error = refused(f"https://localhost:1/good#sha256={SUM}", session)
    assert "cannot download" in error.message
    assert error.hint is not None


@pytest.mark.parametrize(("direct", "proxied"), [("other.example", True), ("h.example", False)])
def test_the_machines_proxy_is_used(
    monkeypatch: pytest.MonkeyPatch, direct: str, proxied: bool
) -> None:
    for name in ("https_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", direct)
    with https._pool("https://h.example/a") as pool:
        assert (pool.proxy is not None) == proxied
        if pool.proxy is not None:
            assert (pool.proxy.host, pool.proxy.port) == ("proxy.example", 3128)


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        ("", None),
        ("me:secret@", b"me:secret"),
        ("me:%40%3a%C3%BC@", "me:@:\N{LATIN SMALL LETTER U WITH DIAERESIS}".encode()),
        ("me@", b"me:"),
    ],
)
def test_a_proxy_gets_the_password_in_its_address(
    monkeypatch: pytest.MonkeyPatch, user: str, sent: bytes | None
) -> None:
    for name in ("https_proxy", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://{user}proxy.example:3128")
    headers = {} if sent is None else {"proxy-authorization": f"Basic {b64encode(sent).decode()}"}
    with https._pool("https://h.example/a") as pool:
        assert isinstance(pool, urllib3.ProxyManager)
        assert pool.proxy_headers == headers
