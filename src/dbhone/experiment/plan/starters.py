"""Experiment files with comments, to begin with: one for each DBMS and each question."""

from __future__ import annotations

import contextlib
import math
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbhone.dbms.base import Dbms, load_dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.declaration.templates import (
    DesignOptions,
    WorkloadOptions,
    choose_versions,
    history_text,
)
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.planning import make_plan
from dbhone.home import Home
from dbhone.source.kinds.base import kind_of, parse_reference
from dbhone.source.known_versions import KnownVersions
from dbhone.workload import captured_suite
from dbhone.workload import suite as suites
from dbhone.workload.dumps.base import dump_program
from dbhone.workload.replay_file import Half
from dbhone.workload.suite import Suite
from dbhone.workload.workload_file import SUFFIX

_SETTINGS = {
    "mysql": 'innodb_flush_log_at_trx_commit = "1"',
    "postgresql": 'synchronous_commit = "on"',
}
"""A setting to try, by the protocol of the servers that have it; hone's own default is another."""
_SCHEMA_LINE = "#:schema ./hone.schema.json  (for editors: 'hone schema --output hone.schema.json')"
_AMPLE = 10_000
_BLOCKS = 10
_UNKNOWN_BLOCK = 60.0
_NOTHING_KEPT = Home(Path(os.devnull))
_SIZE = "quick"
_THREADS = "# threads = [1, 4, 16] # numbers of clients"
_USUAL_SETS = ("main", "orm", "point-query", "read-write_range=100")
_CAPTURED = f"mine{SUFFIX}"

_Maker = Callable[[Dbms, KnownVersions, int], str]


def questions() -> Mapping[str, str]:
    """Return the questions for which there is a file to begin with, in words, by their names."""
    return {name: question.words for name, question in _QUESTIONS.items()}


def starter_text(dbms: str, question: str, versions: KnownVersions) -> str:
    """Return the text of an experiment file that asks ``question`` of a DBMS.

    Raises UnknownName, or UsageError for a question that cannot be asked of this DBMS.
    """
    if question not in _QUESTIONS:
        raise UnknownName("question", question, _QUESTIONS)
    asked, system = _QUESTIONS[question], load_dbms(dbms)
    try:
        text = (asked.estimated or asked.make)(system, versions, _AMPLE)
    except UsageError as error:
        names = ", ".join(_possible(system, versions))
        raise UsageError(error.message, hint=f"of {system.title} ask one of: {names}") from None
    ample = parse(text, name=question, versions=versions)
    return asked.make(system, versions, _minutes(ample))


def _minutes(experiment: Experiment) -> int:
    """Return a budget that lets an experiment build everything, and measure for a verdict."""
    plan = make_plan(experiment, BuildEstimator(_NOTHING_KEPT))
    measuring = _BLOCKS * (plan.measure.block_seconds or _UNKNOWN_BLOCK)
    # Optional subjects are built only where much of the budget is left for measuring.
    return 5 * math.ceil((plan.preparing + max(measuring, plan.preparing / 2)) / 60 / 5)


def _builds(dbms: Dbms, versions: KnownVersions, minutes: int) -> str:
    del versions
    return _file(
        dbms,
        f"{dbms.title}: which build is fastest here?",
        """\
        o3 = { like = "rel", variant = "o3" }
        lto = { like = "rel", variant = "lto" }
        pgo = { like = "rel", variant = "pgo" }
        "lto+pgo" = { like = "rel", variant = "lto+pgo" }
        # By another compiler, where it is installed:
        clang = { like = "rel", compiler = "clang", optional = true }
        """,
        minutes,
        trained=True,
    )


def _training(dbms: Dbms, versions: KnownVersions, minutes: int) -> str:
    del versions
    one, other = _usual_sets(suites.load(dbms.usual_suite))
    return _file(
        dbms,
        f"{dbms.title}: does it matter what PGO is trained on?",
        f"""\
        # Each of these is trained on a set of its own.
        one = {{ like = "rel", variant = "pgo", train = ["{one}"] }}
        other = {{ like = "rel", variant = "pgo", train = ["{other}"] }}
        """,
        minutes,
    )


def _possible(dbms: Dbms, versions: KnownVersions) -> Iterator[str]:
    """Yield the questions that can be asked of a DBMS."""
    for name, question in _QUESTIONS.items():
        with contextlib.suppress(UsageError):
            question.make(dbms, versions, _AMPLE)
            yield name


def _queries(dbms: Dbms, versions: KnownVersions, minutes: int, *, captured: bool = True) -> str:
    del versions
    if not isinstance(dbms, ServerDbms):
        raise UsageError(f"{dbms.title} is not a server: it has no log of queries")
    return _file(
        dbms,
        f"{dbms.title}: which build is fastest on my queries?",
        """\
        pgo = { like = "rel", variant = "pgo" }
        "lto+pgo" = { like = "rel", variant = "lto+pgo" }
        """,
        minutes,
        trained=True,
        workload=_captured_workload(dbms) if captured else None,
    )


def _settings(dbms: Dbms, versions: KnownVersions, minutes: int) -> str:
    del versions
    setting = _SETTINGS.get(dbms.interface)
    if setting is None:
        raise UsageError(f"{dbms.title} has no settings file")
    return _file(
        dbms,
        f"{dbms.title}: is it faster with this setting?",
        f"""\
        # The same build with a setting of its own. [config] sets what all have.
        changed = {{ like = "rel", settings = {{ {setting} }} }}
        """,
        minutes,
    )


