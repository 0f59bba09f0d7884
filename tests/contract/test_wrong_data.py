"""Data that is only wrong is never a fault of hone: whatever it reads, it says what is the matter.

What is read here are things that hone did not write, or that somebody may have changed since. Each
is a good example with pieces of it replaced, and the only exceptions are hone's own errors. With
DBHONE_FUZZ=N each is tried N times.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dbhone.compilation.bolt import read_report, stuck_function
from dbhone.compilation.compile_commands import read_commands
from dbhone.compilation.manifest import FILE, read_build
from dbhone.compilation.printed_counts import bolt_branches, clang_functions, gcc_functions
from dbhone.dbms.base_server import server_systems
from dbhone.errors import HoneError, ProfileError
from dbhone.experiment.declaration.load import parse, shipped_names
from dbhone.measurement.store import Store
from dbhone.source.archive import unpack
from dbhone.source.elf import read_compiler, read_elf, read_links
from dbhone.source.kinds.base import parse_reference
from dbhone.units import parse_duration, parse_percent, parse_size
from dbhone.workload.drivers import sysbench
from dbhone.workload.drivers._sysbench_output import error_in_output, read_summary
from tests.experiment.pretended import pretended_build
from tests.instance.places import place_below
from tests.measurement.store_records import begin, invocation
from tests.source.make_archives import tarred, zipped
from tests.source.make_elf import elf

EXAMPLES = int(os.environ.get("DBHONE_FUZZ", "60"))
fuzz = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
STRANGE = (
    *("", "\0", "\x1b]0;x\x07", "\u202e", "\ud800", "é", "-1", "nan", "inf", "1e999", "9" * 4400),
    *("[" * 900, "{" * 900, "../" * 50, "/", "=", ":", "'", '"', "\n", "\r", "9223372036854775808"),
    *("null", "true", "1970-13-40", "%s%n", "\\", "@", "#", ",", "{}", "[]", "0x", "1_0", " "),
)
NUMBERS = (None, -1, 0, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 1e308, float("inf"), -0.0)


@contextlib.contextmanager
def only_our_errors() -> Iterator[None]:
    with contextlib.suppress(HoneError):
        yield


@st.composite
def changed_text(draw: st.DrawFn, *good: str) -> str:
    """Return one of the good texts with up to four of its pieces replaced."""
    text = draw(st.sampled_from(good))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(STRANGE) | st.text(max_size=8)) + text[end:]
    return text


@dataclass(frozen=True)
class Damage:
    """What happens to a file: bytes at shares of its length are replaced, its end is cut off."""

    edits: tuple[tuple[float, bytes], ...]
    kept: float

    def of(self, data: bytes) -> bytes:
        for share, new in self.edits:
            start = int(share * len(data))
            data = data[:start] + new + data[start + len(new) :]
        return data[: int(self.kept * len(data))]


edits = st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=9)), max_size=6)
damages = st.builds(Damage, edits.map(tuple), st.just(1.0) | st.floats(0, 1))


def experiments() -> tuple[str, ...]:
    folder = Path(__file__).parents[2] / "src" / "dbhone" / "experiment" / "experiments"
    return tuple((folder / f"{name}.toml").read_text() for name in shipped_names())


@fuzz
@given(changed_text(*experiments()))
def test_experiments(text: str) -> None:
    with only_our_errors():
        parse(text, name="changed")


REFERENCES = (
    "apt:sqlite3=3.40.1-2@archive",
    "git:https://github.com/mysql/mysql-server@mysql-8.0.36",
    "https://example.org/a.tar.gz#sha256=" + "0" * 64,
    "dir:~/src/mysql",
    "deb:mariadb-server-core=1:10.11,libaio1",
    "npm:@scope/server@1.0.0",
    "maven:group:artifact:1.0:classifier",
)


@fuzz
@given(changed_text(*REFERENCES))
def test_references(text: str) -> None:
    with only_our_errors():
        parse_reference(text)


SYSBENCH = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

[ 1s ] thds: 4 tps: 12.50 qps: 250.00 (r/w/o: 175/50/25) lat (ms,95%): 9.22 err/s: 0.50 reconn/s: 0
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.063 |****************************************     12
SQL statistics:
    queries performed:
        read:                            175
        total:                           250
    transactions:                        12     (12.50 per sec.)
    ignored errors:                      0      (0.00 per sec.)
General statistics:
    total time:                          1.0006s
    total number of events:              12
Latency (ms):
         min:                                    1.00
         95th percentile:                        9.22
         sum:                                 1000.50
"""
FATAL = "FATAL: mysql_stmt_prepare() failed\nFATAL: MySQL error: 1146 \"Table 'a.b' doesn't exist\""


