"""What the kernel tells of a running program."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

import pytest

from dbhone.command import Command
from dbhone.instance.host_state import read_observed_state
from dbhone.process import Process

SMAPS = """\
55d0-55e0 r-xp 00000000 fe:00 1234                       /usr/lib/lib jemalloc.so.2
Size:               1024 kB
7f00-7f80 rw-s 00000000 00:0f 77                         /anon_hugepage (deleted)
Size:             131072 kB
Shared_Hugetlb:         0 kB
Private_Hugetlb:     4096 kB
7f81-7f82 rw-s 00000000 00:0f 78                         /anon_hugepage (deleted)
Size:              65536 kB
Shared_Hugetlb:         0 kB
Private_Hugetlb:        0 kB
7f80-7f90 rw-p 00000000 00:00 0
Size:                 64 kB
"""
NUMA = """\
55d0 default file=/usr/sbin/mysqld mapped=12 N0=12 kernelpagesize_kB=4
7f00 interleave:0-1 anon=33 dirty=33 N0=17 N1=16 kernelpagesize_kB=4
"""


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "7" / "task").mkdir(parents=True)
    (tmp_path / "7" / "smaps").write_text(SMAPS)
    (tmp_path / "7" / "numa_maps").write_text(NUMA)
    return tmp_path


def test_mapped_files_huge_pages_and_policies_are_read(proc: Path) -> None:
    traces = read_observed_state(7, proc=proc)
    assert Path("/usr/lib/lib jemalloc.so.2") in traces.files
    assert traces.huge_bytes == 128 * 1024**2  # the second is reserved, but nobody uses it
    assert traces.numa_policies == {"default", "interleave"}


def test_a_program_that_is_gone_shows_nothing(tmp_path: Path) -> None:
    traces = read_observed_state(7, proc=tmp_path)
    assert not (traces.files or traces.cpus or traces.huge_bytes or traces.numa_policies)


def test_the_cpus_of_every_thread_are_seen(tmp_path: Path) -> None:
    cpu = min(os.sched_getaffinity(0))
    code = (
        "import os, threading\n"
        "def free():\n"
        "    os.sched_setaffinity(threading.get_native_id(), range(1024))\n"
        "    print('free', flush=True); threading.Event().wait()\n"
        "threading.Thread(target=free).start()\n"
    )
    command = Command(argv=(sys.executable, "-c", code), cwd=tmp_path, cpus=frozenset({cpu}))
    with Process(command, capture=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"free\n"
        traces = read_observed_state(process.pid)
    assert frozenset({cpu}) in traces.cpus
    if len(os.sched_getaffinity(0)) > 1:
        assert len(traces.cpus) == 2


def test_what_is_mapped_is_seen_in_a_real_program(tmp_path: Path) -> None:
    path = tmp_path / "a file"
    path.write_bytes(bytes(4096))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        traces = read_observed_state(os.getpid())
    assert path.resolve() in traces.files
    assert traces.numa_policies <= {"default", "interleave", "bind", "prefer", "local"}
