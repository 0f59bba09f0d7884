from __future__ import annotations

import io
import tarfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dbhone.errors import PackageError
from dbhone.package import archive
from dbhone.package.archive import Entry, pack, tar_of, unpack

ENTRIES = (
    Entry(name="bin/server", data=b"\x7fELF" + bytes(range(256)) * 8, executable=True),
    Entry(name="bin/alias", link="server"),
    Entry(name="README", data="Grüße\n".encode()),
    Entry(name="empty"),
)
FILE = pack(ENTRIES, "server-1.0", 1_700_000_000)


def test_a_package_is_read_as_it_was_written() -> None:
    root, moment, entries = unpack(FILE)
    assert (root, moment) == ("server-1.0", 1_700_000_000)
    assert set(entries) == set(ENTRIES)


def test_the_order_of_entries_does_not_matter() -> None:
    assert pack(reversed(ENTRIES), "server-1.0", 1_700_000_000) == FILE


@given(st.integers(min_value=0, max_value=len(FILE) - 1), st.integers(min_value=1, max_value=255))
def test_every_altered_byte_is_caught(position: int, change: int) -> None:
    altered = bytearray(FILE)
    altered[position] ^= change
    with pytest.raises(PackageError):
        unpack(bytes(altered))


@given(st.integers(min_value=0, max_value=len(FILE) - 1))
def test_a_file_that_was_cut_off_is_caught(length: int) -> None:
    with pytest.raises(PackageError):
        unpack(FILE[:length])


def test_something_behind_the_end_is_caught() -> None:
    with pytest.raises(PackageError):
        unpack(FILE + b"\0")


def test_a_second_frame_that_a_reader_would_pass_over_is_caught() -> None:
    first, second = (zstandard.compress(tar_of(ENTRIES, name, 0)) for name in ("one", "two"))
    with pytest.raises(PackageError, match="damaged"):
        unpack(sealed(first + second))


def test_other_programs_can_read_it() -> None:
    with zstandard.ZstdDecompressor().stream_reader(FILE, read_across_frames=True) as reader:
        tar = reader.read()
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        infos = archive.getmembers()
    assert [info.name for info in infos] == [
        "server-1.0/README",
        "server-1.0/bin/alias",
        "server-1.0/bin/server",
        "server-1.0/empty",
    ]
    assert {(info.uid, info.gid, info.mtime) for info in infos} == {(0, 0, 1_700_000_000)}


def test_more_than_can_be_read_again_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    tar = len(tar_of(ENTRIES, "server-1.0", 0))
    monkeypatch.setattr(archive, "MOST_BYTES", tar)
    assert unpack(pack(ENTRIES, "server-1.0", 0))[0] == "server-1.0"
    monkeypatch.setattr(archive, "MOST_BYTES", tar - 1)
    with pytest.raises(PackageError, match="too large") as caught:
        pack(ENTRIES, "server-1.0", 0)
    assert "bin/server (" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["../outside", "a/../../b"])
def test_a_file_that_would_leave_the_folder_is_refused(name: str) -> None:
    with pytest.raises(PackageError, match=r"leave its folder|not in hone's own form"):
        unpack(pack((Entry(name=name, data=b"x"),), "server-1.0", 0))


def test_a_tar_with_other_owners_is_refused() -> None:
    """Nothing may hide in what a reader passes over: the tar must be as hone writes it."""
    tar = bytearray(tar_of(ENTRIES, "server-1.0", 0))
    at = tar.index(b"0000000", 108)
    tar[at : at + 7] = b"0001750"
    with pytest.raises(PackageError):
        unpack(sealed(zstandard.compress(bytes(tar))))


@pytest.mark.parametrize("moment", ["inf", "nan", "1e400", "x"])
def test_a_time_that_is_none_is_refused(moment: str) -> None:
    with pytest.raises(PackageError):
        unpack(with_record("mtime", moment))


def test_a_sparse_file_is_refused_before_its_holes_are_read() -> None:
    tar = with_record("GNU.sparse.map", "0,0,1000000000000000,0")
    with pytest.raises(PackageError, match="not an ordinary file"):
        unpack(tar)


def with_record(key: str, value: str) -> bytes:
    """Return a package whose one file has a record of its own in the tar's extended header."""
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w", format=tarfile.PAX_FORMAT) as tar:
        info = tarfile.TarInfo("server-1.0/a")
        info.pax_headers = {key: value}
        tar.addfile(info)
    return sealed(zstandard.compress(text.getvalue()))


def sealed(compressed: bytes) -> bytes:
    """Return a file with a right seal around something else."""
    return compressed + archive._seal(compressed)
