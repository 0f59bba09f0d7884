"""Sandboxes a program: what it sees of the machine, and what it may do there.

A stranger's program gets namespaces of its own for processes, mounts, network and IPC, which
bubblewrap makes (bwrap(1)). It sees the system's programs and libraries, the files that it is
given, and an empty ``/tmp``. It has no network except a loopback device that leads nowhere; clients
reach a server by its socket, which is a file. When the sandbox ends, the kernel ends every process
in it.

This module says how. ``process.py`` starts the sandbox, if the machine can make one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import resource
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from dbhone.account import Account, user_database

TRUST_VARIABLE = "DBHONE_TRUST"
"""Set to 1, strangers' programs run on a machine that cannot make sandboxes."""
PROGRAM = "bwrap"
PACKAGE = "bubblewrap"
_RESTRICTION = "kernel.apparmor_restrict_unprivileged_userns"
"""Ubuntu forbids by it, from 24.04 on, what bubblewrap needs of accounts other than root."""
MOST_PROCESSES = 16384
"""Processes and threads that a tenant may have in all."""

MOST_FILES = 65536
"""Files and connections that a process may have open, if the limit that hone inherits allows it. A
shell's usual 1024 is too few for a thousand clients."""

LEFT_FREE = 1 << 30
"""Bytes of a disk that no file of an enclosed program may take, less on a small one."""

OPTIONS_FD, INFO_FD, GO_FD = 7, 8, 9
"""Where bubblewrap reads its options and tells of its child, and where the child waits until it is
known."""
USERS_FD, GROUPS_FD = 10, 11
"""Where bubblewrap reads the enclosed program's /etc/passwd and /etc/group."""
_WAIT = f'read -r _ <&{GO_FD} || exit 127; exec {GO_FD}<&- "$@"'
"""Without a word from the supervisor, which was killed before it could say one, nothing begins."""
_SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_FOLDERS = ("/usr", *_SYSTEM_LINKS)
"""What every sandbox shows of the system's programs and libraries."""
_CONFIGURATION = (
    "alternatives",
    "fonts",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "nsswitch.conf",
    "os-release",
    "perl",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
"""What programs read below ``/etc``; nothing of it is secret."""
SCRATCH_FOLDERS = ("/tmp", "/var/tmp")
"""Of which every sandbox has its own."""
_SCRATCH_BYTES = 1 << 30
_SHARED_MEMORY = "/dev/shm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What an enclosed program may use besides the system's programs and libraries.

    It may change what is in the ``writable`` folders, and read the ``readable`` files and folders.
    Those that do not exist are left out. None of its files may be longer than ``file_bytes``. It
    sees those in ``seen_at`` at another place, directly below the root, and only there. It needs
    ``open_files`` open at the same time, for which hone's own limit is exceeded where that may be.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    file_bytes: int | None = None
    seen_at: Mapping[Path, Path] = field(default_factory=dict)
    open_files: int = 0

    def with_writable(self, *paths: Path) -> Sandbox:
        """Return the same sandbox, in which these may be changed, too."""
        return dataclasses.replace(self, writable=(*self.writable, *paths))

    def place_outside(self, path: Path) -> Path:
        """Return where outside of it a path is that a program inside sees."""
        for real, place in self.seen_at.items():
            if path.is_relative_to(place):
                return real / path.relative_to(place)
        return path

    def place_seen(self, path: Path) -> Path:
        """Return where a program inside sees a path."""
        for real, place in self.seen_at.items():
            if path.is_relative_to(real):
                return place / path.relative_to(real)
        return path

    def inputs(self, cwd: Path, account: Account | None) -> tuple[str, str, str]:
        """Return what bubblewrap reads from OPTIONS_FD, USERS_FD and GROUPS_FD.

        ``cwd`` is where the program begins.
        """
        options = "".join(f"{option}\0" for option in self._options(cwd, account))
        return (options, *user_database(account))

    def _options(self, cwd: Path, account: Account | None) -> tuple[str, ...]:
        # What holds the mounts together is a file system in memory, which need not be writable.
        folder = str(self.place_seen(cwd))
        begin = ("--remount-ro", "/", "--chdir", folder, "--info-fd", str(INFO_FD))
        return (*_namespaces(account), *_system(), *_users(), *self._mounts(), *begin)

    def _mounts(self) -> Iterator[str]:
        given = {path.absolute(): "--ro-bind" for path in self.readable}
        given |= {path.absolute(): "--bind" for path in self.writable}
        mounted = list(map(Path, SYSTEM_FOLDERS))
        made: set[Path] = set()
        for path in sorted(given, key=lambda path: len(path.parts)):
            place = self.seen_at.get(path, path)
            if not path.exists() or (given[path] == "--ro-bind" and _lies_in(place, mounted)):
                continue
            for parent in tuple(place.parents)[-2::-1]:
                if parent not in made and not _lies_in(parent, mounted):
                    # Without this, bubblewrap makes folders that the account cannot pass.
                    yield from ("--perms", "0755", "--dir", str(parent))
                    made.add(parent)
            yield from (given[path], str(path), str(place))
            mounted.append(place)

    def limits(self) -> dict[str, int]:
        """Return the limits of an enclosed program by their names in getrlimit(2)."""
        limits = {
            "RLIMIT_CORE": 0,
            "RLIMIT_NPROC": MOST_PROCESSES,
            **self.limits_outside(),
            "RLIMIT_DATA": psutil.virtual_memory().total,
        }
        return limits if self.file_bytes is None else limits | {"RLIMIT_FSIZE": self.file_bytes}

    def limits_outside(self) -> dict[str, int]:
        """Return the limits of a program where no sandbox can be made: what it needs, no less."""
        return {"RLIMIT_NOFILE": max(self.open_files, _usual_files())}


def _usual_files() -> int:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)


