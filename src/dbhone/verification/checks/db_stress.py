"""RocksDB's stress test, db_stress, in each of its modes.

Threads write, read, iterate, delete, flush, compact and reopen a database, and compare all that
they find with what they have written. A list is one mode. RocksDB's unit tests are not used: most
need a library that was compiled with assertions and hooks.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe
from dbhone.dbms.rocksdb import RUN_PATH, TOOL_FLAGS, TOOL_LIBRARIES, shared_name
from dbhone.verification.checks.base import (
    Read,
    RegressionTests,
    TestCommand,
    TestJob,
    TestList,
    TestPrograms,
)
from dbhone.verification.outcome import Evidence, Grade, Status, TestResult

_EMPTY = Path("librocksdb.so")
_STRESS = Path("libdb_stress.so")
_OPERATIONS = {Grade.SMOKE: 100_000, Grade.FULL: 1_500_000}
"""Operations of each thread."""
_FEWER = {"blob-files-long": 300_000, "batches-long": 500_000}
"""Where a list has fewer, since each operation takes longer the more there were."""
_ENDINGS = {Grade.SMOKE: "", Grade.FULL: "-long"}
"""What a grade's lists are called after the name of the mode."""
_SECONDS = {Grade.SMOKE: 15.0, Grade.FULL: 225.0}
_FAULTS = (
    "read_fault_one_in",
    "metadata_read_fault_one_in",
    "write_fault_one_in",
    "metadata_write_fault_one_in",
    "open_read_fault_one_in",
    "open_write_fault_one_in",
    "open_metadata_write_fault_one_in",
    "sync_fault_injection",
)
"""Faults that only a library with hooks can be given; not every version knows all of them."""
_USUAL: dict[str, int | str] = {
    "seed": 11,
    # What was written is kept in the folder of the test, which must exist before.
    "expected_values_dir": ".",
    "threads": 4,
    "max_key": 20_000,
    "log2_keys_per_lock": 4,
    "destroy_db_initially": 1,
    "clear_column_family_one_in": 0,
    "pause_background_one_in": 0,
    "progress_reports": 0,
    # Small files, so that there is much to flush and to compact.
    "write_buffer_size": 256 * 1024,
    "target_file_size_base": 256 * 1024,
    "max_bytes_for_level_base": 1024 * 1024,
    "value_size_mult": 16,
    "reopen": 2,
    "readpercent": 40,
    "writepercent": 35,
    "delpercent": 6,
    "delrangepercent": 0,
    "iterpercent": 10,
    "prefixpercent": 9,
    "prefix_size": 5,
    "bloom_bits": 10,
    "use_multiget": 1,
    "acquire_snapshot_one_in": 200,
    "flush_one_in": 2_000,
    "compact_range_one_in": 5_000,
    "compact_files_one_in": 5_000,
    "verify_checksum": 1,
    "verify_db_one_in": 10_000,
    "paranoid_file_checks": 1,
}
_RANGES = {"delpercent": 5, "delrangepercent": 1}
_MODES: dict[str, dict[str, int | str]] = {
    "values": {
        "column_families": 2,
        "compression_type": "lz4",
        "use_merge": 1,
        "checkpoint_one_in": 10_000,
        **_RANGES,
    },
    "blob-files": {
        "column_families": 1,
        "compression_type": "none",
        "enable_blob_files": 1,
        "min_blob_size": 8,
        "blob_file_size": 1024 * 1024,
        "enable_blob_garbage_collection": 1,
        "checkpoint_one_in": 10_000,
        **_RANGES,
    },
    "transactions": {
        "column_families": 1,
        "compression_type": "zstd",
        "use_txn": 1,
        "txn_write_policy": 0,
    },
    "column-families": {
        "column_families": 4,
        "compression_type": "zlib",
        "test_cf_consistency": 1,
        "reopen": 0,
    },
    "batches": {
        "column_families": 2,
        "compression_type": "snappy",
        "test_batches_snapshots": 1,
    },
}
"""What each mode sets besides the usual."""
_NO_ERRORS = re.compile(r"^\s*: Got errors 0 times$", re.MULTILINE)
_FAILED = re.compile(r"^.*(?:verification failed|corruption).*$", re.MULTILINE | re.IGNORECASE)
_SUCCESSFUL = re.compile(r"Verification successful$", re.MULTILINE)
_COMPARES_AT_ONCE = re.compile(r"^Batches/snapshots\s*: 1$", re.MULTILINE)
"""The mode that compares while it reads, and has nothing to verify in the end."""
_LAST = 12


