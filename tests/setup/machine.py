"""A pretended machine: a clone of the set-up, and commands of which only some are real."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_PIECES = ("quickstart", "check", "hone", "setup", "requirements", ".ci")

# What every Debian has: coreutils, sed, util-linux and their like.
_ESSENTIAL = (
    *("sh", "cat", "chmod", "cmp", "cp", "date", "dirname", "env", "flock", "grep"),
    *("ln", "ls", "mkdir", "mktemp", "mv", "readlink", "rm", "sed", "sha256sum", "tail"),
    *("touch", "tr", "true"),
)

# What the checks want, which only has to be there.
_PRETENDED = ("git", "chromium", "ld.mold", "mariadb-dump", "mariadbd")

# Makes what uv would make, and tells of it.
_FAKE_UV = """\
if [ "$1" = --version ]; then
    cat "$MACHINE/uv-version"
    exit
fi
shift
echo "uv $*" >>"$MACHINE/told"
env | grep -E '^(UV|SSL)_' >"$MACHINE/uv-environment"
if [ -e "$MACHINE/kill-at-$1" ]; then
    rm "$MACHINE/kill-at-$1"
    kill -KILL 0
fi
for last; do :; done
case $1 in
venv)
    mkdir -p "$last/bin"
    ln -s "$MACHINE/bin/python3" "$last/bin/python"
    ;;
pip)
    printf '#!/bin/sh\\n. "$MACHINE/hone-does"\\n' >.venv/bin/hone
    chmod +x .venv/bin/hone
    ;;
esac
"""

_HONE_DOES = """\
if [ "$1" = setup ]; then
    echo "hone $*" >>"$MACHINE/told"
    exit "$(cat "$MACHINE/setup-status")"
fi
printf 'hone'
printf ' [%s]' "$@"
echo
exit 7
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program ended."""

    status: int
    output: str
    errors: str


@dataclass(slots=True)
class Machine:
    """A folder with the clone, a home, and the only folder of commands."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def clone(self) -> Path:
        return self.root / "a clone"

    def command(self, name: str, script: str) -> None:
        """Put a command on the machine; ``script`` is for sh."""
        path = self.root / "bin" / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def without(self, *names: str) -> None:
        """Take commands away."""
        for name in names:
            (self.root / "bin" / name).unlink()

    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a program of the clone, or by its whole path, in a process group of its own."""
        process = subprocess.Popen(
            (str(self.clone / program), *arguments),
            cwd=self.root,
            env={
                "PATH": str(self.root / "bin"),
                "HOME": str(self.root / "home"),
                "MACHINE": str(self.root),
                **self.variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, program: str, *arguments: str) -> Ran:
        """Run a program of the clone to its end."""
        return finish(self.start(program, *arguments))

    def told(self) -> list[str]:
        """Return what the fakes were asked for since the last time."""
        told = self.root / "told"
        lines = told.read_text().splitlines() if told.exists() else []
        told.unlink(missing_ok=True)
        return lines


def finish(process: subprocess.Popen[str]) -> Ran:
    """Wait for a program to end."""
    output, errors = process.communicate()
    return Ran(status=process.returncode, output=output, errors=errors)


@contextlib.contextmanager
def fresh_machine(root: Path) -> Iterator[Machine]:
    """Be a machine with everything that set-up needs, where nothing is set up.

    Its package manager, its uv and ``hone setup`` only tell what they were asked for.
    Nothing reaches the real system or the network. Its user is not root and has no sudo.
    What was started on it ends with it.
    """
    machine = Machine(root)
    _equip(machine)
    try:
        yield machine
    finally:
        for process in machine.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


def _equip(machine: Machine) -> None:
    root = machine.root
    for folder in (root / "bin", root / "home", machine.clone):
        folder.mkdir()
    for piece in _PIECES:
        source = REPOSITORY / piece
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, machine.clone / piece)
    for name in _ESSENTIAL:
        (root / "bin" / name).symlink_to(_found(name))
    (root / "bin" / "python3").symlink_to(sys.executable)
    for name in _PRETENDED:
        machine.command(name, "exit 1")
    machine.command("uv", _FAKE_UV)
    machine.command("id", "echo 1000")
    machine.command("apt-get", 'echo "apt-get $*" >>"$MACHINE/told"')
    (root / "uv-version").write_text("uv 0.13.8 (x86_64-unknown-linux-gnu)\n")
    (root / "hone-does").write_text(_HONE_DOES)
    (root / "setup-status").write_text("0")


def _found(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/bin:/bin")
    assert found is not None, name
    return found
