"""Files that are either whole or absent, their digests, and paths that users write."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from dbhone.errors import UsageError
from dbhone.untrusted_files import remove_tree, walk

_LIBC = ctypes.CDLL(None, use_errno=True)


def digest_of(value: object) -> str:
    """Return the SHA-256, in hex, of a value made of dicts, lists, strings and numbers.

    The order of keys does not matter.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_file(path: Path) -> str:
    """Return the SHA-256, in hex, of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_tree(root: Path) -> str:
    """Return a digest of all names, contents, execute bits and link targets below ``root``.

    Times, owners and the other permission bits do not matter. Empty folders do not count.
    """
    paths = (folder / name for folder, _, names in walk(root) for name in names)
    joined = "\n".join(sorted(_entry(path, path.relative_to(root)) for path in paths))
    return hashlib.sha256(joined.encode("utf-8", "surrogateescape")).hexdigest()


def _entry(path: Path, name: Path) -> str:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"{name}\0link\0{path.readlink()}"
    if not stat.S_ISREG(status.st_mode):
        return f"{name}\0special"
    kind = "exec" if status.st_mode & stat.S_IXUSR else "file"
    return f"{name}\0{kind}\0{digest_of_file(path)}"


def absolute_path(text: str, folder: Path = Path()) -> Path:
    """Return a path that a user wrote, from ``folder``, as an absolute one; it need not exist."""
    return (folder / expanded_path(text)).absolute()


def expanded_path(text: str) -> Path:
    """Return a path that a user wrote, with the home folder that ``~`` or ``~NAME`` stands for.

    Raises UsageError if there is no such user.
    """
    if not text.startswith("~"):  # ./~NAME is another path, which pathlib would expand, too
        return Path(text)
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UsageError(f"'{text}': there is no such user") from error


def text_if_there(path: Path, errors: str = "replace") -> str:
    """Return a small file's text, such as one of /proc; empty if it cannot be read.

    ``errors`` says what becomes of bytes that are no UTF-8, as for ``bytes.decode``.
    """
    try:
        return path.read_text(encoding="utf-8", errors=errors)
    except OSError:
        return ""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically: a reader sees the old content or the new one, never a part."""
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def publish(draft: Path, final: Path) -> None:
    """Rename a finished folder to ``final``; if that exists, keep it and remove the draft.

    The contents reach the disk before the name does.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    sync_file_system(draft)
    try:
        draft.rename(final)
    except OSError:
        if not final.is_dir():
            raise
        remove_tree(draft)
    _sync_folder(final.parent)


def sync_file_system(folder: Path) -> None:
    """Have all that the folder's file system holds written to its disk.

    sync(2) would wait for every disk of the machine, and for a network file system that is gone.
    """
    with opened_folder(folder) as descriptor:
        if _LIBC.syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(folder))


@contextlib.contextmanager
def opened_folder(folder: Path | str) -> Iterator[int]:
    """Yield the descriptor of a folder; programs that are started do not get it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def freeze(root: Path) -> None:
    """Take away all write permissions below ``root``, folders last."""
    for folder, _, names in reversed(list(walk(root))):
        for path in (*(folder / name for name in names), folder):
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o222)


def open_to_all(root: Path) -> None:
    """Let every account enter the folders from ``root`` on, and read the files."""
    for folder, _, names in walk(root):
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | 0o555)
        for path in (folder / name for name in names):
            mode = stat.S_IMODE(path.lstat().st_mode)
            if not path.is_symlink():
                path.chmod(mode | (0o555 if mode & stat.S_IXUSR else 0o444))


def is_open_to_all(path: Path) -> bool:
    """Return whether every account may enter a folder, once it has come there."""
    return path.stat().st_mode & 0o005 == 0o005


def make_writable(root: Path) -> None:
    """Let the owner change everything below ``root``, a copy of a frozen folder."""
    for folder, _, names in walk(root):
        for path in (folder, *(folder / name for name in names)):
            if not path.is_symlink():
                path.chmod(stat.S_IMODE(path.stat().st_mode) | stat.S_IWUSR)


def copy_tree(
    source: Path,
    target: Path,
    *,
    copy: Callable[[Path, Path], object] = shutil.copy2,
    left_out: Collection[str] = (),
    content: Iterable[tuple[Path, list[str], list[str]]] | None = None,
) -> None:
    """Copy what is in a folder into another, with times and modes; links stay links.

    ``copy`` gets each file and where its copy belongs. What has a name in ``left_out`` is not
    copied, at any depth. ``content`` yields what the folder holds, as ``walk`` does, if not all is
    to be copied. Raises the first OSError, unlike ``shutil.copytree``, whose error does not tell a
    full disk from a file that cannot be read.
    """
    copied = []
    for folder, folders, names in content or walk(source):
        folders[:] = [name for name in folders if name not in left_out]
        made = target / folder.relative_to(source)
        made.mkdir(parents=True, exist_ok=True)
        copied.append((folder, made))
        for path in (folder / name for name in names if name not in left_out):
            if path.is_symlink():
                (made / path.name).symlink_to(path.readlink())
                shutil.copystat(path, made / path.name, follow_symlinks=False)
            else:
                copy(path, made / path.name)
    for folder, made in reversed(copied):  # a folder may be one that nobody may write to
        shutil.copystat(folder, made)


def tree_size(root: Path) -> int:
    """Return the size of the files below ``root``, in bytes; one of several names counts once.

    What is removed meanwhile counts nothing.
    """
    sizes: dict[tuple[int, int], int] = {}
    for folder, _, names in walk(root, missing_ok=True):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                file = (folder / name).lstat()
                sizes[file.st_dev, file.st_ino] = file.st_size
    return sum(sizes.values())


def _sync_folder(folder: Path) -> None:
    with opened_folder(folder) as descriptor:
        os.fsync(descriptor)
