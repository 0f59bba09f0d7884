"""The command line: wrong use is told in words, with exit code 2 and without a traceback."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dbhone import registry
from dbhone.measurement.store import Store
from dbhone.own_version import own_version
from tests.cli.commands import hone
from tests.experiment.experiment_files import GOOD
from tests.measurement.store_records import begin

LEVERS = """\
title = "levers"
base = "rel"

[sources]
postgresql = "apt:postgresql"

[subjects]
rel = { dbms = "postgresql", source = "postgresql" }
far = { like = "rel", levers = ["cpus=9999"] }
beyond = { like = "far", optional = true }

[workload]
suite = "sysbench:micro"
size = "smoke"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_help_lists_every_command_with_its_purpose(home: Path) -> None:
    done = hone(home, "--help")
    assert done.returncode == 0
    for name in registry.names("dbhone.cli.commands"):
        assert f"\n  {name} " in done.stdout


def test_the_version_is_told(home: Path) -> None:
    assert hone(home, "--version").stdout == f"hone, version {own_version()}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tyr",), "there is no command 'tyr'\n next: did you mean 'try'?"),
        (("try", "--budget", "soon"), "'soon' is not a duration"),
        (("try", "--budget", "30"), "--budget: '30' lacks a unit\n next: write 30s or 30m, not 30"),
        (("try", "--target", "200%"), "--target: '200%' does not lie between 0% and 100%"),
        (("try", "--seed", "-1"), "-1 is not in the range 0<=x<4294967296"),
        (("compare", "sqlite", "sqlite#o3", "--seed", "4294967296"), "is not in the range 0<=x<"),
        (("run",), "Missing argument 'FILE'"),
        (("run", "none.toml"), "cannot read none.toml: No such file or directory"),
        (("plan", "tri"), "there is no experiment 'tri'\n next: did you mean 'try'?"),
        (("start", "nope", "rel"), "there is no experiment 'nope'\n next: those that ship: "),
        (("install", "none.tar.zst"), "No such file or directory\n next: 'hone package' makes"),
        (("uninstall",), "hone has installed no server here\n next: to remove hone itself, delete"),
        (
            ("compare", "postgresql", "postgresql#o3", "--suite", "no.workload", "--plan"),
            "--suite: there is no ",
        ),
        (("build", "sqlite", "--variant", "pgo", "--suite", "nope"), "no suite 'nope'"),
        (("build", "apt:sqlite3", "--train", "main"), "takes no training"),
        (("build", "apt:sqlite3", "--variant", "o3+rel"), "both set the optimisation level"),
        (("build", "ftp:x"), "there is no source kind 'ftp'"),
        (("build", "dir:/nonexistent"), "/nonexistent"),
        (
            ("report", "last"),
            "next: 'hone try' makes one; --home or DBHONE_HOME names another folder",
        ),
        (("resume",), "there are no runs yet"),
        (("show", "7"), "there are no runs yet"),
        (("report", "--format", "pdf"), "'pdf' is not one of"),
        (("configs", "hiroi-8.0"), "there is no config 'hiroi-8.0'\n next: did you mean"),
        (("versions", "mysq"), "there is no DBMS 'mysq'\n next: did you mean 'mysql'?"),
        (("history", "mysql", "--versions", "8.0.12"), "a history needs two versions or more"),
        (("history", "mysql", "--versions", "5.7,8.0.13"), "known version of mysql '8.0.13'"),
        (("history", "mysql", "--threads", "four"), "'four' is not a list of numbers of clients"),
        (("history", "mysql", "--versions", ",,"), "',,' names nothing\n next: write A,B"),
        (("history", "mysql", "--join", "1", "--versions", ",,"), "',,' names nothing"),
        (("history", "mysql", "--join", "1", "--threads", ""), "--threads cannot be chosen"),
        (("history", "mysql", "--join", "1", "--variant", "lto"), "--variant cannot be chosen"),
        (("history", "mysql", "--compiler", "clang"), "are ready-made, and no compiler makes"),
        (("history", "mysql", "--sets", ", "), "', ' names nothing"),
        (("history", "mysql", "--threads", ",,"), "',,' is not a list of numbers of clients"),
        (("compare", "apt:sqlite3", "apt:sqlite3#o3", "--sets", ""), "'' names nothing"),
        (("history", "mysql", "--sets", "point-qery"), "did you mean 'point-query"),
        (("history", "sqlite"), "known of sqlite: none"),
        (("history", "mysql", "--join", "1"), "there are no runs yet"),
        (("history", "mysql", "--join", "1", "--suite", "x"), "--suite cannot be chosen"),
        (("history", "mysql", "--anchor", "5.6.14"), "--anchor is for --join"),
        (("compare", "apt:sqlite3"), "Missing argument 'B'"),
        (("compare", "apt:sqlite3", "./sqlite3"), "'./sqlite3' is not a source reference"),
        (("compare", "apt:sqlite3", "apt:sqlite3#rel"), "there is nothing to compare"),
        (("compare", "sqlite", "sqlite#rel"), "there is nothing to compare"),
        (("compare", "npm:a@1.0.0", "npm:b@1.0.0"), "next: name it, such as --dbms mysql"),
        (("report", "1", "2"), "there are no runs yet"),
        (("serve", "--port", "x"), "'x' is not a valid integer range"),
        (
            ("history", "mysql", "--output", "/nonexistent/h.toml"),
            "cannot write /nonexistent/h.toml: there is no folder /nonexistent\n next: name",
        ),
        (("compare", "known:mysql@5.7", "known:mysql@8.0", "--train", "a"), "ready-made takes no"),
        (("build", "known:mysql@8.0.13"), "there is no known version of mysql '8.0.13'"),
    ],
)
def test_wrong_use_is_told_with_exit_code_2(home: Path, words: tuple[str, ...], said: str) -> None:
    done = hone(home, *words)
    assert said in done.stderr
    assert done.returncode == 2


