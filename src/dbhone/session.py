"""The sessions that use a home: one is one running ``hone``.

It holds a locked file in ``sessions/``; the kernel drops the lock when the session ends, however it
ends. The next session that opens the home sees an unlocked file, ends what may be left of that
session's processes, and removes its scratch and the control groups of all hones that are dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dbhone.cgroup import remove_dead_groups
from dbhone.command import SESSION_VARIABLE
from dbhone.errors import MachineError
from dbhone.files import open_to_all, opened_folder, publish, text_if_there
from dbhone.home import Home, make_folder, make_home, unusable
from dbhone.untrusted_files import remove_tree

_PRIVATE = 0o700
_PATIENCE = 5.0
_POLL = 0.1

Notify = Callable[[str], None]
"""Gets a line that says what is being done, for the user to read."""


@dataclass(frozen=True, slots=True)
class Session:
    """One running hone in one home."""

    id: str
    home: Home

    @property
    def scratch(self) -> Path:
        """This session's own folder for work in progress."""
        return self.home.scratch / self.id

    def workdir(self, purpose: str) -> Path:
        """Return a new empty folder for ``purpose``; it is removed when the session ends."""
        path = self.scratch / f"{purpose}-{uuid.uuid4().hex[:8]}"
        make_folder(self.scratch, shared=True)
        path.mkdir(mode=_PRIVATE)
        return path

    def fill_once(self, folder: Path, write: Callable[[Path], None]) -> Path:
        """Return a folder that everybody may read; ``write`` fills it unless it is there.

        It appears whole or not at all, whatever ends hone meanwhile.
        """
        if not folder.is_dir():
            draft = self.workdir(folder.name)
            write(draft)
            open_to_all(draft)
            publish(draft, folder)
        return folder

    @contextlib.contextmanager
    def fixed_workdir(self, name: str) -> Iterator[Path]:
        """Yield an empty folder whose path is the same in every session; remove it afterwards.

        Only one session at a time has it. Another waits for a few seconds, then it raises
        MachineError.
        """
        claim = _claim_alone(self.home, name)
        path = self.home.fixed_workdir(name)
        try:
            remove_tree(path)
            path.mkdir(mode=_PRIVATE)
            yield path
        finally:
            with contextlib.suppress(OSError):
                remove_tree(path)
            (self.home.sessions / name).unlink(missing_ok=True)
            os.close(claim)


@contextlib.contextmanager
def open_session(home: Home) -> Iterator[Session]:
    """Make the home if needed, clean up after dead sessions, and yield a new session."""
    session = Session(uuid.uuid4().hex[:12], home)
    try:
        make_home(home)
        descriptor = _claim(home.sessions / session.id)
    except OSError as error:
        raise unusable(home, error) from error
    _sweep(home)
    os.environ[SESSION_VARIABLE] = session.id
    try:
        yield session
    finally:
        os.environ.pop(SESSION_VARIABLE, None)
        with contextlib.suppress(OSError):
            remove_tree(session.scratch)
        (home.sessions / session.id).unlink(missing_ok=True)
        os.close(descriptor)


@contextlib.contextmanager
def open_traceless_session(home: Home) -> Iterator[Session]:
    """Yield a new session that makes no home: where there is none, its home is temporary.

    The temporary one is on the same file system, below the same folders.
    """
    with contextlib.ExitStack() as stack:
        chosen = home if home.root.exists() else stack.enter_context(_temporary_home(home))
        yield stack.enter_context(open_session(chosen))


@contextlib.contextmanager
def _temporary_home(home: Home) -> Iterator[Home]:
    """Yield a new home in the nearest folder above ``home`` that exists; remove it afterwards."""
    above = next(folder for folder in home.root.parents if folder.is_dir())
    try:
        root = Path(tempfile.mkdtemp(prefix=".hone", dir=above))
    except OSError as error:
        raise unusable(home, error) from error
    try:
        yield Home(root)
    finally:
        with contextlib.suppress(OSError):
            remove_tree(root)


def is_alive(home: Home, session_id: str) -> bool:
    """Return whether the session runs now."""
    try:
        descriptor = os.open(home.sessions / session_id, os.O_RDWR)
    except OSError:
        return False
    try:
        # Shared, so that two who look at once do not take each other for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def in_use(home: Home) -> bool:
    """Return whether a session works in the home now."""
    names = (path.name for path in home.sessions.glob("*") if not path.name.startswith("."))
    return any(is_alive(home, name) for name in names)


@contextlib.contextmanager
def guarded(home: Home) -> Iterator[None]:
    """Lock the folder of sessions, so that no other session claims names or sweeps meanwhile.

    A new session waits for it before it does anything. Whoever holds it must not wait for the host
    lock, whose holders wait for this one.
    """
    make_folder(home.sessions, shared=False)
    with opened_folder(home.sessions) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _claim(path: Path) -> int:
    draft = path.with_name(f".{path.name}")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    draft.rename(path)
    return descriptor


def _claim_alone(home: Home, name: str) -> int:
    """Claim a name that other sessions use, too. Raises MachineError if one of them keeps it."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        with guarded(home):
            if not is_alive(home, name):
                return _claim(home.sessions / name)
        if time.monotonic() > deadline:
            raise MachineError(
                f"another hone uses {home.fixed_workdir(name)}",
                hint="wait until it has finished, or choose another home with --home",
            )
        time.sleep(_POLL)


def _sweep(home: Home) -> None:
    """Clean up after dead sessions: kill their processes, then remove their scratch."""
    with guarded(home):
        dead = [
            path.name
            for path in home.sessions.iterdir()
            if not path.name.startswith(".") and not is_alive(home, path.name)
        ]
        if dead:
            _kill_remains(frozenset(dead))
        for name in dead:
            (home.sessions / name).unlink(missing_ok=True)
        leftovers = [path for path in home.scratch.iterdir() if not is_alive(home, path.name)]
        renamed = [_set_aside(folder) for folder in leftovers]
    remove_dead_groups()
    for folder in renamed:
        with contextlib.suppress(OSError):
            remove_tree(folder)


def _set_aside(folder: Path) -> Path:
    """Rename a folder that is to be removed, which frees its name; return its path."""
    aside = folder.with_name(f"gone-{uuid.uuid4().hex[:8]}")
    try:
        return folder.rename(aside)
    except OSError:
        return folder


def _kill_remains(dead: frozenset[str]) -> None:
    """Kill the processes of dead sessions, and wait until they have ended."""
    marks = {f"{SESSION_VARIABLE}={name}".encode() for name in dead}
    killed = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if marks & set((entry / "environ").read_bytes().split(b"\0")):
                os.kill(int(entry.name), signal.SIGKILL)
                killed.append(entry)
    deadline = time.monotonic() + _PATIENCE
    while any(_runs(process) for process in killed) and time.monotonic() < deadline:
        time.sleep(_POLL)


def _runs(process: Path) -> bool:
    """Return whether a process still runs, and is not a zombie."""
    return bool(text_if_there(process / "cmdline"))