def is_waived() -> bool:
    """Return whether the user lets strangers' programs run where no sandbox can be made."""
    return os.environ.get(TRUST_VARIABLE) == "1"


def remedy() -> str:
    """Return what lets this machine make sandboxes."""
    if shutil.which(PROGRAM) is None:
        if shutil.which("apt-get") is None:
            return f"install what brings {PROGRAM} (Debian's package: {PACKAGE})"
        return f"apt-get install {PACKAGE}"
    with contextlib.suppress(OSError):
        if Path("/proc/sys", *_RESTRICTION.split(".")).read_text("ascii").strip() == "1":
            return f"sudo sysctl {_RESTRICTION}=0"
    return "allow this account to create user namespaces"


def argv_of(
    program: tuple[str, ...],
    *,
    bwrap: str,
    environment: Mapping[str, str],
    account: Account | None,
) -> tuple[str, ...]:
    """Return the command line that runs a program in a sandbox with the options in OPTIONS_FD.

    Neither bubblewrap nor what changes the account runs in the program's ``environment``: it may
    name a stranger's libraries.
    """
    return (
        *(bwrap, "--args", str(OPTIONS_FD), "--"),
        *("/bin/sh", "-c", _WAIT, "sh"),
        *_become(account),
        *("/usr/bin/env", "-i", *(f"{name}={value}" for name, value in environment.items())),
        *program,
    )


def trial_argv(bwrap: str, account: Account | None) -> tuple[str, ...]:
    """Return the command line that makes a sandbox in which nothing is done."""
    return (bwrap, *_namespaces(account), *_system(), "--", *_become(account), "/bin/true")


def _lies_in(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _namespaces(account: Account | None) -> tuple[str, ...]:
    own = ("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts")
    # Root needs no user namespace. It keeps the rights by which it becomes the account, or loses
    # all; hone's own user has none in the first place.
    rights = ("--cap-drop", "ALL") if account is None else ()
    return (*own, "--unshare-cgroup-try", "--die-with-parent", *rights)


def _become(account: Account | None) -> tuple[str, ...]:
    if account is None:
        return ()
    ids = ("--reuid", str(account.uid), "--regid", str(account.gid))
    rights = ("--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--no-new-privs")
    return ("/usr/bin/setpriv", *ids, "--clear-groups", *rights, "--")


def _system() -> Iterator[str]:
    """Yield the mounts that every program needs: the system's files, read-only, and scratch."""
    yield from ("--ro-bind", "/usr", "/usr")
    for name in _SYSTEM_LINKS:
        if Path(name).is_symlink():
            yield from ("--symlink", str(Path(name).readlink()), name)
        else:
            yield from ("--ro-bind-try", name, name)
    yield from ("--perms", "0755", "--dir", "/etc", "--perms", "0755", "--dir", "/etc/ssl")
    for name in _CONFIGURATION:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys", "/sys")
    yield from ("--perms", "0755", "--dir", "/var")
    for name in SCRATCH_FOLDERS:
        yield from ("--perms", "1777", "--size", str(_SCRATCH_BYTES), "--tmpfs", name)
    # As elsewhere it may take half of the memory: PostgreSQL's parallel queries share theirs here.
    yield from ("--perms", "1777", "--tmpfs", _SHARED_MEMORY)


def _users() -> Iterator[str]:
    """Yield the files that tell users and groups: they hold what the program needs, no more."""
    for descriptor, path in ((USERS_FD, "/etc/passwd"), (GROUPS_FD, "/etc/group")):
        yield from ("--perms", "0644", "--file", str(descriptor), path)


def longest_file(folder: Path) -> int:
    """Return a limit for files in a folder that leaves its disk some space, in bytes."""
    free = shutil.disk_usage(folder).free
    return free - min(LEFT_FREE, free // 8)
