"""``hone verify`` and ``hone package``: what they say of wrong use, and of packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.measurement.store import Store
from tests.integration.hone import Hone
from tests.package.packages import measurement, package, samples
from tests.report.sample_run import a_run
from tests.report.sample_run import samples as samples_of_run
from tests.serve.stored import keep


@pytest.fixture
def hone(tmp_path: Path) -> Hone:
    return Hone(tmp_path / "home", tmp_path)


def test_a_word_that_is_no_build_is_told(hone: Hone) -> None:
    for command in ("verify", "package"):
        done = hone(command, "abcdef012345", code=2)
        assert "'abcdef012345' is neither a build nor a run" in done.stderr
        assert "'hone builds' lists the builds" in done.stderr
        assert "there are no runs yet" in hone(command, "last", code=2).stderr


def test_a_winner_whose_build_was_removed_since_is_told(hone: Hone) -> None:
    run = a_run()
    hone.home.mkdir()
    with Store.open(hone.home / "store.db") as store:
        keep(store, run, samples_of_run(run))
    for command in ("verify", "package"):
        done = hone(command, "last", code=2)
        assert "which run 1 measured, is no longer kept" in done.stderr
        assert "run the same experiment again" in done.stderr


def test_an_unknown_grade_and_an_unknown_form_are_wrong_use(hone: Hone) -> None:
    hone("verify", "last", "--grade", "thorough", code=2)
    assert "there is no form 'rpm'" in hone("package", "last", "--form", "rpm", code=2).stderr


def test_a_package_is_checked_where_there_is_no_home(hone: Hone) -> None:
    file = hone.folder / "server.tar.zst"
    file.write_bytes(package())
    shown = hone("package", "--check", str(file)).stdout
    assert "server-1.0, 4 files, all intact" in shown
    assert "none: the package is unsigned" in shown
    assert "sqlite 3.40.1, o3: -O3" in shown
    assert "lacks      TLS; JIT" in shown
    assert "grade smoke: passes what its base passes of testrunner veryquick (99 of 100)" in shown
    assert "o3 over its base, recomputed from 8 blocks: held-out +" in shown
    assert "faster" in shown
    assert not hone.home.exists()


def test_it_is_told_what_a_second_build_has_otherwise(hone: Hone) -> None:
    file = hone.folder / "server.tar.zst"
    for differing, words in (
        (None, "reproducibility was not checked"),
        ([], "has the same files, byte for byte"),
        (["bin/server"], "differs in: bin/server"),
    ):
        file.write_bytes(package(differing=differing))
        assert words in hone("package", "--check", str(file)).stdout


def test_a_measurement_that_is_its_users_alone_is_not_repeated(hone: Hone) -> None:
    file = hone.folder / "server.tar.zst"
    file.write_bytes(package())
    done = hone("package", "--check", "--again", str(file), code=2)
    assert "cannot be repeated: its workload is its user's own" in done.stderr
    hone("package", "last", "--again", code=2)


def test_what_a_package_asks_for_is_held_to_the_same_rules(hone: Hone) -> None:
    """A package comes from outside: it cannot have a command of its maker's executed."""
    file = hone.folder / "server.tar.zst"
    public = {"training": {"command": ["touch", "here"]}, "workload": {"suite": "speedtest1"}}
    said = {**measurement(samples()), "experiment": {"public": public}}
    file.write_bytes(package(said=said))
    done = hone("package", "--check", "--again", str(file), code=2)
    assert "it was trained by a command" in done.stderr


def test_a_budget_that_is_too_small_here_can_be_raised(hone: Hone) -> None:
    """The error's hint names an option that the command has."""
    file = hone.folder / "server.tar.zst"
    public = {
        "base": "plain",
        "sources": {"sqlite": "apt:sqlite3"},
        "subjects": {
            "plain": {"dbms": "sqlite", "source": "sqlite"},
            "o3": {"like": "plain", "variant": "o3"},
        },
        "workload": {"suite": "speedtest1"},
        "design": {"budget": "2s"},
    }
    said = {**measurement(samples()), "experiment": {"public": public}}
    file.write_bytes(package(said=said))
    for budget, words in (((), "the budget of 2.0 s"), (("--budget", "3s"), "the budget of 3.0 s")):
        refused = hone("package", "--check", "--again", *budget, str(file), code=2).stderr
        assert words in refused
        assert "'--budget" in refused
    assert "--again" in hone("package", "--check", "--budget", "3s", str(file), code=2).stderr


def test_what_is_no_package_is_told(hone: Hone) -> None:
    (hone.folder / "text").write_text("hello")
    assert "not a package of hone's" in hone("package", "--check", "text", code=1).stderr
    assert "cannot read missing" in hone("package", "--check", "missing", code=2).stderr
