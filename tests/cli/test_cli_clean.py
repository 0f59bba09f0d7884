"""`hone clean`: it says what the home holds, and removes only what can be made again."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from dbhone.cli.commands import clean as module
from dbhone.errors import MachineError, UsageError
from dbhone.home import Home
from dbhone.measurement.record import Code, RunState, Warning
from dbhone.session import open_session
from dbhone.untrusted_files import remove_tree
from tests.cli.finished_run import invoke, keep_finished
from tests.report.sample_run import Shape, a_run, with_only, without

TREE = "a" * 64
DAMAGED = "builds/half"
LOADED = "data/postgresql-15.18-0123456789abcdef"
LEFT = "scratch/0123456789ab"


def clean(home: Home, *words: str) -> Result:
    return invoke(home, "clean", *words, catch_exceptions=True)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home with a tree, a cache, a damaged build, loaded data and interrupted work."""
    home = Home(tmp_path / "home")
    with open_session(home):
        pass
    for name in (f"sources/{TREE}/tree", "sources/apt", DAMAGED, LOADED, LEFT, "profiles"):
        folder = home.root / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "content").write_bytes(bytes(1000))
    return home


def test_it_tells_how_much_can_be_removed_and_removes_nothing_unasked(home: Home) -> None:
    result = clean(home)
    assert result.exit_code == 0
    assert "'hone clean --yes' removes 3.9 KiB" in result.stderr
    assert (home.root / LOADED).is_dir()
    parts = {part["what"]: part for part in json.loads(clean(home, "--json").stdout)}
    assert parts["sources"]["bytes"] == 2000
    assert parts["sources"]["removable_bytes"] == 1000
    assert parts["builds"]["removable"] == [str(home.root / DAMAGED)]
    assert parts["profiles"]["removable"] == []


def test_what_can_be_made_again_is_removed_and_caches_stay(home: Home) -> None:
    assert "removed 3.9 KiB" in clean(home, "--yes").stderr
    assert not any((home.root / name).exists() for name in (DAMAGED, LOADED, LEFT))
    assert sorted(path.name for path in home.sources.iterdir()) == ["apt"]
    assert (home.profiles / "content").is_file()
    assert "There is nothing to remove." in clean(home, "--yes").stderr


