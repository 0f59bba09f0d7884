"""The time from ``./quickstart`` to the verdict. Goal: within 8 minutes on two cores.

Usage: ``python3 benchmarks/quickstart.py [ARGUMENTS OF hone try ...]``

Clones this repository's last commit into a temporary folder, with a fresh home, and runs
./quickstart there twice: from nothing, and again with everything set up and built. Told are
the seconds to the first line of the run and to the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="quickstart-") as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        home = Path(folder) / "home"
        home.mkdir()
        for name in ("from nothing", "again"):
            first, total = quickstart(clone, home)
            print(f"{name}: {first:.1f} s to the first line of the run, {total:.1f} s to the end")


def quickstart(clone: Path, home: Path) -> tuple[float, float]:
    """Return the seconds to the run's first line and to the verdict."""
    environment = os.environ | {"HOME": str(home)}
    environment.pop("DBHONE_HOME", None)
    began = time.monotonic()
    first = 0.0
    with subprocess.Popen(
        [str(clone / "quickstart"), *sys.argv[1:]],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            sys.stderr.write(line)
            if line.startswith("run ") and not first:
                first = time.monotonic() - began
    if process.returncode:
        sys.exit(f"./quickstart ended with exit code {process.returncode}")
    return first, time.monotonic() - began


if __name__ == "__main__":
    main()
