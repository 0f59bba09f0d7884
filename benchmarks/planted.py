"""Whether a slowdown of a size that is known is found, and held by the interval.

Usage: ``.venv/bin/python -m benchmarks.planted --home FOLDER [--percent 3] [--budget 20m]
[--stall DURATION]``

Measures PostgreSQL, the same once more (the A/A control), and the same told at its start to be
slower: it was built with a patch that computes, before the server tells its client that it is ready
for the next query, for a fixed share of the time that has gone by since it last did so. That is
what the query took, whatever that was: the server's work, the client's, the network's. One client
waits for each answer, so the told one's larger share makes its throughput so much less, on any
machine and at any noise. All subjects are of the same build and differ by their server's name
alone, which is equally long: code lies alike in all, and all look at the clock as often.

With ``--stall`` it is as fast as the others but for stalls: it stands still for so long whenever it
has worked for as long as makes the same share. The first one's moment is random: it comes from the
digits below a tenth of a millisecond of the time at which a client connects. Those of a second
would not do, since steps follow each other in a nearly fixed time.

What goes on by itself meanwhile, such as the writing of a log that a commit waits for, is waited
for the less. So the size is true of reads, and those are measured in a run of their own; a second
run tells what becomes of it on writes.
"""

from __future__ import annotations

import argparse
import difflib
import re
from functools import partial
from pathlib import Path

from benchmarks.alarms import PLANTED, WORK, holds, line, listed, measured, row, words
from dbhone.analysis.verdict import Effect, Summary
from dbhone.errors import SourceError
from dbhone.home import Home, locate
from dbhone.report.findings import Findings, findings_of
from dbhone.report.wording import ratio
from dbhone.session import open_session
from dbhone.source.tree import SourceTree, acquire
from dbhone.units import parse_duration

_FILE = "src/backend/tcop/dest.c"
_ANCHOR = re.compile(r"^void\nReadyForQuery\(CommandDest dest\)\n\{\n", re.MULTILINE)
_LONGEST = 0.1
"""Seconds between two queries of a client that is measured; what is longer was a pause."""
_TOLD, _UNTOLD = "planted", "without"
"""The servers' names, of equal length."""
_COST = """\
#include <string.h>
#include <time.h>

extern char *cluster_name;

static double
planted_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static void
planted_cost(void)
{
	static int	planted = -1;
	static double last = 0.0;
	static double worked = 0.0;
	double		now = planted_now();

	if (planted < 0)
	{
		planted = strcmp(cluster_name, "NAME") == 0;
		worked = PERIOD * (now * 1e4 - (long) (now * 1e4));
	}
	if (now - last < LONGEST)
		worked += now - last;
	if (worked >= PERIOD)
	{
		DELAY;
		worked = 0.0;
	}
	last = planted_now();
}

"""
_SLOWER = "while (planted_now() < now + (planted ? SHARE : OF_ALL) * worked)\n\t\t\t"
"""Each query takes a share longer, by computing."""
_OF_ALL = 0.05
"""The share of those that are not slower: a CPU that waits longer may also take longer to wake up,
which would make the told one slower by more than its share.
"""
_STALLED = "if (planted)\n\t\t\tnanosleep(&(struct timespec){ WHOLE, NANOSECONDS }, NULL)"
"""The server stands still for so long."""
_EXPERIMENT = """\
title = "Is a slowdown of {percent:g} % found?"
base = "server"

[sources]
server = "{source}"

[subjects]
control = {{ like = "server" }}
planted = {{ like = "server", settings = {{ cluster_name = "{told}" }} }}

[subjects.server]
dbms = "postgresql"
source = "server"
variant = "rel"
fixes = ["{patch}"]
settings = {{ cluster_name = "{untold}" }}

[workload]
threads = [1]
"""
_READS = ("point-query", "hot-points", "random-points_range=100", "read-only_range=100")
_WRITES = ("update-index", "insert")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--source", default="apt:postgresql")
    parser.add_argument("--percent", type=float, default=3.0)
    parser.add_argument("--stall", metavar="DURATION", help="stand still for so long, now and then")
    parser.add_argument("--budget", default="20m", help="of the reads; half of it for the writes")
    options = parser.parse_args()
    home = locate(options.home)
    true = 1.0 - options.percent / 100.0
    stall = None if options.stall is None else parse_duration(options.stall)
    cost = cost_of(true, stall)
    file = write_patch(options.source, cost, home, options.home)
    texts = experiments(options.source, file, true, parse_duration(options.budget))
    for each in measured(texts, home):
        print("\n".join(told(findings_of(*each), true)), flush=True)


def experiments(source: str, patch_file: Path, true: float, seconds: float) -> tuple[str, str]:
    """Return the experiment of the reads, which takes ``seconds``, and that of the writes."""
    text = partial(
        (_EXPERIMENT + WORK).format,
        percent=100.0 * (1.0 - true),
        source=source,
        patch=patch_file,
        told=_TOLD,
        untold=_UNTOLD,
    )
    return (
        text(steps=listed(_READS), budget=f"{seconds:.0f}s", seed=1),
        text(steps=listed(_WRITES), budget=f"{seconds / 2:.0f}s", seed=2),
    )


def told(found: Findings, true: float) -> list[str]:
    """Return what a run found, all together, by group and by step, and whether it is true."""
    judged = found.analysis.judged(PLANTED)
    held = sum(holds(each, true) for each in judged)
    lines = (
        f"  {_name(each)}: {words(each)}"
        + ("" if holds(each, true) else ", which does not hold it")
        for each in judged
    )
    last = f"truly {ratio(true)}: held by {held} of {len(judged)} intervals"
    return [line(row(found)), *lines, last]


def _name(each: Effect | Summary) -> str:
    return each.step if isinstance(each, Effect) else f"all {each.group or 'steps'}"


def cost_of(true: float, stall: float | None) -> str:
    """Return the code by which the throughput is ``true`` times what it was.

    Each query takes longer, or the server stands still for ``stall`` seconds now and then.
    """
    if stall is None:
        share = (1.0 + _OF_ALL) / true - 1.0
        delay = _SLOWER.replace("SHARE", f"{share:.9f}").replace("OF_ALL", f"{_OF_ALL}")
        period = 0.0
    else:
        whole, nanoseconds = divmod(round(stall * 1e9), 10**9)
        period = stall / (1.0 / true - 1.0)
        delay = _STALLED.replace("WHOLE", str(whole)).replace("NANOSECONDS", str(nanoseconds))
    code = _COST.replace("DELAY", delay).replace("PERIOD", f"{period:.9f}")
    return code.replace("LONGEST", f"{_LONGEST}").replace("NAME", _TOLD)


def write_patch(source: str, cost: str, home: Home, folder: Path) -> Path:
    """Write the patch that adds the code of a cost; return its file."""
    with open_session(home) as session:
        tree = acquire(source, session, notify=lambda _: None)
    path = folder.absolute() / "planted.patch"
    path.write_text(patch(tree, cost))
    return path


def patch(tree: SourceTree, cost: str) -> str:
    """Return the patch that adds the code of a cost to a tree.

    Raises SourceError if it is none of PostgreSQL.
    """
    file = tree.path / _FILE
    old = file.read_text() if file.is_file() else ""
    found = _ANCHOR.search(old)
    if found is None:
        raise SourceError(f"{tree.reference} has no ReadyForQuery in {_FILE}")
    new = old[: found.start()] + cost + found[0] + "\tplanted_cost();\n" + old[found.end() :]
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{_FILE}", f"b/{_FILE}"))


if __name__ == "__main__":
    main()