@fuzz
@given(changed_text(SYSBENCH, FATAL, "answer 1 x\nsound t\nverified\n"))
def test_what_a_driver_prints(text: str) -> None:
    with only_our_errors():
        read_summary(text)
    with only_our_errors():
        error_in_output(text)
    with only_our_errors():
        sysbench.PLUGIN.answers(text)


@fuzz
@given(changed_text("8m", "1h30m", "64MiB", "1.5G", "2%", "0.02"))
def test_what_people_write_on_a_command_line(text: str) -> None:
    for read in (parse_duration, parse_size, parse_percent):
        with only_our_errors():
            read(text)


PRINTED = (
    "2026-01-01 10:00:00 0 [ERROR] InnoDB: Unable to lock ./ibdata1 error: 11\n",
    "2026-01-01 10:00:00.000 UTC [4711] FATAL:  could not create lock file\n",
    "mysqld  Ver 8.0.36 for Linux on x86_64 (Source distribution)\n",
    "/usr/sbin/mariadbd  Ver 10.11.5-MariaDB for debian-linux-gnu on x86_64\n",
    "postgres (PostgreSQL) 15.4 (Debian 15.4-1)\n",
    "name|setting|unit|vartype\nshared_buffers|16384|8kB|integer\n",
    "--------------- ---------------\nport            3306\nsocket          (No default)\n",
    "[mysqld]\ninnodb_buffer_pool_size = 1G\n!include /etc/x\n",
    "shared_buffers = '1GB' # half\ninclude 'x.conf'\nport = 5432\n",
)


PROFILES = (
    "a.gcda:data:magic `gcda':version `B22*'\n"
    "a.gcda:01000000:   3:FUNCTION ident=108032747, lineno_checksum=0x0a0b0c, cfg_checksum=0x1\n"
    "a.gcda:01a10000:  16:COUNTERS arcs 2 counts\n"
    "a.gcda:01a10000:        0: 7 -3\n"
    "a.gcda:01a10000:  -8:COUNTERS arcs 4 counts (all zero)\n",
    "Counters:\n  main:\n    Hash: 0x01\n    Counters: 2\n    Block counts: [1, 184467440737]\n",
    "1 main 2a 1 bolt_pseudo/1 0 0 17\n1 f/1 c 1 f/1 1e 0 4\n",
    "BOLT-INFO: 12 out of 345 functions in the binary (3.5%) have non-empty execution profile\n"
    "BOLT-ERROR: in function f.cold/1(*2). Consider adding this function to --skip-funcs=...\n"
    "     1500 : taken branches\n      900 : taken branches (-40.0%)\n",
)


@fuzz
@given(changed_text(*PROFILES))
def test_what_profiles_say(text: str) -> None:
    for read in (
        lambda: list(gcc_functions(text.splitlines())),
        lambda: list(clang_functions(text.splitlines())),
        lambda: list(bolt_branches(text.encode("utf-8", "surrogatepass").splitlines())),
        lambda: read_report(text, counts=False),
        lambda: stuck_function(text),
    ):
        with only_our_errors():
            read()


def test_a_profile_that_claims_more_counters_than_there_is_memory_is_refused() -> None:
    lines = (line.replace("arcs 4", "arcs 99999999999") for line in PROFILES[0].splitlines())
    with pytest.raises(ProfileError, match="a function has 99,999,999,999 counters"):
        list(gcc_functions(lines))


@fuzz
@given(changed_text(*PRINTED))
def test_what_a_server_prints(text: str) -> None:
    for dbms in server_systems().values():
        for read in (
            dbms.error_in_log,
            dbms.version_in,
            dbms.known_settings,
            dbms.read_settings_file,
            dbms.bytes_of,
            dbms.foreign_data.search,
        ):
            with only_our_errors():
                read(text)


