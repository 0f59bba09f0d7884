from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dbhone.source.fetch import FetchJob
from dbhone.source.kinds.base import parse_reference
from tests.source.apt_machine import Machine


class Notifications(list[str]):
    """The lines that a user would have seen."""

    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.fixture
def notified() -> Notifications:
    return Notifications()


@pytest.fixture
def job_for(tmp_path: Path, notified: Notifications) -> Callable[[str], FetchJob]:
    """Make a fetch as the core makes it, for tests of one kind without the core."""

    def make(text: str) -> FetchJob:
        root = tmp_path / "job"
        for folder in ("into", "scratch"):
            (root / folder).mkdir(parents=True)
        return FetchJob(
            reference=parse_reference(text),
            into=root / "into",
            scratch=root / "scratch",
            cache=root / "cache",
            log=root / "log",
            refresh=False,
            notify=notified,
        )

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small source tree."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "configure").write_text("#!/bin/sh\n")
    (root / "configure").chmod(0o755)
    (root / "src" / "main.c").write_text("int main(void) { return 0; }\n")
    return root


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    if not all(map(shutil.which, ("apt-get", "dpkg-source", "dpkg-deb"))):
        pytest.skip("needs apt and dpkg-dev")
    machine = Machine(tmp_path / "machine")
    monkeypatch.setenv("APT_CONFIG", str(machine.configuration))
    return machine


@pytest.fixture
def apt_repository(machine: Machine) -> Path:
    """The folder of a signed repository that is the machine's package source."""
    return machine.repository()
