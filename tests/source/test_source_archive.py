from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import shutil
import stat
import tarfile
import zipfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbhone.errors import HoneError, MachineError, SourceError
from dbhone.source.archive import unpack
from dbhone.source.fetch import FetchJob
from dbhone.untrusted_files import remove_tree

JobFor = Callable[[str], FetchJob]
REFERENCE = "https://h.example/a.tar.gz#sha256=" + "0" * 64
OLD = 1_500_000_000


@pytest.fixture
def job(job_for: JobFor) -> FetchJob:
    return job_for(REFERENCE)


def entry(
    name: str, content: bytes | None = b"x", **fields: object
) -> tuple[tarfile.TarInfo, bytes]:
    """Return a member: a file, or a folder if it has no content."""
    info = tarfile.TarInfo(name)
    info.type = tarfile.REGTYPE if content is not None else tarfile.DIRTYPE
    info.size = len(content or b"")
    info.mtime = OLD
    info.mode = 0o644
    for key, value in fields.items():
        setattr(info, key, value)
    return info, content or b""


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, b"", type=kind, linkname=target)


def tar(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(*names: str, mode: int = 0) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            info = zipfile.ZipInfo(name, (2020, 1, 2, 3, 4, 6))
            info.external_attr = mode << 16
            archive.writestr(info, "" if name.endswith("/") else "x" * 1000)
    return buffer.getvalue()


def unpack_bytes(content: bytes, job: FetchJob) -> dict[str, bytes]:
    """Unpack; return the content of each file by its name."""
    archive = job.scratch / "archive"
    archive.write_bytes(content)
    unpack(archive, job.into, scratch=job.scratch, name=job.reference.location)
    found = (path for path in job.into.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(job.into)): path.read_bytes() for path in found}


def in_frames(content: bytes) -> bytes:
    """Return content as ``zstd`` on several cores writes it, with a frame that is to be skipped."""
    half = len(content) // 2
    frames = map(zstandard.compress, (content[:half], content[half:]))
    return b"".join((*frames, b"\x50\x2a\x4d\x18", (4).to_bytes(4, "little"), b"seal"))


TREE = (entry("top", None), entry("top/a", b"1"), entry("top/b/c", b"2", mode=0o755))


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.compress, in_frames],
)
def test_tar_is_unpacked_however_it_is_compressed(
    job: FetchJob, pack: Callable[[bytes], bytes]
) -> None:
    assert unpack_bytes(pack(tar(*TREE)), job) == {"a": b"1", "b/c": b"2"}


def test_zip_is_unpacked(job: FetchJob) -> None:
    names = zipped("top/", "top/a", "top/b/c", mode=stat.S_IFREG | 0o755)
    assert unpack_bytes(names, job) == {"a": b"x" * 1000, "b/c": b"x" * 1000}
    assert os.access(job.into / "a", os.X_OK)
    assert (job.into / "a").stat().st_mtime == 1_577_934_246


def test_times_and_execute_bits_are_kept_other_modes_are_not(job: FetchJob) -> None:
    unpack_bytes(tar(entry("a", mode=0o4777), entry("b", mode=0o600)), job)
    a, b = (job.into / "a").stat(), (job.into / "b").stat()
    assert (stat.S_IMODE(a.st_mode), stat.S_IMODE(b.st_mode)) == (0o755, 0o644)
    assert a.st_mtime == OLD


def test_a_time_in_the_future_is_not_kept(job: FetchJob) -> None:
    unpack_bytes(tar(entry("a", mtime=2**35)), job)
    assert (job.into / "a").stat().st_mtime < 2**34


@pytest.mark.parametrize(
    "entries", [(entry("a"), entry("b")), (entry("a"),), (entry("top/a"), entry("b"))]
)
def test_only_a_single_folder_at_the_top_is_stripped(
    job: FetchJob, entries: tuple[tuple[tarfile.TarInfo, bytes], ...]
) -> None:
    assert set(unpack_bytes(tar(*entries), job)) == {info.name for info, _ in entries}


def test_links_inside_are_kept(job: FetchJob) -> None:
    links = (link("top/l", "b/c"), link("top/b/up", "../a"), link("top/dangling", "nowhere"))
    hard = link("top/h", "top/a", tarfile.LNKTYPE)
    found = unpack_bytes(tar(*TREE, *links, hard), job)
    assert found == {"a": b"1", "b/c": b"2", "h": b"1"}
    assert (job.into / "l").readlink() == Path("b/c")
    assert (job.into / "b" / "up").read_bytes() == b"1"


def test_nothing_of_git_is_unpacked_at_any_depth(job: FetchJob) -> None:
    git = (
        *(entry("top/.git", None), entry("top/.git/config"), entry("top/.gitignore")),
        *(entry("top/b/.git/hooks/x"), entry("top/sub/.git", b"gitdir: ../a")),
        link("top/d/.git", "../a"),
    )
    assert set(unpack_bytes(tar(*TREE, *git), job)) == {"a", "b/c", ".gitignore"}
    assert not [path for path in job.into.rglob("*") if path.name == ".git"]


def test_nothing_of_git_is_unpacked_of_zip_files(job: FetchJob) -> None:
    names = zipped("top/", "top/a", "top/.git/config", "top/b/.git/config")
    assert set(unpack_bytes(names, job)) == {"a"}