def test_a_wrong_file_is_refused_before_anything_starts(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text(GOOD.replace("variant =", "varient ="))
    done = hone(home, "run", "x.toml")
    assert done.returncode == 2
    assert "x.toml:10: subjects.pgo.varient: there is no such key" in done.stderr
    assert "did you mean 'variant'?" in done.stderr
    assert not home.exists()


def test_a_plan_does_nothing(home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(GOOD)
    done = hone(home, "plan", "x.toml")
    assert done.returncode == 0
    assert "control: rel with gcc" in done.stdout
    assert not list(home.glob("builds/*"))


def test_a_plan_tells_which_levers_this_machine_cannot_give(home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(LEVERS)
    done = hone(home, "plan", "x.toml")
    assert done.returncode == 0
    reason = "the lever cpus=9999: hone cannot use the CPU 9999"
    assert f"warning  far cannot be measured here: {reason}" in done.stdout
    assert f"warning  beyond would be left out: {reason}" in done.stdout


def test_brackets_in_a_title_are_brackets(home: Path, tmp_path: Path) -> None:
    title = "with its data in [/dev/shm], [bold] and :smile:"
    (tmp_path / "x.toml").write_text(GOOD.replace("a small comparison", title))
    assert hone(home, "plan", "x.toml").stdout.startswith(f"{title}\n")


def test_a_history_is_written_to_a_file_that_can_be_run(home: Path, tmp_path: Path) -> None:
    words = ("--versions", "5.6.14,5.7", "--size", "smoke", "--output", "h.toml")
    done = hone(home, "history", "mysql", *words)
    assert "wrote h.toml" in done.stderr
    assert not list(home.glob("builds/*"))
    assert "5.7.22: ready-made" in hone(home, "plan", "h.toml").stdout


def test_versions_are_listed_with_those_of_the_users_own_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    home.mkdir()
    (home / "versions.toml").write_text('[mysql."8.0.36"]\nsource = "dir:/opt/mysql"\n')
    done = hone(home, "versions", "mysql")
    (line,) = (each for each in done.stdout.splitlines() if "8.0.36" in each)
    assert line.split() == ["mysql", "8.0.36", "yes", "yours", "dir:/opt/mysql"]
    assert "mariadb" not in done.stdout
    assert "mariadb" in hone(home, "versions").stdout


def test_empty_lists_say_how_to_begin(home: Path) -> None:
    assert "'hone try' makes one" in hone(home, "runs").stderr
    assert "'hone try' or 'hone build' makes some" in hone(home, "builds").stderr


def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = hone(tmp_path / "file", "runs")
    assert done.returncode == 2
    assert "is a file" in done.stderr


def test_a_home_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = hone(tmp_path / "other", "--home", str(tmp_path / "file" / "home"), "runs")
    assert done.returncode == 2
    assert "in which the home folder home would be made" in done.stderr


def test_a_home_is_not_made_in_folders_that_do_not_exist(tmp_path: Path) -> None:
    done = hone(tmp_path / "other", "--home", str(tmp_path / "typo" / "home"), "doctor")
    assert done.returncode == 2
    assert (
        f"next: correct --home or DBHONE_HOME, or make the folder: mkdir -p {tmp_path}/typo"
        in done.stderr
    )
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize(
    "words", [("runs",), ("show",), ("report",), ("builds",), ("resume",), ("uninstall",)]
)
def test_what_only_reads_makes_no_home(tmp_path: Path, words: tuple[str, ...]) -> None:
    hone(tmp_path / "home", *words)
    assert not (tmp_path / "home").exists()


def test_a_run_that_is_refused_makes_no_home(home: Path) -> None:
    (home.parent / "wrong.toml").write_text('title = "x"\nbase = "nope"\n')
    refused = (("run", "wrong.toml"), ("run", "try", "--budget", "1s"), ("try", "--budget", "1s"))
    for words in refused:
        assert hone(home, *words).returncode != 0
        assert not home.exists()


def test_a_look_at_the_machine_names_the_home_and_makes_none(home: Path) -> None:
    told = json.loads(hone(home, "doctor", "--json").stdout)
    (kept,) = (found for found in told["machine"] if found["name"] == "home")
    assert kept["text"].startswith(f"{home}, ")
    assert list(home.parent.iterdir()) == []


def test_the_dbms_of_a_side_that_names_one_is_known_without_its_source(home: Path) -> None:
    words = ("compare", "postgresql", "postgresql#o3", "--output", "x.toml")
    assert hone(home, *words).returncode == 0
    assert not home.exists()


def test_the_plan_of_a_comparison_fetches_nothing_whose_name_tells_the_dbms(home: Path) -> None:
    planned = hone(home, "compare", "apt:sqlite3", "apt:sqlite3#o3", "--plan")
    assert planned.returncode == 0
    assert "apt:sqlite3" in planned.stdout
    assert "fetched" not in planned.stderr
    assert not home.exists()


def test_what_is_fetched_for_a_plan_is_told_before(home: Path) -> None:
    words = ("compare", "git:none@v1", "git:none@v2", "--plan")
    told = hone(home, *words).stderr
    assert "none@v1 is fetched to see which DBMS it is; --dbms names it instead" in told


def test_a_file_is_overwritten_only_by_force(tmp_path: Path) -> None:
    words = ("compare", "known:mysql@5.7", "known:mysql@8.0", "--output", str(tmp_path / "x.toml"))
    assert hone(tmp_path / "home", *words).returncode == 0
    (tmp_path / "x.toml").write_text("mine")
    refused = hone(tmp_path / "home", *words)
    assert refused.returncode == 2
    assert "next: name another file, or overwrite it with --force" in refused.stderr
    assert (tmp_path / "x.toml").read_text() == "mine"
    assert hone(tmp_path / "home", *words, "--force").returncode == 0
    assert (tmp_path / "x.toml").read_text() != "mine"


def test_a_hyphen_is_refused(tmp_path: Path) -> None:
    refused = hone(tmp_path / "home", "compare", "known:mysql@5.7", "known:mysql@8.0", "-o", "-")
    assert refused.returncode == 2
    assert "next: name a file, or /dev/stdout" in refused.stderr


def test_a_hopeless_budget_is_refused_before_anything_begins(tmp_path: Path) -> None:
    done = hone(tmp_path / "home", "try", "--budget", "5s")
    assert done.returncode == 2
    assert "the budget of 5.0 s leaves no time for measuring" in done.stderr
    assert "would do; --force begins anyway" in done.stderr
    assert not (tmp_path / "home").exists()


def test_output_that_nobody_reads_is_no_fault(home: Path) -> None:
    command = [sys.executable, "-m", "dbhone", "--home", str(home), "plan", "try"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_a_named_config_is_shown_with_its_source_and_its_reasons(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    listed = hone(home, "configs")
    assert listed.returncode == 0
    assert "hiroi10-8.0" in listed.stdout
    golden = Path(__file__).parents[1] / "golden" / "configs" / "kinoshita.txt"
    shown = hone(home, "configs", "kinoshita").stdout
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines == golden.read_text(encoding="utf-8").splitlines()


def test_nothing_in_an_experiment_drives_the_terminal(home: Path, tmp_path: Path) -> None:
    title = "\\u001b]0;owned\\u0007 \\u001b[2J \\u202e x"
    (tmp_path / "x.toml").write_text(GOOD.replace("a small comparison", title))
    shown = hone(home, "plan", "x.toml").stdout
    assert "owned" in shown
    assert not set("\x1b\x07\u202e") & set(shown)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "nested too deep"),
        ("x = " + "9" * 5000, "is not valid TOML"),
        ("title = '\\ud800'\nbase = \"\\ud800\"", "is not valid TOML"),
    ],
)
def test_values_beyond_all_measure_are_wrong_use(
    home: Path, tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "x.toml").write_text(text)
    for words in (("plan", "x.toml"), ("plan", "x.toml", "--source", "a=dir:.")):
        done = hone(home, *words)
        assert done.returncode in {1, 2}
        assert "a bug in hone" not in done.stderr
    assert told in hone(home, "plan", "x.toml").stderr


def test_a_run_beyond_all_numbers_does_not_exist(home: Path) -> None:
    with Store.open(make_home(home)) as store:
        begin(store)
    done = hone(home, "show", "9" * 30)
    assert done.returncode == 2
    assert "the newest is run 1" in done.stderr


def make_home(home: Path) -> Path:
    """Make a home's folder; return the path of its store."""
    home.mkdir(mode=0o711)
    return home / "store.db"


def test_an_account_without_a_home_is_told_what_to_do(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dbhone", "--home", "~nobody-there/x", "runs"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "this account has no home folder" in done.stderr
    assert "--home or DBHONE_HOME" in done.stderr
    assert "fault" not in done.stderr


def test_a_terminal_without_a_character_gets_its_number(home: Path, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(GOOD.replace("a small comparison", "größer ±"))
    command = [sys.executable, "-m", "dbhone", "--home", str(home), "plan", "x.toml"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, env=environment)
    assert done.stdout.startswith(rb"gr\xf6\xdfer \xb1")
    assert done.returncode == 0


def test_a_plan_tells_of_all_proofs_in_one_line(home: Path) -> None:
    told = hone(home, "plan", "try").stdout
    assert len(re.findall(r"^ *\d+–\d+  verify +\d+ subjects: ", told, re.MULTILINE)) == 1
    assert len(re.findall(r" verify ", told)) == 1


def test_what_is_listed_is_json_for_programs(home: Path) -> None:
    plan = json.loads(hone(home, "plan", "try", "--json").stdout)
    assert plan["budget_seconds"] == 480
    assert {"stage", "what", "seconds"} <= plan["steps"][0].keys()
    assert [suite["name"] for suite in json.loads(hone(home, "suites", "--json").stdout)]
    assert "requests/get-link-list" in hone(home, "suites", "linkbench").stdout
    assert "try" in {
        each["name"] for each in json.loads(hone(home, "experiments", "--json").stdout)
    }
    (config,) = json.loads(hone(home, "configs", "kinoshita", "--json").stdout)
    assert config["author"] == "Yasufumi Kinoshita" and config["settings"]
    assert config["name"] in {
        each["name"] for each in json.loads(hone(home, "configs", "--json").stdout)
    }
    assert json.loads(hone(home, "runs", "--json").stdout) == []
    assert json.loads(hone(home, "builds", "--json").stdout) == []
    (sqlite,) = json.loads(hone(home, "doctor", "sqlite", "--json").stdout)["goals"]
    assert sqlite["name"] == "sqlite"


def test_help_lists_commands_by_task_with_whole_summaries(home: Path) -> None:
    told = hone(home, "--help").stdout
    assert "Measure versions of DBMS side by side and report where it became faster or slower." in (
        " ".join(told.split())
    )
    headings = [line for line in told.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings == ["Options:", "Start:", "Measure:", "Look at results:", "Manage:"]


def test_examples_stand_on_lines_of_their_own(home: Path) -> None:
    told = hone(home, "compare", "--help").stdout
    example = "  hone compare git:.@v1 git:.@main --sets point-query,update-index --stop-early"
    assert example in told.splitlines()