def _allocator(dbms: Dbms, versions: KnownVersions, minutes: int) -> str:
    del versions
    if not isinstance(dbms, ServerDbms):
        raise UsageError(f"{dbms.title} is not a server: it has no allocator to exchange")
    return _file(
        dbms,
        f"{dbms.title}: is it faster with another memory allocator?",
        """\
        # The same build, started with another allocator: 'hone doctor' lists the levers.
        jemalloc = { like = "rel", levers = ["jemalloc"] }
        tcmalloc = { like = "rel", levers = ["tcmalloc"], optional = true }
        """,
        minutes,
    )


def _versions(dbms: Dbms, versions: KnownVersions, minutes: int) -> str:
    return history_text(
        dbms.name,
        choose_versions(versions, dbms.name, ()),
        WorkloadOptions(suite=None, size=_SIZE),
        DesignOptions(budget=60.0 * minutes, target=0.02, seed=1),
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """What a file asks. ``estimated`` tells how long a file takes whose workload is yet to come."""

    words: str
    make: _Maker
    estimated: _Maker | None = None


_QUESTIONS: Mapping[str, _Question] = {
    "builds": _Question("which build is fastest?", _builds),
    "versions": _Question("which version is fastest?", _versions),
    "settings": _Question("is it faster with another setting?", _settings),
    "allocator": _Question("is it faster with another memory allocator?", _allocator),
    "training": _Question("does it matter what PGO is trained on?", _training),
    "queries": _Question(
        "which build is fastest on my own data and queries?",
        _queries,
        partial(_queries, captured=False),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Workload:
    """What all subjects execute: the lines of ``[workload]``, and the sets to train on.

    ``steps`` are comments on what a user has to do before the file can be run.
    """

    lines: str
    training: tuple[str, ...]
    steps: str = ""


def _usual_workload(dbms: Dbms) -> _Workload:
    suite = suites.load(dbms.usual_suite)
    usual, _ = _usual_sets(suite)
    return _Workload(
        lines=f"""\
suite = "{dbms.usual_suite}" # 'hone suites' lists them
size = "{_SIZE}" # {", ".join(suite.sizes())}
# sets = ["{usual}"] # without this line all sets of the suite
{_THREADS if suite.server_sizes else ""}""",
        training=suite.training or (usual,),
    )


def _captured_workload(dbms: ServerDbms) -> _Workload:
    """Return a workload that the user has yet to capture, with the commands that do so."""
    dump = dump_program(dbms.name, dbms.interface)
    data = Path(_CAPTURED).with_suffix(dump.suffix)
    database = "/shop" if dbms.interface == "postgresql" else ""
    return _Workload(
        lines=f"""\
suite = "./{_CAPTURED}" # 'hone suites {_CAPTURED}' lists its sets
data = "./{data}" # or a copy of the server's folder: {{ folder = "/srv/copy" }}
size = "{_SIZE}" # {", ".join(captured_suite.sizes())}
{_THREADS}
# cache = "4G" # the server's cache, for data that does not fit in the size's own""",
        training=(Half.EARLIER.value,),
        steps=f"""
# First, dump your data and record your queries, beside this file (server db1, database shop):
#   {dump.line("shop", data, host="db1")}
#   hone capture --server {dbms.interface}://me@db1{database} --for 10m -o {_CAPTURED}
# Logs of all statements that you have already will do, too: 'hone capture --help' says which.
""",
    )


def _file(
    dbms: Dbms,
    title: str,
    subjects: str,
    minutes: int,
    *,
    trained: bool = False,
    workload: _Workload | None = None,
) -> str:
    workload = workload or _usual_workload(dbms)
    training = f"""
# What profile-guided builds are trained on: in-sample. All other sets are held-out.
[training]
sets = {list(workload.training)}
""".replace("'", '"')
    return f"""\
{_SCHEMA_LINE}
# 'hone plan FILE' shows what this would do, and how long it would take; 'hone run FILE' does it.
{workload.steps}
title = "{title}"
base = "rel" # all other subjects are compared with this one

[sources]
{_source_line(dbms)}

# What is compared. A subject takes what it does not say from the one that it is like.
[subjects]
rel = {{ dbms = "{dbms.name}", source = "{dbms.name}", variant = "rel" }}
{textwrap.dedent(subjects).rstrip()}
# The base once more: what this differs by is noise. Without it one is added.
control = {{ like = "rel", rebuild = true }}
{training if trained else ""}
[workload]
{workload.lines}

[design]
target = "2%" # stop when every effect is known this well,
budget = "{minutes}m" # or when this time is over: for builds, training and measuring
seed = 1 # of the random order
"""


def _usual_sets(suite: Suite) -> tuple[str, str]:
    """Return two sets of a suite that users may know."""
    usual = tuple(name for name in _USUAL_SETS if suite.full_name(name))
    one, other, *_ = (*usual, *suite.measured())
    return one, other


def _source_line(dbms: Dbms) -> str:
    if kind_of(parse_reference(dbms.reference).kind).ready_made:
        return f'{dbms.name} = "dir:~/src/{dbms.name}" # the source tree; or git:URL@REV'
    return f'{dbms.name} = "{dbms.reference}" # or git:URL@REV, dir:PATH, known:{dbms.name}@VERSION'
