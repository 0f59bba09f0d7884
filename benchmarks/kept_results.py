"""Keeps the result of a run in ``docs/results``: the run itself, and its report made of that.

Usage: ``python -m benchmarks.kept_results [--home HOME --run N [--hide PATH=WORDS] NAME]``

With a run, it is copied out of the home's store into ``runs/NAME.db.xz``, without the paths of this
machine; the run in which a search measured its winner with all runs of the search. Then the reports
of all kept runs are made anew. So all of them are always of this version of hone; a test says when
they are not.
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from dbhone.measurement.store import Store
from dbhone.report.formats.base import render
from dbhone.report.page import with_published
from dbhone.tuner.chain import runs_up_to
from dbhone.tuner.results import page_of

_HERE = Path(__file__).resolve().parents[1]
RESULTS = _HERE / "docs" / "results"
RUNS = RESULTS / "runs"
_SUFFIX = ".db.xz"
_HOME = "~/.local/share/dbhone"
_CLONE = "~/dbhone"
_FOLDER = "~"
_BESIDE = {"mysql-hiroi10": ("hiroi10-pgo",)}
"""Published results that stand beside a kept run's own."""


def main() -> None:
    """Keep a run if one is named, and make all reports."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", help="what the result is called")
    parser.add_argument("--home", type=Path, help="the home with the run")
    parser.add_argument("--run", type=int, help="the run's number")
    parser.add_argument(
        "--hide",
        metavar="PATH=WORDS",
        action="append",
        default=[],
        help="what stands for a path, such as another clone's; may be repeated",
    )
    asked = parser.parse_args()
    if asked.name is not None:
        hidden = dict(word.split("=", 1) for word in asked.hide)
        keep(asked.home, asked.run, asked.name, hidden)
    for name in kept():
        (RESULTS / f"{name}.txt").write_bytes(report_of(name))


def kept() -> list[str]:
    """Return the names of the kept runs."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in RUNS.glob(f"*{_SUFFIX}"))


def report_of(name: str) -> bytes:
    """Return the report of a kept run, as this version of hone makes it."""
    with _unpacked(RUNS / f"{name}{_SUFFIX}") as file, Store.open(file) as store:
        last = max(run.id for run in store.runs())
        page = with_published(page_of(store.run(last), store), _BESIDE.get(name, ()))
        return render(page, "text")


def keep(home: Path, number: int, name: str, also_hidden: Mapping[str, str]) -> None:
    """Copy a run out of a store, without the paths of this machine.

    The home, this clone and the experiment's folder are hidden, and the paths of ``also_hidden`` by
    what it has in their place.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.db"
        with (
            closing(sqlite3.connect(f"file:{home / 'store.db'}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(file)) as target,
        ):
            source.backup(target)
        with Store.open(file) as store:
            run = store.run(number)
            wanted = {run.id, *(own.id for own in runs_up_to(run, store))}
            for other in store.runs():
                if other.id not in wanted:
                    store.delete_run(other.id)
            experiment = Path(run.experiment_name)
        hidden = {**also_hidden, str(home.resolve()): _HOME, str(_HERE): _CLONE}
        if experiment.is_absolute():
            hidden[str(experiment.parent)] = _FOLDER
        with closing(sqlite3.connect(file)) as database:
            # What drivers printed is packed, and may name paths; no report needs it.
            database.execute("DELETE FROM outputs")
            _hide(database, hidden)
            database.execute("PRAGMA journal_mode = DELETE")
            database.execute("VACUUM")
        RUNS.mkdir(exist_ok=True)
        (RUNS / f"{name}{_SUFFIX}").write_bytes(lzma.compress(file.read_bytes(), preset=9))


def _hide(database: sqlite3.Connection, hidden: dict[str, str]) -> None:
    """Replace paths in all texts."""
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (table,) in tables:
        for _, column, kind, *_ in database.execute(f'PRAGMA table_info("{table}")').fetchall():
            if kind.upper().startswith(("TEXT", "VARCHAR", "JSON")):
                for path, instead in hidden.items():
                    database.execute(
                        f'UPDATE "{table}" SET "{column}" = replace("{column}", ?, ?)'
                        f' WHERE instr("{column}", ?)',
                        (path, instead, path),
                    )
    database.commit()


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "store.db"
        with lzma.open(path) as packed, file.open("wb") as target:
            shutil.copyfileobj(packed, target)
        yield file


if __name__ == "__main__":
    main()