class RocksDbTestPrograms(TestPrograms):
    """db_stress, which takes whichever library it finds when it starts.

    Its parts are a shared library of their own, because only such a library may be linked while
    nothing defines what it calls. An empty library gives it the name of the one that is tested.
    """

    tested = "rocksdb"
    fixed = True
    build_share = 0.15

    def recipe(self, request: BuildRequest) -> Recipe:
        """Return the steps: the parts, the empty library, db_stress as a library, the program."""
        compiler = str(request.cxx_compiler)
        sources = sorted((request.tree / "db_stress_tool").glob("*.cc"))
        flags = (
            *(*TOOL_FLAGS, *request.compile_flags, "-fPIC"),
            *(f"-I{request.tree / name}" for name in ("", "include")),
        )
        parts = [(compiler, *flags, "-c", str(source)) for source in sources]
        empty = (
            *(compiler, "-shared", f"-Wl,-soname,{shared_name(request)}"),
            *("-o", str(_EMPTY), "-x", "c", "/dev/null"),
        )
        library = (
            *(compiler, "-shared", f"-Wl,-soname,{_STRESS}", "-o", str(_STRESS)),
            *(f"{source.stem}.o" for source in sources),
            *("-Wl,--no-as-needed", f"./{_EMPTY}", "-Wl,--as-needed", *TOOL_LIBRARIES),
        )
        program = (
            *(compiler, "-o", "db_stress", "-Wl,--no-as-needed", f"./{_STRESS}"),
            *("-Wl,--allow-shlib-undefined", RUN_PATH),
        )
        return Recipe(
            steps=tuple(
                BuildStep(phase=Phase.COMPILE, argv=argv)
                for argv in (*parts, empty, library, program)
            ),
            artifacts=(
                Artifact(name="db_stress", made=Path("db_stress"), kept=Path("bin/db_stress")),
                Artifact(name="library", made=_STRESS, kept=Path("lib") / _STRESS),
            ),
            primary="library",
        )


class DbStress(RegressionTests):
    """db_stress_tool of the source tree."""

    name = "db_stress"
    title = "RocksDB's stress tests"
    systems = frozenset({"rocksdb"})
    evidence = Evidence.BYTES
    lists = tuple(
        TestList(name=f"{mode}{ending}", grades=frozenset({grade}), seconds=_SECONDS[grade])
        for grade, ending in _ENDINGS.items()
        for mode in _MODES
    )

    def test_programs(self, dbms: str) -> TestPrograms:
        """Return db_stress."""
        del dbms
        return RocksDbTestPrograms()

    def has_test(self, tests: str, name: str, tree: Path | None) -> bool:
        """Return whether a list is that of a mode; each is one test."""
        del tree
        return name == tests

    def command(self, job: TestJob) -> TestCommand:
        """Return db_stress with the options of a mode, for the job's folder."""
        long = _ENDINGS[Grade.FULL]
        grade = Grade.FULL if job.list.endswith(long) else Grade.SMOKE
        options: dict[str, int | str] = {
            "db": "database",
            "ops_per_thread": _FEWER.get(job.list, _OPERATIONS[grade]),
            **_USUAL,
            **_MODES[job.list.removesuffix(long)],
            **dict.fromkeys(_FAULTS, 0),
        }
        return TestCommand(
            argv=(
                str(job.tests / "bin" / "db_stress"),
                *(f"--{name}={value}" for name, value in options.items()),
                f"--undefok={','.join(_FAULTS)}",
            ),
            env={"LD_LIBRARY_PATH": str(job.build.folder / "lib")},
            readable=(job.tests, job.build.folder),
        )

    def results(self, printed: str, read: Read) -> tuple[TestResult, ...]:
        """Return one result: all that was found is what had been written."""
        del read
        ended = _NO_ERRORS.search(printed) and (
            _SUCCESSFUL.search(printed) or _COMPARES_AT_ONCE.search(printed)
        )
        wrong = [match[0] for match in _FAILED.finditer(printed)]
        passed = ended is not None and not wrong
        said = wrong[:_LAST] or printed.strip().splitlines()[-_LAST:]
        return (
            TestResult(
                name=self.name,
                status=Status.PASSED if passed else Status.FAILED,
                difference="" if passed else "\n".join(said),
            ),
        )

    def came_to_end(self, printed: str) -> bool:
        """Return True: it is one test, which is failed if it ended early."""
        del printed
        return True


PLUGIN = DbStress()
