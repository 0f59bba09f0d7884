"""Unpacks archives: nothing of an archive is written outside its folder.

Reads tar (plain, gz, bz2, xz, zst) and zip. This module writes every member itself and does not
call ``tarfile.extract``, whose safe filters are missing from early Python 3.11. The rules are those
of PEP 706's ``data`` filter, made stricter: a member is refused if its name or link target is
absolute or has ``..`` that leads out, if its path goes through a link, or if it is a device or
pipe. What is called ``.git`` is left out, at any depth. Owners and modes are dropped but for the
execute bit; times are kept, because ``make`` compares them.
"""

from __future__ import annotations

import calendar
import dataclasses
import lzma
import os
import shutil
import stat
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import IO

import zstandard

from dbhone.errors import HoneError, NoSpaceError, SourceError, disk_full
from dbhone.units import size
from dbhone.untrusted_files import real_path, walk

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_RESERVE = 64 * 1024 * 1024
"""Bytes of the disk that an archive must leave free."""
_CHUNK = 1024 * 1024
_ZSTD_CHUNK = 16 * 1024
"""Bytes that are decompressed at once; a hostile archive makes 500 MiB of them at most."""
_GIT = ".git"
"""What lies in it is no source, and it may name programs that git is to run."""
_UNKNOWN_TIME = -1.0
_CORRUPT = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError),
    EOFError,
)
# What the standard library raises on malformed headers.
_MALFORMED = (ValueError, OverflowError, RuntimeError, NotImplementedError, LookupError)


