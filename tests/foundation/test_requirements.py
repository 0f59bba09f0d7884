"""What is missing is named at once, with one line that installs it, and installed as root."""

from __future__ import annotations

import dataclasses
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

from dbhone import requirements, sandbox
from dbhone.errors import ToolError
from dbhone.requirements import (
    InstallationSetting,
    Missing,
    Requirement,
    RequirementKind,
    install,
    missing,
)

THERE = Requirement(name="sh", package="dash")
ABSENT = Requirement(name="no-such-program", package="no-such")
LIBRARY = Requirement(name="no/such.h", package="libno-such-dev", kind=RequirementKind.HEADER)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "setup.log"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of commands that come before the real ones; its user is root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return folder


def command(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_only_what_is_not_there_is_missing() -> None:
    assert missing((THERE, ABSENT, LIBRARY, ABSENT)).packages == ("no-such", "libno-such-dev")
    assert not missing((THERE,))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(RequirementKind.HEADER, "stdio.h"), (RequirementKind.FILE, "usr/include/std*.h")],
)
def test_headers_and_files_are_found(kind: RequirementKind, name: str) -> None:
    assert Requirement(name=name, package="libc6-dev", kind=kind).is_met()


def test_it_is_told_in_words() -> None:
    lacking = Missing(requirements=(ABSENT, LIBRARY))
    assert lacking.describe() == "2 packages (no-such libno-such-dev)"


def test_one_line_makes_up_for_it(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = Missing(requirements=(ABSENT,))
    apt = "apt-get install -y --no-install-recommends no-such"
    assert lacking.line() == f"apt-get update && {apt}"
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command(machine, "sudo", "exit 1")
    assert lacking.line() == f"sudo apt-get update && sudo {apt}"
    (machine / "sudo").unlink()
    monkeypatch.setenv("PATH", str(machine))
    assert lacking.line() == f"su -c 'apt-get update && {apt}'"


def test_without_apt_the_advice_names_what_to_look_for(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Requirement(name="usr/lib/no-such/*", package="no-such", kind=RequirementKind.FILE)
    lacking, one = Missing(requirements=(ABSENT, LIBRARY)), Missing(requirements=(file,))
    monkeypatch.setenv("PATH", str(machine))
    assert lacking.advice() == (
        "install what brings no-such-program and no/such.h"
        " (Debian's packages: no-such libno-such-dev)"
    )
    assert one.advice() == "install what brings no-such (Debian's package: no-such)"
    assert sandbox.remedy() == "install what brings bwrap (Debian's package: bubblewrap)"
    command(machine, "apt-get", "")
    assert lacking.advice() == f"install it: {lacking.line()}"
    assert sandbox.remedy() == "apt-get install bubblewrap"


def test_root_installs_packages(machine: Path, log: Path) -> None:
    told = machine / "told"
    command(machine, "apt-get", f'echo "apt-get $* $DEBIAN_FRONTEND" >>{told}')
    install(Missing(requirements=(ABSENT,)), log)
    update, installed = told.read_text().splitlines()
    assert update.endswith("update noninteractive")
    assert "install -y --no-install-recommends" in installed
    assert installed.endswith("no-such noninteractive")


def test_what_a_package_has_started_stays(machine: Path, log: Path) -> None:
    pid = machine / "pid"
    daemon = f"setsid sleep 600 & echo $! >{pid}"
    command(machine, "apt-get", f'case "$*" in *install*) {daemon} ;; esac')
    install(Missing(requirements=(ABSENT,)), log)
    os.kill(int(pid.read_text()), signal.SIGKILL)  # it raises an error if there is no such process


@pytest.mark.parametrize("code", [0, 100])
def test_a_setting_is_there_only_while_its_package_is_installed(
    code: int, machine: Path, log: Path, tmp_path: Path
) -> None:
    file, seen = tmp_path / "etc" / "no-such.d" / "dbhone.conf", tmp_path / "seen"
    command(machine, "apt-get", f'case "$*" in *install*) cp {file} {seen}; exit {code} ;; esac')
    setting = InstallationSetting(path=str(file), line="start = false")
    need = dataclasses.replace(ABSENT, setting=setting)
    with pytest.raises(ToolError) if code else nullcontext():
        install(Missing(requirements=(need, LIBRARY)), log)
    assert seen.read_text() == "start = false\n"
    assert not file.exists()


def test_old_lists_of_packages_do_not_stop_it(machine: Path, log: Path) -> None:
    command(machine, "apt-get", 'case "$*" in *update*) exit 100 ;; esac')
    install(Missing(requirements=(ABSENT,)), log)


def test_a_failure_is_told_with_its_log(machine: Path, log: Path) -> None:
    command(machine, "apt-get", "echo there is no such package; exit 100")
    with pytest.raises(ToolError, match="apt-get could not install no-such") as caught:
        install(Missing(requirements=(ABSENT,)), log)
    assert caught.value.log == log
    assert "there is no such package" in log.read_text()


def test_sudo_is_used_only_if_it_asks_for_no_password(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(machine, "apt-get", "")
    assert requirements.installable()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    command(machine, "sudo", "exit 1")
    assert not requirements.installable()
    command(machine, "sudo", "exit 0")
    assert requirements.installable()
