"""Whether processes are there."""

from __future__ import annotations

import time
from pathlib import Path


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it may go while its file is being read
        return False


def wait_until_gone(pid: int) -> None:
    """Wait as long as it takes; the test's own time limit is the bound."""
    while is_running(pid):
        time.sleep(0.01)
