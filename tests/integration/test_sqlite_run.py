"""From source to verdict on the real SQLite, at a small size, through the command line."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.hone import SMALL, Hone, counted, processes_of, wait_for_line

pytestmark = pytest.mark.integration
BLOCKS, SETS, SUBJECTS = 6, 2, 3


@pytest.fixture(scope="module")
def hone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hone]:
    """Return a home in which the small experiment has been run once, to its end."""
    folder = tmp_path_factory.mktemp("sqlite")
    (folder / "small.toml").write_text(SMALL)
    command = Hone(folder / "home", folder)
    command("run", "small.toml")
    yield command
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def report(hone: Hone) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(hone("report", "1", "--format", "json").stdout)
    return document


def test_the_report_keeps_its_contract(report: dict[str, Any]) -> None:
    assert report["schema"] == "dbhone-report/1"
    assert report["base"] == "rel"
    keys = {"subject", "step", "group", "in_sample", "metric", "ratio", "low", "high", "blocks"}
    for effect in report["effects"]:
        assert keys <= set(effect)
        assert effect["verdict"] in {
            "faster",
            "slower",
            "no difference found",
            "not enough data",
            "less",
            "more",
            "fewer",
        }
        assert effect["in_sample"] == effect["step"].startswith("main/")
    assert {each["subject"] for each in report["effects"]} == {"control", "pgo"}


def test_in_sample_and_held_out_are_apart(report: dict[str, Any]) -> None:
    alls = [each for each in report["summary"] if each["group"] == "all"]
    keyed = {(each["subject"], each["in_sample"]): each["steps"] for each in alls}
    assert keyed["pgo", True] == 32
    assert keyed["pgo", False] == 4


def test_the_profile_guided_build_used_its_profile(report: dict[str, Any]) -> None:
    pgo = next(each for each in report["builds"] if each["subject"] == "pgo")
    assert pgo["trained_on"] == ["main"]
    assert 0.2 < pgo["profile_coverage"] < 0.9
    assert any(flag.startswith("-fprofile-use=") for flag in pgo["flags"])
    plain = next(each for each in report["builds"] if each["subject"] == "rel")
    assert plain["digest"] != pgo["digest"]
    assert Path(pgo["path"]).is_file()


def test_the_source_is_the_distributions_with_its_version(report: dict[str, Any]) -> None:
    for each in report["builds"]:
        assert re.fullmatch(r"apt:sqlite3=\d[\w.+~-]*", each["source"])


def test_everything_was_measured_once(hone: Hone) -> None:
    assert len(counted(hone, 1)) == BLOCKS * SETS * SUBJECTS


def test_every_format_is_written(hone: Hone, report: dict[str, Any]) -> None:
    text = hone("report", "last").stdout
    assert report["headline"].split()[0] in text
    assert "| " in hone("report", "1", "--format", "markdown").stdout
    rows = list(csv.DictReader(io.StringIO(hone("report", "--format", "csv").stdout)))
    assert len(rows) == len(report["effects"])
    page = (hone.home / "runs" / "1" / "report.html").read_text()
    assert "<script src" not in page
    assert "http-equiv" not in page or "refresh" not in page


def test_runs_and_builds_are_listed(hone: Hone) -> None:
    assert "a small run on the real SQLite" in hone("runs").stdout
    shown = hone("show", "1").stdout
    assert re.search(r"^state +done\b", shown, re.MULTILINE)
    assert re.search(rf"^blocks +{BLOCKS}\b", shown, re.MULTILINE)
    builds = hone("builds").stdout
    assert "instrumented" in builds
    assert "copy 1" in builds


def test_the_same_build_is_found_and_not_made_again(hone: Hone) -> None:
    done = hone("build", "apt:sqlite3", "--variant", "pgo", "--train", "main", "--size", "smoke")
    assert "made before" in done.stderr
    assert Path(done.stdout.strip(), "bin", "sqlite3").is_file()


def test_a_complete_run_is_not_resumed(hone: Hone) -> None:
    assert "run 1 is complete" in hone("resume", "1", code=2).stderr


@pytest.mark.parametrize("moment", ["verify  control", "block 1 ", "block 4 "])
def test_a_run_that_is_killed_goes_on_and_ends_as_if_it_had_not_been(
    hone: Hone, moment: str
) -> None:
    running = hone.start("run", "small.toml")
    assert running.stderr is not None
    wait_for_line(running.stderr, moment)
    sessions = hone.sessions()
    assert sessions
    running.kill()
    running.wait()
    running.stderr.close()
    while processes_of(sessions):
        time.sleep(0.02)
    number = max(int(path.name) for path in (hone.home / "runs").iterdir()) + 1
    assert "cut off" in hone("show", "last").stdout
    hone("resume", "last")
    assert len(counted(hone, number)) == BLOCKS * SETS * SUBJECTS
    assert not hone.sessions()


def test_an_interrupted_run_says_how_to_go_on(hone: Hone) -> None:
    running = hone.start("run", "small.toml")
    assert running.stderr is not None
    wait_for_line(running.stderr, "block 2 ")
    running.send_signal(signal.SIGINT)
    said = running.stderr.read()
    running.stderr.close()
    assert running.wait() == 130
    assert "hone resume" in said
    assert "Traceback" not in said
    hone("resume", "last")


def test_a_budget_too_small_for_one_block_is_told_and_can_be_raised(hone: Hone) -> None:
    done = hone("run", "small.toml", "--budget", "1ms", "--force", code=1)
    assert "the budget is too small" in done.stderr
    assert "--budget" in done.stderr
    hone("resume", "last", "--budget", "10m")


def replace_driver(hone: Hone, digest: str, script: str) -> Path:
    """Put a script in the place of a build's speedtest1, as large as it was."""
    path = hone.home / "builds" / digest / "bin" / "speedtest1"
    size = path.stat().st_size
    path.parent.chmod(0o755)
    path.rename(path.with_name("kept"))
    path.write_text(script + "\n" + "#" * (size - len(script) - 1))
    path.chmod(0o755)
    return path