class _MemberKind(Enum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    HARD_LINK = "hard link"
    LINK_IN_ZIP = "symbolic link, which hone does not take from zip files"
    OTHER = "device or pipe"


_KINDS_IN_ZIP = {
    0: _MemberKind.FILE,
    stat.S_IFREG: _MemberKind.FILE,
    stat.S_IFLNK: _MemberKind.LINK_IN_ZIP,
}
_HOSTILE = "this archive is broken or hostile; nothing of it was kept"
_TAKE_TAR = "take the project's tar archive; nothing of this one was kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """One entry of an archive. ``target`` is what a link leads to, else empty."""

    name: str
    kind: _MemberKind
    target: str
    size: int
    executable: bool
    mtime: float
    open: Callable[[], IO[bytes] | None]


def unpack(archive: Path, into: Path, *, scratch: Path, name: str | None = None) -> None:
    """Unpack ``archive`` into a folder that is empty or does not exist yet.

    A single folder at its top is stripped. ``scratch`` is a folder on the same file system.
    ``name`` stands for the archive in errors, if it is not called as its file is. Raises
    SourceError for a file that is not an archive, is truncated, or holds a member that would leave
    the folder (the error names it), and NoSpaceError when the disk would be full.
    """
    draft = _make_draft(scratch)
    _extract(archive, draft, name or archive.name)
    root = _strip(draft)
    _check_links(root)
    root.rename(into)
    if root != draft:
        draft.rmdir()


def unpack_packages(archives: Iterable[Path], into: Path, *, scratch: Path) -> None:
    """Unpack archives of packages over each other into a folder, as if it were the root.

    Nothing is stripped. A link to ``/x`` becomes one to ``x`` of the tree. Otherwise as ``unpack``.
    """
    draft = _make_draft(scratch)
    for archive in archives:
        _extract(archive, draft, archive.name, change=_rooted)
    _check_links(draft)
    draft.rename(into)


def links_out(root: Path) -> Iterator[Path]:
    """Yield the symbolic links below ``root`` that are absolute or end outside.

    The tree's digest does not cover the files behind them. No link is followed.
    """
    real_root = root.resolve()
    for folder, _, names in walk(root):
        for path in (folder / name for name in names):
            if path.is_symlink() and _leads_out(path, real_root):
                yield path


def _leads_out(link: Path, root: Path) -> bool:
    return link.readlink().is_absolute() or not real_path(link).is_relative_to(root)


def _make_draft(scratch: Path) -> Path:
    draft = scratch.resolve() / "unpacked"
    draft.mkdir()
    return draft


def _extract(
    archive: Path, draft: Path, name: str, *, change: Callable[[_Member], _Member] | None = None
) -> None:
    """Unpack all members into a folder, as ``change`` returns them if it is given."""
    plain = draft.with_name("decompressed.tar")
    try:
        for member in _members(_decompress_zstd(archive, plain)):
            if _GIT not in PurePosixPath(member.name).parts:
                _extract_member(change(member) if change else member, draft)
    except OSError as error:
        raise _io_error(error, name) from error
    except (*_CORRUPT, *_MALFORMED) as error:
        raise _not_an_archive(name, str(error)) from error
    finally:
        plain.unlink(missing_ok=True)


def _rooted(member: _Member) -> _Member:
    """Return a link to an absolute path as one to the same path below the archive's root."""
    if member.kind is not _MemberKind.LINK or not member.target.startswith("/"):
        return member
    folder = "/" / PurePosixPath(member.name).parent
    return dataclasses.replace(member, target=os.path.relpath(member.target, folder))


def _check_links(root: Path) -> None:
    for link in links_out(root):
        raise _refused(str(link.relative_to(root)), "is a link that leads out of the archive")


def _decompress_zstd(archive: Path, plain: Path) -> Path:
    """Return what tarfile can read: ``archive``, or ``plain`` if the archive is Zstandard's."""
    with archive.open("rb") as packed:
        if packed.read(len(_ZSTD_MAGIC)) != _ZSTD_MAGIC:
            return archive
        packed.seek(0)
        with plain.open("xb") as file:
            for part in _decompressed(packed):
                _check_space(archive.name, plain.parent, len(part))
                file.write(part)
    return plain


def _decompressed(packed: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of all frames of Zstandard. Raises EOFError if the last is not whole."""
    frame = None
    while chunk := packed.read(_ZSTD_CHUNK):
        while chunk:
            if frame is None or frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(chunk)
            chunk = frame.unused_data
    if frame is not None and not frame.eof:
        raise EOFError("it is truncated")


def _members(archive: Path) -> Iterator[_Member]:
    if zipfile.is_zipfile(archive) and not tarfile.is_tarfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            for info in bundle.infolist():
                yield _from_zip(bundle, info)
    else:
        with tarfile.open(archive) as tape:
            for entry in tape:
                yield _from_tar(tape, entry)


def _from_tar(tape: tarfile.TarFile, entry: tarfile.TarInfo) -> _Member:
    checks = (
        (entry.isfile, _MemberKind.FILE),
        (entry.isdir, _MemberKind.FOLDER),
        (entry.issym, _MemberKind.LINK),
        (entry.islnk, _MemberKind.HARD_LINK),
    )
    return _Member(
        name=entry.name,
        kind=next((kind for check, kind in checks if check()), _MemberKind.OTHER),
        target=entry.linkname,
        size=entry.size,
        executable=bool(entry.mode & stat.S_IXUSR),
        mtime=float(entry.mtime),
        open=lambda: tape.extractfile(entry),
    )


def _from_zip(bundle: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    mode = info.external_attr >> 16
    kind = _KINDS_IN_ZIP.get(stat.S_IFMT(mode), _MemberKind.OTHER)
    return _Member(
        name=info.filename,
        kind=_MemberKind.FOLDER if info.is_dir() else kind,
        target="",
        size=info.file_size,
        executable=bool(mode & stat.S_IXUSR),
        # A zip file knows no time zone; UTC gives the same tree everywhere.
        mtime=_zip_time(info),
        open=lambda: bundle.open(info),
    )


def _zip_time(info: zipfile.ZipInfo) -> float:
    try:
        return float(calendar.timegm((*info.date_time, 0, 0, 0)))
    except ValueError:  # month 0 is how some writers say "unknown"
        return _UNKNOWN_TIME


def _extract_member(member: _Member, root: Path) -> None:
    path = _path_of(member, root)
    if path == root:
        return
    if member.kind is _MemberKind.FOLDER:
        path.mkdir(exist_ok=True)
        return
    if path.is_symlink() or path.is_file():
        path.unlink()
    if member.kind is _MemberKind.FILE:
        _write(member, path)
    elif member.kind is _MemberKind.LINK:
        path.symlink_to(member.target)
    elif member.kind is _MemberKind.HARD_LINK:
        _link(member, path, root)
    else:
        hint = _TAKE_TAR if member.kind is _MemberKind.LINK_IN_ZIP else _HOSTILE
        raise _refused(member.name, f"is a {member.kind.value}", hint)


def _path_of(member: _Member, root: Path) -> Path:
    """Return the path of a member; the folders above it are created, and are real folders."""
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or "\0" in member.name:
        raise _refused(member.name, "has a name that leads out of the archive")
    folder = root
    for part in name.parts[:-1]:
        folder = folder / part
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise _refused(member.name, f"goes through {part}, which is not a folder")
        folder.mkdir(exist_ok=True)
    return folder / name.name if name.parts else root


def _write(member: _Member, path: Path) -> None:
    _check_space(member.name, path.parent, member.size)
    content = member.open()
    if content is None:
        raise _refused(member.name, "has no content")
    with content, path.open("xb") as file:
        shutil.copyfileobj(content, file, _CHUNK)
    path.chmod(0o755 if member.executable else 0o644)
    _set_time(path, member.mtime)


def _check_space(name: str, folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free - _RESERVE:
        raise NoSpaceError(f"no space to unpack {name}: {size(needed)} needed, {size(free)} free")


def _set_time(path: Path, mtime: float) -> None:
    if 0 <= mtime <= time.time():
        os.utime(path, (mtime, mtime))


def _link(member: _Member, path: Path, root: Path) -> None:
    target = PurePosixPath(member.target)
    original = root / target
    inside = not target.is_absolute() and ".." not in target.parts
    if (
        not inside
        or original.is_symlink()
        or not original.is_file()
        or original.resolve() != original
    ):
        raise _refused(member.name, f"is a hard link to {member.target}, which is not in it")
    shutil.copy2(original, path)


def _strip(draft: Path) -> Path:
    """Return the single folder at the top of a draft; the draft itself if there is more in it."""
    top = list(draft.iterdir())
    if len(top) == 1 and top[0].is_dir() and not top[0].is_symlink():
        return top[0]
    return draft


def _refused(name: str, reason: str, hint: str = _HOSTILE) -> SourceError:
    return SourceError(f"the archive is refused: its member {name!r} {reason}", hint=hint)


def _not_an_archive(name: str, message: str) -> SourceError:
    # tarfile lists the messages of all decompressors, a line each.
    reason = "it is neither" if "could not be opened" in message else message
    return SourceError(
        f"{name} is not a whole tar or zip archive: {reason}",
        hint="check that the address gives the archive itself; fetch it again",
    )


def _io_error(error: OSError, name: str) -> HoneError:
    if error.errno is None:  # gzip and bz2 report broken data this way
        return _not_an_archive(name, str(error))
    full = disk_full(error, f"unpacking {name}")
    return full or SourceError(f"cannot unpack {name}: {error}")
