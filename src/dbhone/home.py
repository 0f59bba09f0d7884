"""The one folder that holds dbhone's state, and the sessions that use it.

A session is one running ``hone``. It holds a locked file in ``sessions/``; the kernel drops
the lock when the session ends, however it ends. The next session that opens the home sees
an unlocked file, ends what may be left of that session's processes, and removes its scratch and the
control groups of all hones that are dead.

The home is private. When root runs hone, servers run as another account (``instance/``). That
account needs builds and its own data, so it may pass through the folders above them, but not list
them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from dbhone.cgroup import remove_dead_groups
from dbhone.command import SESSION_VARIABLE
from dbhone.errors import MachineError, UsageError, disk_full
from dbhone.files import open_to_all, publish, text_if_there
from dbhone.untrusted_files import remove_tree

_ROOTS_HOME = Path("/var/lib/dbhone")
_PRIVATE = 0o700
_PASSABLE = 0o711
_PATIENCE = 5.0
_POLL = 0.1

_MADE_LATER = frozenset({"versions.toml", "installed", "logging"})
"""What a home may hold besides: the user's known versions, and what hone has to put back."""


@dataclass(frozen=True, slots=True)
class Home:
    """The files and folders below the home folder."""

    root: Path

    @property
    def database(self) -> Path:
        """The embedded store of results."""
        return self.root / "store.db"

    @property
    def sources(self) -> Path:
        """Immutable source trees, named by digest."""
        return self.root / "sources"

    @property
    def builds(self) -> Path:
        """Immutable builds, named by digest."""
        return self.root / "builds"

    @property
    def profiles(self) -> Path:
        """Profiles, named by digest."""
        return self.root / "profiles"

    @property
    def runs(self) -> Path:
        """Reports and logs of runs, a folder for each run."""
        return self.root / "runs"

    @property
    def data(self) -> Path:
        """Loaded data of servers, kept to be copied; a cache."""
        return self.root / "data"

    @property
    def verifications(self) -> Path:
        """What checks found of builds, a folder for each build."""
        return self.root / "verifications"

    @property
    def scratch(self) -> Path:
        """Work in progress, a folder for each session; removed when the session is over."""
        return self.root / "scratch"

    @property
    def logs(self) -> Path:
        """Logs of what failed, kept."""
        return self.root / "logs"

    @property
    def sessions(self) -> Path:
        """The locked files of the sessions that are alive."""
        return self.root / "sessions"

    def fixed_workdir(self, name: str) -> Path:
        """The path of ``Session.fixed_workdir``."""
        return self.scratch / name

    def places(self) -> tuple[Path, ...]:
        """Return all folders of the home."""
        return (
            self.sources,
            self.builds,
            self.profiles,
            self.runs,
            self.data,
            self.verifications,
            self.scratch,
            self.logs,
            self.sessions,
        )

    def shared(self) -> tuple[Path, ...]:
        """Return the folders that another account passes through when root runs hone."""
        return (self.builds, self.data, self.scratch)


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


def locate(chosen: Path | None) -> Home:
    """Return the home: ``chosen``, else DBHONE_HOME, else the platform's data folder.

    For root that is /var/lib/dbhone, unless XDG_DATA_HOME is set: other users may not enter /root.
    """
    named = os.environ.get("DBHONE_HOME")
    if chosen is not None and not chosen.parts:
        raise UsageError("--home is empty", hint="name a folder, or leave the option out")
    if chosen is not None:
        root = chosen
    elif named:
        root = Path(named)
    elif os.geteuid() == 0 and not os.environ.get("XDG_DATA_HOME"):
        root = _ROOTS_HOME
    else:
        root = Path(platformdirs.user_data_dir("dbhone", appauthor=False))
    try:
        root = root.expanduser().absolute()
    except RuntimeError:
        raise MachineError(
            "this account has no home folder, in which hone would keep its own",
            hint="choose a folder with --home or DBHONE_HOME",
        ) from None
    if any(character.isspace() for character in str(root)):
        raise UsageError(
            f"the home folder '{root}' has a space in its name, which build systems do not support",
            hint="choose another with --home or DBHONE_HOME",
        )
    if (chosen is not None or named) and not root.exists() and not root.parent.is_dir():
        raise UsageError(
            f"there is no folder {root.parent}, in which the home folder {root.name} would be made",
            hint=f"correct --home or DBHONE_HOME, or make the folder: mkdir -p {root.parent}",
        )
    return Home(root)


