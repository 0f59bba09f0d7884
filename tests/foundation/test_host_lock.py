"""One heavy thing at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dbhone import host_lock
from dbhone.errors import MachineError
from dbhone.home import Home
from dbhone.host_lock import hold_host_lock


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_second_holder_waits_and_reports_that_once(home: Home) -> None:
    notified: list[str] = []
    order: list[str] = []
    holding, release = threading.Event(), threading.Event()

    def first() -> None:
        with hold_host_lock(home, lambda _: None):
            holding.set()
            release.wait()
            order.append("first")

    def waiting(other: str) -> None:
        notified.append(other)
        release.set()

    thread = threading.Thread(target=first)
    thread.start()
    holding.wait()
    with hold_host_lock(home, waiting) as waited:
        order.append("second")
        assert waited > 0
    thread.join()
    assert order == ["first", "second"]
    assert notified == [f"another hone (process {os.getpid()})"]


def test_who_waits_comes_before_who_had_the_turn_last(home: Home) -> None:
    order: list[str] = []
    wanted = threading.Event()

    def other() -> None:
        with hold_host_lock(home, lambda _: wanted.set()):
            order.append("other")

    thread = threading.Thread(target=other)
    with hold_host_lock(home, lambda _: None):
        thread.start()
        wanted.wait()
    with hold_host_lock(home, lambda _: None):
        order.append("again")
    thread.join()
    assert order == ["other", "again"]


_HOLDER = """
import sys
from pathlib import Path

from dbhone import host_lock
from dbhone.home import Home
host_lock._LOCK, host_lock._QUEUE_HEAD = ("\\0" + name for name in sys.argv[3:5])
with host_lock.hold_host_lock(Home(Path(sys.argv[5])), lambda _: None):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def other_holder(home: Home, container: str = "") -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Yield another hone that holds the lock until its input ends, and its description.

    In another container the sockets of the lock are others.
    """
    script = home.root / "hone"
    script.write_text(_HOLDER, encoding="utf-8")
    addresses = (host_lock._LOCK, host_lock._QUEUE_HEAD)
    ours = [address.removeprefix("\0") + container for address in addresses]
    with subprocess.Popen(
        [sys.executable, str(script), "run", "mysql-builds", *ours, str(home.root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        command = " ".join(["hone run mysql-builds", *ours, str(home.root)])
        yield other, f"another hone (process {other.pid}: {command})"


def test_whoever_waits_learns_which_command_holds_the_lock(home: Home) -> None:
    notified: list[str] = []
    with other_holder(home) as (other, description):

        def waiting(words: str) -> None:
            notified.append(words)
            other.communicate()

        with hold_host_lock(home, waiting):
            pass
    assert notified == [description]


def test_containers_that_share_a_home_wait_for_each_other(home: Home, tmp_path: Path) -> None:
    notified: list[str] = []
    with other_holder(home, container="other") as (other, _):

        def waiting(words: str) -> None:
            notified.append(words)
            other.communicate()

        (tmp_path / "elsewhere").mkdir()
        with hold_host_lock(Home(tmp_path / "elsewhere"), lambda _: pytest.fail("it waited")):
            pass
        with hold_host_lock(home, waiting) as waited:
            assert other.poll() is not None
            assert waited > 0
    assert notified == ["another hone"]


def test_a_container_that_waits_comes_before_the_one_that_had_the_turn_last(home: Home) -> None:
    with contextlib.ExitStack() as stack:
        with hold_host_lock(home, lambda _: None):
            begun = stack.enter_context(ThreadPoolExecutor(1)).submit(
                stack.enter_context, other_holder(home, container="other")
            )
            while _is_free(home.scratch):
                time.sleep(0.01)
        notified: list[str] = []

        def waiting(words: str) -> None:
            notified.append(words)
            begun.result()[0].communicate()

        with hold_host_lock(home, waiting):
            assert notified == ["another hone"]


def _is_free(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_whoever_waits_behind_another_learns_who_holds_the_lock_and_not_who_waits(
    home: Home,
) -> None:
    notified: list[str] = []
    at_the_head = threading.Event()

    def wait_before() -> None:
        with hold_host_lock(home, lambda _: at_the_head.set()):
            pass

    with other_holder(home) as (other, description):
        before = threading.Thread(target=wait_before)
        before.start()
        at_the_head.wait()

        def waiting(words: str) -> None:
            notified.append(words)
            other.communicate()

        with hold_host_lock(home, waiting):
            pass
        before.join()
    assert notified == [description]


_SQUATTER = """
import socket, sys, time
taken = socket.socket(socket.AF_UNIX)
taken.bind("\\0" + sys.argv[1])
taken.listen()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize("name", ["_LOCK", "_QUEUE_HEAD"])
def test_a_stranger_who_holds_the_lock_is_named_at_once(home: Home, name: str) -> None:
    address = getattr(host_lock, name).removeprefix("\0")
    with subprocess.Popen(
        ["/usr/bin/python3", "-c", _SQUATTER, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        user="nobody",
    ) as squatter:
        assert squatter.stdout is not None
        assert squatter.stdout.readline() == b"held\n"
        says = rf"process {squatter.pid} of user nobody \(/usr/bin/python3 .*is not hone"
        with pytest.raises(MachineError, match=says), hold_host_lock(home, lambda _: None):
            pass
        squatter.communicate()


def test_nobody_is_waited_for_longer_than_a_day(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_lock, "_PATIENCE", 0.0)
    monkeypatch.setattr(host_lock, "_LOOK", 0.0)
    with (
        hold_host_lock(home, lambda _: None),
        pytest.raises(MachineError, match=f"process {os.getpid()}.* has held .* for a day"),
        hold_host_lock(home, lambda _: None),
    ):
        pass