def restore(path: Path) -> None:
    path.with_name("kept").replace(path)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho garbage", "printed an unexpected"),
        ("#!/bin/sh\nexit 0", "printed nothing"),
        ("#!/bin/sh\necho dying >&2\nkill -SEGV $$", "was ended by SIGSEGV"),
    ],
)
def test_a_broken_driver_is_told(
    hone: Hone, report: dict[str, Any], script: str, said: str
) -> None:
    digests = {each["subject"]: each["digest"] for each in report["builds"]}
    path = replace_driver(hone, digests["rel"], script)
    try:
        done = hone("run", "small.toml", code=1)
    finally:
        restore(path)
    assert "the base rel is not sound" in done.stderr
    assert said in done.stderr


def test_a_run_whose_only_candidate_answers_otherwise_fails_and_measures_nothing(
    hone: Hone, report: dict[str, Any]
) -> None:
    digests = {each["subject"]: each["digest"] for each in report["builds"]}
    script = '#!/bin/sh\n"$(dirname "$0")/kept" "$@" | sed "s/Hash: .*/Hash: 1 ff/"'
    path = replace_driver(hone, digests["pgo"], script)
    try:
        done = hone("run", "small.toml", code=1)
    finally:
        restore(path)
    assert "nothing is left to compare with rel" in done.stderr
    found = json.loads(hone("report", "last", "--format", "json").stdout)
    pgo = next(each for each in found["builds"] if each["subject"] == "pgo")
    assert "it answers otherwise than the base" in pgo["broken"]
    told = {each["code"] for each in found["warnings"] if pgo["broken"] in each["text"]}
    assert told == {"subject-broken", "run-not-finished"}
    assert found["effects"] == []


def test_a_base_beside_which_nothing_is_sound_is_not_measured(
    hone: Hone, report: dict[str, Any]
) -> None:
    digests = {each["subject"]: each["digest"] for each in report["builds"]}
    text = "".join(each for each in SMALL.splitlines(keepends=True) if "control" not in each)
    (hone.folder / "alone.toml").write_text(f"{text}control = false\n")
    path = replace_driver(hone, digests["pgo"], "#!/bin/sh\nexit 0")
    try:
        done = hone("run", "alone.toml", code=1)
    finally:
        restore(path)
    assert "nothing is left to compare with rel" in done.stderr
    assert "a new run tries them again" in done.stderr
    assert "pgo" in hone("show", "last").stdout
    assert "pgo broke" in hone("report", "last").stdout


def test_a_build_is_verified_by_sqlites_own_tests_packed_and_checked(
    hone: Hone, report: dict[str, Any]
) -> None:
    digests = {each["subject"]: each["digest"] for each in report["builds"]}
    against = (digests["pgo"], "--against", digests["rel"])
    done = hone("verify", *against, "--test", "select1.test", "--test", "btree01.test")
    assert "testrunner veryquick" in done.stdout
    assert "these tests only: whatever the base passes, the build passes" in done.stdout
    # Some of the tests are no grade.
    assert "has passed no grade" in hone("package", digests["pgo"], code=2).stderr

    assert "passed  answers" in hone("verify", *against, "--grade", "answers").stdout
    path = hone.folder / "server.tar.zst"
    packed = hone("package", digests["pgo"], "--rebuild", "--output", str(path))
    assert "a second build of the same inputs has the same files" in packed.stderr
    package = path.read_bytes()
    assert str(hone.home).encode() not in package
    checked = hone("package", "--check", str(path)).stdout
    assert "none: the package is unsigned" in checked
    assert "grade answers" in checked
    assert "has the same files, byte for byte" in checked
    again = hone("package", "--check", "--again", str(path), code=2)
    assert "cannot be repeated: the package has no experiment" in again.stderr
    path.write_bytes(package[:5000] + bytes([package[5000] ^ 1]) + package[5001:])
    assert "is damaged" in hone("package", "--check", str(path), code=1).stderr


def test_cleaning_keeps_what_is_needed_and_all_of_it_goes_on_demand(hone: Hone) -> None:
    def kept(place: str) -> set[str]:
        return {path.name for path in (hone.home / place).iterdir() if len(path.name) == 64}

    builds, sources = kept("builds"), kept("sources")
    assert "'hone clean --yes' removes" in hone("clean").stderr
    assert "removed" in hone("clean", "--yes").stderr
    assert kept("builds") < builds
    assert kept("sources") == sources
    assert "removed" in hone("clean", "--all", "--yes").stderr
    assert not kept("sources")
    assert "There are no builds yet" in hone("builds").stderr
