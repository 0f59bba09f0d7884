"""Reads files that another account may have written, and removes its trees. It trusts none of them.

A server can put anything in the place of a file that hone reads: a FIFO, which blocks its reader; a
link to a file that only root may read; a device; gigabytes. All such files are read here, and the
sockets of servers are connected to here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dbhone.errors import UntrustedFileError

LIMIT = 4 * 1024 * 1024
"""Bytes that are read of a file unless the caller says otherwise."""
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_LONGEST_PATH = 4096
"""Bytes that a path may have, see limits.h."""
_OMITTED = b"\n[...]\n"
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFDIR: "a folder",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


def open_untrusted(path: Path) -> BinaryIO:
    """Open a regular file to read it; never wait, and follow no link in its last place.

    Raises UntrustedFileError for anything else than a regular file, FileNotFoundError if there is
    none, and other OSErrors.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _error(path, path.lstat().st_mode) or error from error
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise _error(path, mode) or OSError(f"{path} is not a regular file")
    return os.fdopen(descriptor, "rb")


def _error(path: Path, mode: int) -> UntrustedFileError | None:
    kind = _KINDS.get(stat.S_IFMT(mode))
    return UntrustedFileError(f"{path} is {kind}, not an ordinary file") if kind else None


def is_socket(path: Path) -> bool:
    """Return whether a path is that of a socket; a link to one is none."""
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def connect_untrusted(line: socket.socket, path: Path) -> None:
    """Connect to a socket, and follow no link in the last place of its path.

    The link may lead to another server, which lets us in and not the account that made the link.
    Raises UntrustedFileError for anything else than a socket, and OSErrors.
    """
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISSOCK(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "a file")
            raise UntrustedFileError(f"{path} is {kind}, not a socket")
        # Not by the path, which may lead elsewhere by now.
        line.connect(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def real_path(path: Path) -> Path:
    """Return where a path leads, whether that exists or not.

    Path.resolve does not bear links that run in a circle, before Python 3.13.
    """
    return Path(os.path.realpath(path))


def is_inside(root: Path, path: Path) -> bool:
    """Return whether a path below ``root`` stays there: no link on its way leads out."""
    return real_path(path).is_relative_to(real_path(root))


def read_untrusted(path: Path, *, start: int = 0, limit: int = LIMIT) -> bytes:
    """Return a file's bytes from ``start`` on.

    Of more than ``limit`` bytes the first half of the limit and the last are returned, with a mark
    between them. Raises as ``open_untrusted`` does.
    """
    with open_untrusted(path) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(start)
        if size - start <= limit:
            return file.read(limit)
        head = file.read(limit // 2)
        file.seek(size - limit // 2)
        return head + _OMITTED + file.read(limit // 2)


def keep_untrusted(path: Path, kept: Path, *, limit: int) -> Path | None:
    """Copy what is read of a file, as for a log that is to be kept; return the copy's path.

    Return None, and leave nothing, if that is impossible, for example on a full disk. Raises
    UntrustedFileError for anything else than a regular file.
    """
    try:
        kept.write_bytes(read_untrusted(path, limit=limit))
    except OSError:
        with contextlib.suppress(OSError):
            kept.unlink()
        return None
    return kept


def walk(root: Path, *, missing_ok: bool = False) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield each folder from ``root`` down, with the names of its folders and of all else in it.

    A link counts as no folder and is not followed. The caller may take names out of the list of
    folders, which are then skipped. Depth costs no stack, as that of os.walk does before Python
    3.12. No error is ignored, but that of a folder which has vanished if ``missing_ok``. Raises
    UntrustedFileError for folders that are nested deeper than a path may be long, and other
    OSErrors.
    """
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError as error:
            if missing_ok and error.errno == errno.ENOENT:
                continue
            if error.errno != errno.ENAMETOOLONG:
                raise
            raise UntrustedFileError(f"the folders below {root} are nested too deep") from error
        folders = sorted(name for name, is_folder in kinds.items() if is_folder)
        yield folder, folders, sorted(name for name, is_folder in kinds.items() if not is_folder)
        waiting.extend(folder / name for name in reversed(folders))


def open_folders(root: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield a descriptor of each folder from ``root`` down, closed afterwards, and all names in it.

    Others may change the folders meanwhile: no link is followed in any place, and a folder that is
    none any more is left out. The caller finds a name by the descriptor, so that he is not led
    elsewhere either. Raises UntrustedFileError for folders that are nested deeper than a path may
    be long, and other OSErrors.
    """
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        names = waiting.pop()
        if sum(len(os.fsencode(name)) + 1 for name in names) > _LONGEST_PATH:
            raise UntrustedFileError(f"the folders below {root} are nested too deep")
        folder = _reach(root, names)
        if folder is None:
            continue
        try:
            with os.scandir(folder) as entries:
                kinds = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
            yield folder, sorted(kinds)
        finally:
            os.close(folder)
        waiting.extend((*names, name) for name in sorted(kinds, reverse=True) if kinds[name])


def _reach(root: Path, names: tuple[str, ...]) -> int | None:
    """Open a folder below ``root``, one name after the other; None if one of them is no folder."""
    folder = os.open(root, _FOLDER_FLAGS)
    for name in names:
        try:
            inner = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
        except (FileNotFoundError, NotADirectoryError):
            return None
        finally:
            os.close(folder)
        folder = inner
    return folder


def remove_tree(root: Path) -> None:
    """Remove a folder with all below it, however deep; it need not exist.

    No link is followed. A folder that its owner may not change is made writable first. Every folder
    is moved directly below ``root`` before it is emptied, so that no path is too long, and so that
    depth costs neither memory nor descriptors. Raises OSError.
    """
    try:
        base = _open_folder(str(root))
    except FileNotFoundError:
        return
    except NotADirectoryError:
        root.unlink()
        return
    try:
        folders = _empty(base, base)
        while folders:
            name = folders.pop()
            folder = _open_folder(name, base)
            try:
                folders += _empty(folder, base)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=base)
    finally:
        os.close(base)
    root.rmdir()


def _open_folder(name: str, base: int | None = None) -> int:
    try:
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=base)
    except PermissionError:
        # Our own folder, or we could not: root needs no permission.
        os.chmod(name, stat.S_IRWXU, dir_fd=base)
        descriptor = os.open(name, _FOLDER_FLAGS, dir_fd=base)
    if os.fstat(descriptor).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(descriptor, stat.S_IRWXU)
    return descriptor


def _empty(folder: int, base: int) -> list[str]:
    """Remove the files of a folder; move its folders below ``base`` and return their names."""
    with os.scandir(folder) as entries:
        entry_kinds = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    moved = []
    for name, is_folder in entry_kinds:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
            continue
        new_name = name if folder == base else f".{secrets.token_hex(8)}"
        if folder != base:
            _make_movable(name, folder)
            os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=base)
        moved.append(new_name)
    return moved


def _make_movable(name: str, folder: int) -> None:
    """Let the owner write to a folder: to move it changes its entry for the folder above."""
    os.close(_open_folder(name, folder))
