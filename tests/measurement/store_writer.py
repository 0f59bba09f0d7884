"""A program that records blocks of a run one after the other, and prints each once it is kept.

Arguments: the store, the run (``new`` for one of its own), the first block, how many.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dbhone.measurement.store import Store
from tests.measurement.store_records import begin, invocation


def main(path: str, run: str, first: int, count: int) -> None:
    with Store.open(Path(path)) as store:
        run_id = begin(store) if run == "new" else int(run)
        tell(run_id)
        for block in range(first, first + count):
            store.record(run_id, invocation(block, "rel"))
            tell(block)


def tell(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
