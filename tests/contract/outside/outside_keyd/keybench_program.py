"""Usage: keybench_program.py SOCKET KEYS load | settle | verify | run SECONDS SHARE_OF_READS."""

from __future__ import annotations

import hashlib
import json
import random
import socket
import sys
import time


def main(path: str, keys: int, command: str, *words: str) -> str:
    """Do what is asked for; return what is printed."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        stream = line.makefile("rw", encoding="ascii", newline="\n")

        def ask(text: str) -> str:
            stream.write(text + "\n")
            stream.flush()
            return stream.readline()

        if command == "load":
            for key in range(keys):
                ask(f"S {key} {key * key}")
        if command == "verify":
            answers = "".join(ask(f"G {key}") for key in range(keys))
            return hashlib.sha256(answers.encode()).hexdigest()
        return run(ask, keys, *map(float, words)) if command == "run" else "done"


def run(ask: object, keys: int, seconds: float, share_of_reads: float) -> str:
    """Ask until the time is over; return the counts as JSON."""
    assert callable(ask)
    chance, began, operations = random.Random(1), time.monotonic(), 0
    while time.monotonic() < began + seconds:
        key = chance.randrange(keys)
        ask(f"G {key}" if chance.random() < share_of_reads else f"S {key} {key * key}")
        operations += 1
    return json.dumps({"operations": operations, "seconds": time.monotonic() - began})


if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))  # noqa: T201
