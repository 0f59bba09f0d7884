"""Ready-made servers in trees, and in archives inside archives."""

from __future__ import annotations

import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.errors import SourceError
from dbhone.source.fetch import FetchJob
from dbhone.source.ready_made import find_server, require_server, unpack_ready_made
from tests.files import put
from tests.source.make_archives import tarred, zipped
from tests.source.make_elf import OTHER_MACHINE, elf


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("bin/mysqld", "."),
        ("sbin/mariadbd", "."),
        ("libexec/mysqld", "."),
        ("a/b/linux/bin/mysqld", "a/b/linux"),
        ("usr/sbin/mariadbd", "usr"),
        ("usr/lib/postgresql/15/bin/postgres", "usr/lib/postgresql/15"),
    ],
)
def test_a_server_is_found_in_a_folder_for_programs(tmp_path: Path, name: str, prefix: str) -> None:
    put(tmp_path / name, elf())
    found = find_server(tmp_path)
    assert found is not None
    assert (found.program, found.prefix) == (tmp_path / name, tmp_path / prefix)


def test_a_server_is_found_beside_its_share(tmp_path: Path) -> None:
    put(tmp_path / "server/mysqld", elf())
    assert find_server(tmp_path) is None
    put(tmp_path / "server/share/english/errmsg.sys", b"x")
    found = find_server(tmp_path)
    assert found is not None
    assert found.prefix == tmp_path / "server"


def test_of_several_servers_the_one_nearest_to_the_top_is_meant(tmp_path: Path) -> None:
    for name in ("b/bin/mysqld", "a/deep/bin/mysqld", "b/bin/mariadbd"):
        put(tmp_path / name, elf())
    found = find_server(tmp_path)
    assert found is not None
    assert found.program == tmp_path / "b/bin/mariadbd"


@pytest.mark.parametrize(
    "content",
    [
        b"#!/bin/sh\n",
        elf()[:30],
        elf(type=1),
        b"\x7fELF" + bytes(60),
        b"\x7fELF" + b"\xff" * 200,
    ],
)
def test_what_is_no_program_is_no_server(tmp_path: Path, content: bytes) -> None:
    put(tmp_path / "bin/mysqld", content)
    assert find_server(tmp_path) is None