def test_a_later_member_replaces_an_earlier_one(job: FetchJob, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("safe")
    members = (entry("a", b"old"), entry("a", b"new"), link("b", str(victim)), entry("b", b"new"))
    assert unpack_bytes(tar(*members), job) == {"a": b"new", "b": b"new"}
    assert victim.read_text() == "safe"


DEVICE = entry("top/null", b"", type=tarfile.CHRTYPE, devmajor=1, devminor=3)
PIPE = entry("top/pipe", b"", type=tarfile.FIFOTYPE)


@pytest.mark.parametrize(
    ("entries", "culprit"),
    [
        ([entry("../evil")], "../evil"),
        ([entry("top/../../evil")], "top/../../evil"),
        ([entry("/tmp/evil")], "/tmp/evil"),
        ([link("top/evil", "/etc/passwd")], "evil"),
        ([link("top/evil", "../../x")], "evil"),
        ([link("top/evil", "..")], "evil"),
        ([link("up", ".."), entry("up/evil")], "up/evil"),
        ([link("here", "."), entry("here/evil")], "here/evil"),
        # Each step stays inside by its letters, and the last is outside in truth.
        ([entry("p/q", None), link("p/q/s", "../.."), link("p/q/evil", "s/..")], "p/q/evil"),
        ([entry("f"), entry("f/evil")], "f/evil"),
        ([link("evil", "/etc/passwd", tarfile.LNKTYPE)], "evil"),
        ([link("evil", "../x", tarfile.LNKTYPE)], "evil"),
        ([link("evil", "nowhere", tarfile.LNKTYPE)], "evil"),
        ([link("s", "/etc/passwd"), link("evil", "s", tarfile.LNKTYPE)], "evil"),
        ([link("d", "/etc"), link("evil", "d/passwd", tarfile.LNKTYPE)], "evil"),
        ([DEVICE], "top/null"),
        ([PIPE], "top/pipe"),
    ],
)
def test_members_that_would_leave_the_folder_are_refused_by_name(
    job: FetchJob, entries: list[tuple[tarfile.TarInfo, bytes]], culprit: str
) -> None:
    outside = set(job.scratch.parent.iterdir())
    with pytest.raises(SourceError) as caught:
        unpack_bytes(tar(entry("top/ok"), *entries), job)
    assert f"'{culprit}'" in caught.value.message
    assert set(job.scratch.parent.iterdir()) == outside
    assert not list(job.into.iterdir())


@pytest.mark.parametrize(
    ("name", "mode", "reason", "next_step"),
    [
        ("../evil", 0, "leads out of the archive", "broken or hostile"),
        ("/evil", 0, "leads out of the archive", "broken or hostile"),
        ("evil", stat.S_IFIFO | 0o777, "is a device or pipe", "broken or hostile"),
        ("link", stat.S_IFLNK | 0o777, "is a symbolic link, which hone", "the project's tar"),
    ],
)
def test_zip_members_that_are_no_files_inside_are_refused(
    job: FetchJob, name: str, mode: int, reason: str, next_step: str
) -> None:
    with pytest.raises(SourceError) as caught:
        unpack_bytes(zipped(name, mode=mode), job)
    assert f"'{name}'" in caught.value.message
    assert reason in caught.value.message
    assert next_step in str(caught.value.hint)


BIG = tar(entry("top/a", random.Random(1).randbytes(100_000)))


@pytest.mark.parametrize(
    "whole",
    [
        *(BIG, gzip.compress(BIG), bz2.compress(BIG), lzma.compress(BIG), zstandard.compress(BIG)),
        zipped("a", "b"),
    ],
)
def test_a_truncated_archive_is_refused(job: FetchJob, whole: bytes) -> None:
    with pytest.raises(SourceError, match="not a whole tar or zip archive") as caught:
        unpack_bytes(whole[: len(whole) // 2], job)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("content", [b"", b"<html>Not found</html>", b"PK\x03\x04", b"\x1f\x8b"])
def test_what_is_no_archive_is_refused(job: FetchJob, content: bytes) -> None:
    with pytest.raises(SourceError, match="not a whole tar or zip archive"):
        unpack_bytes(content, job)


def test_an_encrypted_zip_is_refused(job: FetchJob) -> None:
    content = bytearray(zipped("a"))
    for header, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(header) + offset] |= 1
    with pytest.raises(SourceError, match="encrypted"):
        unpack_bytes(bytes(content), job)


BOMB = tar(entry("bomb", b"x" * 100))


@pytest.mark.parametrize(("bomb", "named"), [(BOMB, "bomb"), (zstandard.compress(BOMB), "archive")])
def test_an_archive_larger_than_the_disk_is_refused_before_it_fills_it(
    job: FetchJob, monkeypatch: pytest.MonkeyPatch, bomb: bytes, named: str
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(2**40, 0, 64 * 2**20 + 99))
    assert unpack_bytes(tar(entry("a", b"x" * 99), entry("b", b"y")), job)
    remove_tree(job.into)
    remove_tree(job.scratch)
    job.into.mkdir()
    job.scratch.mkdir()
    with pytest.raises(MachineError, match=f"no space to unpack {named}"):
        unpack_bytes(bomb, job)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(
        [
            *(tar(*TREE), gzip.compress(tar(*TREE)), zstandard.compress(tar(*TREE))),
            zipped("top/a", "b"),
        ]
    ),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=8),
)
def test_damaged_archives_are_unpacked_or_refused(
    job: FetchJob, whole: bytes, damage: list[tuple[float, int]]
) -> None:
    content = bytearray(whole)
    for where, byte in damage:
        content[int(where * len(content))] = byte
    for place in (job.into, job.scratch):
        remove_tree(place)
        place.mkdir()
    outside = set(job.scratch.parent.iterdir())
    try:
        unpack_bytes(bytes(content), job)
    except HoneError as error:
        assert "\n" not in error.message
    assert set(job.scratch.parent.iterdir()) == outside
