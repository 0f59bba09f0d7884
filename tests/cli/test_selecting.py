"""Which build `hone package RUN` and `hone verify RUN` are about, also after `hone clean`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rich.console import Console

from dbhone.cli.context import Context
from dbhone.cli.selecting import choose
from dbhone.errors import UsageError
from dbhone.home import Home
from dbhone.untrusted_files import remove_tree
from tests.cli.finished_run import invoke, keep_finished


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Return a home that was cleaned after its run had finished."""
    home = Home(tmp_path / "home")
    keep_finished(home)
    invoke(home, "clean", "--yes")
    return home


def context_of(home: Home) -> Context:
    return Context(home_option=home.root, debug=False, out=Console(), err=Console(stderr=True))


def remove_base(home: Home) -> None:
    base = choose(context_of(home), "last").base
    assert base is not None
    remove_tree(base.folder)


def test_of_a_cleaned_home_winner_and_base_are_there(home: Home) -> None:
    chosen = choose(context_of(home), "last")
    assert chosen.subject is not None
    assert chosen.run is not None
    assert chosen.run.base is not None
    assert chosen.base is not None
    assert chosen.build.digest == chosen.subject.build_digest
    assert chosen.base.digest == chosen.run.base.build_digest


def test_a_winner_is_packed_though_the_build_of_its_base_is_gone(home: Home) -> None:
    remove_base(home)
    with pytest.raises(UsageError, match="has passed no grade"):  # and so it was found
        invoke(home, "package", "last")


def test_digits_that_are_no_run_but_begin_a_builds_digest_name_the_build(home: Home) -> None:
    build = choose(context_of(home), "last").build
    digits = "12345"
    folder = home.builds / (digits + build.digest[5:])
    shutil.copytree(build.folder, folder)
    text = (folder / "manifest.json").read_text().replace(build.digest, folder.name)
    (folder / "manifest.json").write_text(text)
    assert choose(context_of(home), digits).build.digest == folder.name
    with pytest.raises(UsageError, match="there is no run 54321"):
        choose(context_of(home), "54321")