PID_FILE = b"12345\n/data\n1767261600\n5432\n/sockets\n\n  123 0\nready   \n"


@fuzz
@given(damages)
def test_what_a_server_writes_beside_its_data(damage: Damage) -> None:
    content = damage.of(PID_FILE)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        place = place_below(root)
        for folder in (place.data, place.sockets, place.scratch):
            folder.mkdir()
        for path in (place.data / "postmaster.pid", place.data / "pid", place.scratch / "pid"):
            path.write_bytes(content)
        for dbms in server_systems().values():
            with only_our_errors():
                dbms.is_ready(place, content.decode("utf-8", "replace"))


FILES = {"top/a": b"one", "top/b/c": b"two" * 100}
TAR = tarred(FILES)
ARCHIVES = (TAR, zstandard.compress(TAR), zipped(FILES), tarred(FILES, linked={"top/l": "a"}))


@fuzz
@given(st.integers(0, len(ARCHIVES) - 1), damages)
def test_archives(number: int, damage: Damage) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        archive = root / "archive"
        archive.write_bytes(damage.of(ARCHIVES[number]))
        (root / "scratch").mkdir()
        with only_our_errors():
            unpack(archive, root / "into", scratch=root / "scratch")
        assert {path.name for path in root.iterdir()} <= {"archive", "scratch", "into"}


@fuzz
@given(damages)
def test_programs(damage: Damage) -> None:
    content = damage.of(elf("libc.so.6", "libz.so.1", rpath="$ORIGIN/../lib", runpath="/opt"))
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        for read in (read_elf, read_links, read_compiler):
            with only_our_errors():
                read(Path(file.name))


def manifest_text() -> str:
    with tempfile.TemporaryDirectory() as name:
        return pretended_build(Path(name) / "build").manifest.model_dump_json(indent=1)


COMMAND = '{"phase": "compile", "began": 1.5, "seconds": 2, "cpu": 1.5, "memory": 9, "status": 0'
COMMAND += ', "folder": ".", "argv": ["-c", "a.c", "-o", "a.o"]}\n'


@fuzz
@given(changed_text(manifest_text()), changed_text(COMMAND))
def test_the_files_of_builds(manifest: str, commands: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / FILE).write_text(manifest, errors="surrogatepass")
        (folder / "commands").write_text(commands, errors="surrogatepass")
        read_build(folder)
        with only_our_errors():
            read_commands(folder / "commands")


@pytest.fixture(scope="module")
def good_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "store.db"
    with Store.open(path) as store:
        run_id = begin(store)
        for block in range(3):
            for name in ("rel", "pgo"):
                store.record(run_id, invocation(block, name))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    return path


_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"


def read_everything(path: Path) -> None:
    with only_our_errors(), Store.open(path) as store:
        runs = []
        with only_our_errors():
            runs = [summary.id for summary in store.runs()]
        for run_id in {*runs, 1}:
            for read in (
                store.run,
                store.progress,
                store.samples,
                store.observations,
                store.sliced,
                store.done,
            ):
                with only_our_errors():
                    read(run_id)


values = (
    st.sampled_from(NUMBERS)
    | st.sampled_from([text for text in STRANGE if "\ud800" not in text])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.binary(max_size=20)
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
)


@fuzz
@given(st.data())
def test_the_values_of_a_store(good_store: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.db"
        shutil.copyfile(good_store, path)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            tables = [row[0] for row in connection.execute(_TABLES)]
            tables = sorted(name for name in tables if not name.startswith("sqlite_"))
            for _ in range(data.draw(st.integers(1, 3))):
                table = data.draw(st.sampled_from(tables))
                columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
                if not columns:
                    continue
                column = data.draw(st.sampled_from(columns))
                value = data.draw(values)
                with contextlib.suppress(sqlite3.IntegrityError):
                    connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
            connection.commit()
        read_everything(path)


@fuzz
@given(damages)
def test_the_bytes_of_a_store(good_store: Path, damage: Damage) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "store.db"
        path.write_bytes(damage.of(good_store.read_bytes()))
        read_everything(path)
