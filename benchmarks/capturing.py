"""How long hone takes to read a gigabyte of log, and how much memory.

The logs are made of what real servers wrote (tests/golden/capture), with other numbers in each
copy, so that they compress no better than a server's own. Run it on one core:

    taskset -c 0 .venv/bin/python benchmarks/capturing.py --megabytes 1000
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import tempfile
import time
from pathlib import Path

from dbhone.capture.capture import CaptureOptions, capture

LOGS = Path(__file__).parents[1] / "tests" / "golden" / "capture"
_NUMBER = re.compile(rb"(?<=[= (])(\d{3,6})(?=[;, )'\n])")
_VARIANTS = 40


def write_log(source: Path, path: Path, size: int) -> None:
    """Write a log of so many bytes: copies of a real one, each with other numbers."""
    text = source.read_bytes()
    if not text.endswith(b"\n"):
        text += b"\n"
    chance = random.Random(1)
    copies = [
        _NUMBER.sub(lambda match: b"%0*d" % (len(match[1]), chance.randrange(100, 999)), text)
        for _ in range(_VARIANTS)
    ]
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(chance.choice(copies))


def main() -> None:
    """Print a line for each log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--anonymise", action="store_true")
    parser.add_argument("logs", nargs="*", help="names below tests/golden/capture; all without any")
    chosen = parser.parse_args()
    names = chosen.logs or sorted(path.name for path in LOGS.iterdir())
    print(f"{'log':28} {'MB':>6} {'wall s':>7} {'CPU s':>7} {'statements':>11} peak MB so far")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder) / name
            write_log(LOGS / name, path, chosen.megabytes * 10**6)
            began, cpu = time.monotonic(), time.process_time()
            found = capture(
                (path,),
                Path(folder) / "a.workload",
                CaptureOptions(anonymise=chosen.anonymise),
            )
            wall, used = time.monotonic() - began, time.process_time() - cpu
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            size = path.stat().st_size / 1e6
            print(
                f"{name:28} {size:6.0f} {wall:7.1f} {used:7.1f}"
                f" {found.header.statements:11,} {peak:14.0f}",
                flush=True,
            )
            path.unlink()


if __name__ == "__main__":
    main()