def test_a_link_that_leads_to_itself_is_no_server(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mysqld").symlink_to("mysqld")
    assert find_server(tmp_path) is None


def test_a_link_that_leads_out_is_no_server(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere/mysqld", elf())
    (tmp_path / "tree" / "bin").mkdir(parents=True)
    (tmp_path / "tree" / "bin" / "mysqld").symlink_to(tmp_path / "elsewhere" / "mysqld")
    assert find_server(tmp_path / "tree") is None


def test_a_tree_without_a_server_is_reported_with_its_top(tmp_path: Path) -> None:
    put(tmp_path / "README", b"x")
    put(tmp_path / "lib/libmysql.so", elf())
    with pytest.raises(SourceError) as caught:
        require_server(tmp_path, "npm:a@1.0.0")
    assert caught.value.message == "there is no server in npm:a@1.0.0"
    for part in ("mariadbd, mysqld or postgres", "at its top: README, lib/"):
        assert part in str(caught.value.hint)


def test_a_server_for_another_machine_is_reported_as_such(tmp_path: Path) -> None:
    put(tmp_path / "bin/postgres", elf(machine=OTHER_MACHINE))
    assert find_server(tmp_path) is None
    with pytest.raises(SourceError, match="the postgres in maven:a:b:1 is for another machine"):
        require_server(tmp_path, "maven:a:b:1")


JobFor = Callable[[str], FetchJob]


@pytest.fixture
def job(job_for: JobFor) -> FetchJob:
    return job_for("npm:a@1.0.0")


def unpacked(content: bytes, job: FetchJob) -> set[str]:
    archive = job.scratch / "archive.jar"
    archive.write_bytes(content)
    unpack_ready_made(archive, job.into, job.scratch, job.notify)
    return {str(path.relative_to(job.into)) for path in job.into.rglob("*") if path.is_file()}


SERVER = {"mysql/bin/mysqld": elf(), "mysql/share/english/errmsg.sys": b"x"}


def test_the_archive_with_the_server_is_unpacked_in_its_place(job: FetchJob) -> None:
    inner = lzma.compress(tarred(SERVER))
    found = unpacked(zipped({"META-INF/LICENSE": b"x", "inside/db.txz": inner}), job)
    assert found == {
        "META-INF/LICENSE",
        "inside/db/bin/mysqld",
        "inside/db/share/english/errmsg.sys",
    }


def test_archives_are_unpacked_as_deep_as_the_server_lies(job: FetchJob) -> None:
    for name in ("db.tar", "db.zip", "db.jar"):
        inner = tarred(SERVER) if name == "db.tar" else zipped({"db.tar": tarred(SERVER)})
        deep = {"outer/" + name: inner, "outer/notes": b"x"}
        assert "db" in str(unpacked(zipped(deep), job))
        assert find_server(job.into) is not None
        for place in (job.into, job.scratch):
            for path in sorted(place.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()


def test_archives_for_other_machines_are_left_out(job: FetchJob) -> None:
    foreign = tarred({"mysql/bin/mysqld": elf(machine=OTHER_MACHINE)})
    jar = {
        "mysql-Mac_OS_X-x86_64.tar": tarred({"mysql/bin/mysqld": b"\xcf\xfa\xed\xfe"}),
        "mysql-Linux-s390x.tar": foreign,
        "mysql-Linux-here.tar": tarred(SERVER),
    }
    found = unpacked(zipped(jar), job)
    assert found == {
        "mysql-Linux-here/bin/mysqld",
        "mysql-Linux-here/share/english/errmsg.sys",
    }


def test_beside_a_server_nothing_more_is_unpacked(job: FetchJob) -> None:
    jar = {**SERVER, "mysql/share/examples.zip": zipped({"a": b"x"})}
    assert "share/examples.zip" in unpacked(zipped(jar), job)


def test_without_a_server_everything_stays_as_it_was_packed(job: FetchJob) -> None:
    jar = {"a.zip": zipped({"x": b"x"}), "b.tar": tarred({"y": b"y"}), "c": b"z"}
    assert unpacked(zipped(jar), job) == {"a.zip", "b.tar", "c"}


def test_programs_and_scripts_get_their_execute_bits_back(job: FetchJob) -> None:
    files = {
        "bin/mysqld": elf(),
        "scripts/install": b"#!/bin/sh\n",
        "lib/object.o": elf(type=1),
        "share/errmsg.txt": b"x",
    }
    unpacked(zipped(files), job)
    runs = {name for name in files if os.access(job.into / name, os.X_OK)}
    assert runs == {"bin/mysqld", "scripts/install"}


@pytest.mark.parametrize(
    "inner",
    [
        tarred({**SERVER, "../evil": b"x"}),
        tarred({**SERVER, "/evil": b"x"}),
        tarred(SERVER, linked={"mysql/evil": "../../../x"}),
        tarred(SERVER, linked={"mysql/evil": "/etc/passwd"}),
    ],
)
def test_an_archive_inside_that_would_leave_its_folder_is_refused(
    job: FetchJob, inner: bytes
) -> None:
    outside = set(job.scratch.parent.iterdir())
    with pytest.raises(SourceError, match="evil"):
        unpacked(zipped({"db.tar": inner, "a": b"x"}), job)
    assert set(job.scratch.parent.iterdir()) == outside


def test_a_damaged_archive_inside_is_named(job: FetchJob) -> None:
    with pytest.raises(SourceError, match=r"db\.txz is not a whole tar or zip archive"):
        unpacked(zipped({"db.txz": lzma.compress(tarred(SERVER))[:100], "a": b"x"}), job)


def test_an_archive_beside_a_folder_of_its_name_is_refused(job: FetchJob, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"db\.tar and db are in one folder"):
        unpacked(zipped({"db.tar": tarred(SERVER), "db/a": b"x"}), job)
