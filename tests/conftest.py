"""Golden files: what output must look like, byte for byte. And a home to work in."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dbhone import files
from dbhone.home import Home
from dbhone.process import can_enclose
from dbhone.sandbox import TRUST_VARIABLE
from dbhone.session import Session, open_session
from dbhone.untrusted_files import remove_tree

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew, then look at them",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, bytes], None]:
    """Compare bytes with a golden file, or write it with --update-golden."""

    def compare(name: str, found: bytes) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(found)
        assert found.decode() == path.read_bytes().decode()

    return compare


@pytest.fixture(autouse=True)
def own_host_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lock among the tests only: they must not wait for a hone that measures beside them."""
    for name in ("_LOCK", "_QUEUE_HEAD"):
        monkeypatch.setattr(f"dbhone.host_lock.{name}", f"\0dbhone-tests-{os.getpid()}{name}")


@pytest.fixture(autouse=True)
def trust_where_nothing_can_be_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests fetch from the net's kinds of sources on machines without namespaces."""
    if not can_enclose():
        monkeypatch.setenv(TRUST_VARIABLE, "1")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """Return a session in a new home."""
    with open_session(Home(tmp_path / "home")) as opened:
        yield opened


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the folders whose file systems are written to their disks; to write all is refused."""

    def sync() -> None:
        pytest.fail("every file system of the machine was written to its disk")

    class Kernel:
        def syncfs(self, descriptor: int) -> int:
            folders.append(Path(f"/proc/self/fd/{descriptor}").readlink())
            status: int = libc.syncfs(descriptor)
            return status

    folders: list[Path] = []
    libc = files._LIBC
    monkeypatch.setattr("os.sync", sync)
    monkeypatch.setattr(files, "_LIBC", Kernel())
    return folders


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that others may pass: pytest's own are closed to them when root tests."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="hone-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        remove_tree(folder)


@pytest.fixture
def open_session_home(open_folder: Path) -> Iterator[Session]:
    """Return a session in a new home that servers' accounts can enter."""
    with open_session(Home(open_folder / "home")) as opened:
        yield opened