@contextlib.contextmanager
def open_session(home: Home) -> Iterator[Session]:
    """Make the home if needed, clean up after dead sessions, and yield a new session."""
    session = Session(uuid.uuid4().hex[:12], home)
    try:
        _make_home(home)
        descriptor = _claim(home.sessions / session.id)
    except OSError as error:
        raise _unusable(home, error) from error
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
        raise _unusable(home, error) from error
    try:
        yield Home(root)
    finally:
        with contextlib.suppress(OSError):
            remove_tree(root)


def make_root(home: Home) -> None:
    """Make the home's own folder unless it exists. Raises MachineError if that fails."""
    try:
        home.root.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    except OSError as error:
        raise _unusable(home, error) from error


def _unusable(home: Home, error: OSError) -> MachineError:
    reason = disk_full(error, "opening the home folder")
    return reason or MachineError(
        f"cannot use the home folder {home.root}: {error.strerror}",
        hint="choose another with --home or DBHONE_HOME",
    )


def make_folder(path: Path, *, shared: bool) -> None:
    """Make a private folder unless it exists.

    If root makes a ``shared`` folder, other accounts may pass through it. The permissions of an
    existing folder of this user are corrected.
    """
    mode = _PASSABLE if shared and os.geteuid() == 0 else _PRIVATE
    path.mkdir(exist_ok=True, mode=mode)
    status = path.stat()
    if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)


def check_home(home: Home) -> None:
    """Raise UsageError for a folder that holds other things and is no home yet.

    hone would change the modes of folders that have the names of its own, and remove what is in
    them. A home has a folder of sessions, or its store, or nothing else than hone's.
    """
    known = home.sessions.is_dir() or home.database.is_file()
    if not known and home.root.is_dir() and not _holds_nothing_else(home):
        raise UsageError(
            f"{home.root} is not a home folder of hone's, and holds other things",
            hint="choose an empty or a new folder with --home or DBHONE_HOME",
        )


def _make_home(home: Home) -> None:
    check_home(home)
    make_root(home)
    mode = stat.S_IMODE(home.root.stat().st_mode)
    if os.geteuid() == 0 and mode | _PASSABLE != mode and _holds_nothing_else(home):
        home.root.chmod(mode | _PASSABLE)
    for place in home.places():
        make_folder(place, shared=place in home.shared())
    _hide_database(home)


def _holds_nothing_else(home: Home) -> bool:
    """Return whether only hone uses the folder; else, as for /root, hone leaves its mode alone."""
    ours = {place.name for place in home.places()} | _MADE_LATER
    return all(
        path.name in ours or path.name.startswith(home.database.name)
        for path in home.root.iterdir()
    )


def _hide_database(home: Home) -> None:
    """Make the store readable for this user only, whatever the umask and the home's own mode.

    SQLite creates its tables in an empty file, and gives the files beside it the same mode.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(home.database, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for suffix in ("", "-wal", "-shm"):
        path = home.database.with_name(home.database.name + suffix)
        with contextlib.suppress(FileNotFoundError, PermissionError):
            if path.is_file() and path.stat().st_mode & 0o077:
                path.chmod(0o600)


def is_alive(home: Home, session_id: str) -> bool:
    """Return whether the session runs now."""
    try:
        descriptor = os.open(home.sessions / session_id, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    descriptor = os.open(home.sessions, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


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