def test_of_a_finished_run_the_builds_of_winner_and_base_stay(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    run = keep_finished(home)
    clean(home, "--yes")
    digests = {subject.name: subject.build_digest for subject in run.subjects}
    kept = {folder.name for folder in home.builds.iterdir()}
    assert kept == {digests["rel"], digests["lto+pgo"]}
    assert [folder.name for folder in home.sources.iterdir()] == [run.subjects[0].source_digest]


def test_of_a_run_that_can_be_continued_everything_stays(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    run = keep_finished(home, a_run(state=RunState.INTERRUPTED))
    assert "There is nothing to remove." in clean(home, "--yes").stderr
    kept = {folder.name for folder in home.builds.iterdir()}
    assert kept == {subject.build_digest for subject in run.subjects}


@pytest.mark.parametrize(("stopped_by", "stays"), [("budget", True), ("blocks", False)])
def test_of_a_run_whose_budget_ended_before_its_verdict_everything_stays(
    tmp_path: Path, stopped_by: str, stays: bool
) -> None:
    home = Home(tmp_path / "home")
    run = keep_finished(home, a_run(stopped_by=stopped_by), Shape(blocks=4))
    told = clean(home, "--yes").stderr
    assert ("stay for runs that can be continued (run 1): --all removes them" in told) is stays
    kept = {folder.name for folder in home.builds.iterdir()}
    assert kept == ({subject.build_digest for subject in run.subjects} if stays else set())
    assert (home.sources / run.subjects[0].source_digest).is_dir() is stays
    clean(home, "--yes", "--all")
    assert not list(home.builds.iterdir())


@pytest.mark.parametrize("rejected", [False, True])
def test_of_a_search_everything_stays_until_a_candidate_is_confirmed(
    tmp_path: Path, rejected: bool
) -> None:
    home = Home(tmp_path / "home")
    chosen = a_run(experiment_name="tune-0123456789-choose-1", stopped_by="blocks")
    rung = keep_finished(home, without(chosen, "control"), Shape(blocks=3))
    digests = {subject.name: subject.build_digest for subject in rung.subjects}
    clean(home, "--yes")
    assert {folder.name for folder in home.builds.iterdir()} == set(digests.values())

    warning = Warning(code=Code.REJECTED, text="it crashed", subject="lto+pgo")
    confirming = a_run(
        experiment_name="tune-0123456789-confirm-1",
        stopped_by="target",
        warnings=(warning,) if rejected else (),
    )
    keep_finished(home, with_only(confirming, "rel", "control", "lto+pgo"))
    clean(home, "--yes")
    kept = {folder.name for folder in home.builds.iterdir()}
    assert (
        set(digests.values()) <= kept if rejected else kept == {digests["rel"], digests["lto+pgo"]}
    )


def test_where_the_store_has_no_room_to_be_opened_loaded_data_makes_some(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_context: object) -> None:
        raise MachineError("no space left")

    monkeypatch.setattr("dbhone.cli.commands.clean.open_store", refuse)
    home.database.touch()
    result = clean(home, "--yes")
    assert "builds and sources stay for now: no space left" in result.stderr
    assert not (home.root / LOADED).exists()
    assert (home.root / DAMAGED).is_dir()
    assert (home.sources / TREE).is_dir()


def test_nothing_is_removed_while_another_hone_works_there(home: Home) -> None:
    with (home.sessions / "other").open("w") as session:
        fcntl.flock(session, fcntl.LOCK_EX)
        result = clean(home, "--yes")
    assert isinstance(result.exception, UsageError)
    assert "another hone works in" in str(result.exception)
    assert (home.root / LOADED).is_dir()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that has something done while clean waits for the host lock."""

    def have_done(something: Callable[[], object]) -> None:
        @contextlib.contextmanager
        def hold(_home: Home, _waiting: object) -> Iterator[float]:
            something()
            yield 1.0

        monkeypatch.setattr(module, "hold_host_lock", hold)

    return have_done


def test_clean_names_the_hone_that_it_waits_for_and_not_what_that_does(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def hold(_home: Home, waiting: Callable[[str], None]) -> Iterator[float]:
        waiting("another hone (process 4711: hone clean)")
        yield 1.0

    monkeypatch.setattr(module, "hold_host_lock", hold)
    told = clean(home, "--yes").stderr
    assert "waiting: another hone (process 4711: hone clean) is working on this machine" in told


def test_nothing_is_removed_if_another_hone_began_while_it_was_waited_for(
    home: Home, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    with contextlib.ExitStack() as stack:
        meanwhile(lambda: stack.enter_context(open_session(home)))
        result = clean(home, "--yes")
    assert isinstance(result.exception, UsageError)
    assert "another hone works in" in str(result.exception)
    assert (home.root / LOADED).is_dir()


def test_what_a_run_has_come_to_need_while_it_was_waited_for_stays(
    home: Home, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    run = a_run(state=RunState.INTERRUPTED)
    (home.sources / run.subjects[0].source_digest).mkdir()
    meanwhile(lambda: keep_finished(home, run))
    assert "removed 2.9 KiB" in clean(home, "--yes").stderr
    assert (home.sources / run.subjects[0].source_digest).is_dir()
    assert not (home.root / LOADED).exists()


def test_a_hone_that_begins_while_something_is_removed_waits(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[Path] = []

    def remove(folder: Path) -> None:
        sessions = os.open(home.sessions, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(sessions, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(sessions)
        remove_tree(folder)
        removed.append(folder)

    monkeypatch.setattr(module, "remove_tree", remove)
    clean(home, "--yes")
    assert home.root / LOADED in removed
    with open_session(home):
        pass


def test_a_home_of_which_a_folder_is_missing_is_told(home: Home) -> None:
    home.logs.rmdir()
    assert clean(home).exit_code == 0


def test_a_home_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = clean(Home(tmp_path / "none"))
    assert result.exit_code == 0
    assert "There is no home folder" in result.stderr
    assert json.loads(clean(Home(tmp_path / "none"), "--json").stdout) == []
    assert not (tmp_path / "none").exists()
