"""The one folder that holds dbhone's state.

The home is private. When root runs hone, servers run as another account (``instance/``). That
account needs builds and its own data, so it may pass through the folders above them, but not list
them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from dbhone.errors import MachineError, UsageError, disk_full
from dbhone.files import text_if_there

ROOTS_HOME = Path("/var/lib/dbhone")
_PRIVATE = 0o700
_PASSABLE = 0o711
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.s3fs", "fuse.rclone"),
    }
)
"""File systems that machines share. 9p and virtiofs are those of one machine's containers."""

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
        root = ROOTS_HOME
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
    try:
        has_place = root.exists() or root.parent.is_dir()
    except OSError as error:
        raise unusable(Home(root), error) from error
    if (chosen is not None or named) and not has_place:
        raise UsageError(
            f"there is no folder {root.parent}, in which the home folder {root.name} would be made",
            hint=f"correct --home or DBHONE_HOME, or make the folder: mkdir -p {root.parent}",
        )
    return Home(root)


def make_root(home: Home) -> None:
    """Make the home's own folder unless it exists.

    Raises UsageError for a folder that holds other things, and MachineError if it cannot be made,
    or would be on a network file system.
    """
    check_local(home.root)
    try:
        check_home(home)
        home.root.mkdir(parents=True, exist_ok=True, mode=_PRIVATE)
    except OSError as error:
        raise unusable(home, error) from error


def unusable(home: Home, error: OSError) -> MachineError:
    """Return the error to raise where the home cannot be made, read or written."""
    reason = disk_full(error, "opening the home folder")
    whose = "a home belongs to one user: " if isinstance(error, PermissionError) else ""
    return reason or MachineError(
        f"cannot use the home folder {home.root}: {error.strerror}",
        hint=f"{whose}choose another with --home or DBHONE_HOME",
    )


def check_access(home: Home) -> None:
    """Raise MachineError for a home of another user, to whom its folder is closed."""
    try:
        closed = home.root.is_dir() and not os.access(home.root, os.R_OK | os.X_OK)
    except OSError as error:
        raise unusable(home, error) from error
    if closed:
        raise unusable(home, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def check_local(place: Path) -> None:
    """Raise MachineError for a place on a network file system.

    Two machines would share its files: the store, whose readers and writers share memory of one
    machine, and the locks of sessions.
    """
    kind = file_system(text_if_there(_MOUNTS), Path(os.path.realpath(place)))
    if kind in _NETWORK:
        raise MachineError(
            f"{place} is on a network file system ({kind}), where hone's store could be damaged",
            hint="choose a folder on a disk of this machine with --home or DBHONE_HOME",
        )


def file_system(mountinfo: str, folder: Path) -> str:
    """Return the kind of file system that ``folder`` is on, from /proc/self/mountinfo."""
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        words, _, rest = line.partition(" - ")
        # The kernel writes a space in a name as \040 (proc_pid_mountinfo(5)).
        mount = Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), words.split()[4]))
        if folder.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), rest.split()[0]
    return kind


def has_roots_runs() -> bool:
    """Return whether root has made runs in its usual home, and this user is another."""
    if os.geteuid() == 0:
        return False
    with contextlib.suppress(OSError):
        return Home(ROOTS_HOME).database.stat().st_size > 0
    return False


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


def make_home(home: Home) -> None:
    """Make the home and its folders, as private as they have to be.

    Raises what ``make_root`` raises, and OSError.
    """
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
