"""Runs the command line as a program of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def hone(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dbhone", "--home", str(home), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=home.parent)
    assert "Traceback" not in done.stdout + done.stderr
    return done
