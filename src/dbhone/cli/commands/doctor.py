"""``hone doctor``: what can be done on this machine, and what to install for the rest."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
from rich.table import Table
from rich.text import Text

from dbhone import cgroup
from dbhone.account import LENT
from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import HoneCommand, Task
from dbhone.cli.lines import json_option, print_json
from dbhone.compilation.bolt import find_usable_bolt
from dbhone.compilation.feature_probe import try_variant
from dbhone.compilation.toolchain import Compiler, find_compiler
from dbhone.dbms.base_server import ServerDbms, server_systems
from dbhone.errors import HoneError
from dbhone.experiment.goals import Goal, goals
from dbhone.home import Home, Session
from dbhone.instance import idle_inhibitor
from dbhone.instance.applied_levers import survey
from dbhone.instance.levers.base import LeverContext
from dbhone.instance.page_cache import check_evictable
from dbhone.instance.place import opened_place
from dbhone.measurement import perf_events
from dbhone.measurement.conditions import Condition, between, read_conditions
from dbhone.measurement.machine import read_machine
from dbhone.process import why_not_enclosed
from dbhone.sandbox import PACKAGE, PROGRAM
from dbhone.units import size

_SMALL_CACHE = 64 * 1024 * 1024
_VARIANTS = ("lto", "pgo", "lto+pgo")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """One line: what was looked at, whether it is there, and what to do if not."""

    what: str
    good: bool
    text: str
    remedy: str = ""


@click.command(
    "doctor",
    cls=HoneCommand,
    task=Task.START,
    examples=(
        "hone doctor",
        "hone doctor postgresql",
        "hone doctor --json",
    ),
)
@click.argument("names", metavar="[GOAL]...", nargs=-1, shell_complete=completing.goals)
@json_option
@pass_context
def command(context: Context, names: tuple[str, ...], as_json: bool) -> int:
    """Say what can be done on this machine, and what to install for the rest.

    A GOAL is a DBMS, such as postgresql, or another of those that are listed; with one, only
    that is examined. The exit code is 0 if every GOAL that is named is ready, without names
    if at least one is; else 1.
    """
    asked = goals(names)
    findings: list[_Finding] = []
    if not names:
        with context.traceless_session() as session:
            findings = [
                *_compilers(session),
                _account(session),
                _sandboxes(),
                _limits(),
                *_levers(),
                *_terms(session),
                *_machine(context.home, session),
            ]
    ready = [goal.ready for goal in asked]
    if as_json:
        print_json(context, {"goals": _goal_objects(asked), "machine": _objects(findings)})
    else:
        context.out.print(_goal_table(asked))
        if findings:
            context.out.print("\nThis machine:", style="bold")
            context.out.print(_finding_table(findings))
    return 0 if (all(ready) if names else any(ready)) else 1


def _goal_table(asked: Sequence[Goal]) -> Table:
    table = Table.grid(padding=(0, 2))
    for goal in asked:
        remedy = f"\n→ hone setup {goal.name}" if goal.missing else ""
        table.add_row(
            _mark(good=goal.ready),
            Text(goal.name, style="bold"),
            Text(f"{goal.title}: {goal.describe()}{remedy}"),
        )
    return table


def _finding_table(findings: Sequence[_Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        text = finding.text if not finding.remedy else f"{finding.text}\n→ {finding.remedy}"
        table.add_row(_mark(good=finding.good), Text(finding.what, style="bold"), Text(text))
    return table


def _mark(*, good: bool) -> Text:
    return Text("ok", style="green") if good else Text("--", style="yellow")


def _goal_objects(asked: Sequence[Goal]) -> list[dict[str, object]]:
    return [
        {
            "name": goal.name,
            "title": goal.title,
            "ready": goal.ready,
            "packages": goal.missing.packages,
            "install": goal.missing.line() if goal.missing else None,
        }
        for goal in asked
    ]


def _objects(findings: Sequence[_Finding]) -> list[dict[str, object]]:
    return [
        {
            "name": finding.what,
            "good": finding.good,
            "text": finding.text,
            "remedy": finding.remedy or None,
        }
        for finding in findings
    ]


def _account(session: Session) -> _Finding:
    """Say as whom servers and builds would run."""
    try:
        with opened_place(session) as place:
            account = place.tenant.account
    except HoneError as error:
        return _Finding(what="account", good=False, text=error.message, remedy=error.hint or "")
    if account is None:
        text = "servers and builds run as you"
    elif account.is_lent:
        text = f"each server and each build runs as a user id of its own ({LENT[0]} to {LENT[-1]})"
    else:
        text = f"servers run as {account.name}"
    return _Finding(what="account", good=True, text=text)


def _sandboxes() -> _Finding:
    """Say whether strangers' programs can be sandboxed."""
    reason = why_not_enclosed()
    if reason is None:
        text = "servers, their clients and builds are sandboxed (tested)"
        return _Finding(what="sandboxes", good=True, text=text)
    missing = shutil.which(PROGRAM) is None
    remedy = (
        f"apt-get install {PACKAGE}" if missing else "allow this account to create user namespaces"
    )
    text = f"sources from the network are refused without --trust: {reason}"
    return _Finding(what="sandboxes", good=False, text=text, remedy=remedy)


def _limits() -> _Finding:
    """Say whether the memory of a subject or a build can be limited as a whole."""
    reason = cgroup.refusal()
    if reason is None:
        text = "a subject's or a build's memory and processes are limited as a whole (tested)"
        return _Finding(what="limits", good=True, text=text)
    return _Finding(
        what="limits",
        good=False,
        text=f"memory is limited for each process only: {reason}",
        remedy="start hone with: systemd-run --user --scope hone ..., where systemd runs",
    )


def _compilers(session: Session) -> Iterator[_Finding]:
    for name in ("gcc", "clang"):
        try:
            compiler = find_compiler(name)
        except HoneError as error:
            text = error.message if name == "gcc" else f"{error.message}: its builds are left out"
            yield _Finding(what=name, good=False, text=text, remedy=error.hint or "")
            continue
        yield _Finding(what=name, good=True, text=f"{compiler.identity}, {compiler.path}")
        yield from _abilities(compiler, session)
    yield _bolt()


def _bolt() -> _Finding:
    try:
        bolt = find_usable_bolt()
    except HoneError as error:
        text = f"{error.message}: variants with bolt are left out"
        return _Finding(what="BOLT", good=False, text=text, remedy=error.hint or "")
    return _Finding(what="BOLT", good=True, text=f"{bolt.label}, {bolt.path}")


def _abilities(compiler: Compiler, session: Session) -> Iterator[_Finding]:
    for variant in _VARIANTS:
        trial = try_variant(compiler, variant, session)
        yield _Finding(
            what=f"{compiler.family.value} {variant}",
            good=trial.works,
            text="works (tried)" if trial.works else f"does not work: {trial.reason}",
            remedy="" if trial.works else _remedy(compiler, trial.reason),
        )


def _remedy(compiler: Compiler, reason: str) -> str:
    if any(sign in reason for sign in ("runtime is missing", "ld.lld", "llvm-profdata")):
        return "hone setup clang"
    return f"reinstall {compiler.family.value}"


def _levers() -> Iterator[_Finding]:
    """Say which levers of a subject this machine can give, huge pages to a small server."""
    context = LeverContext(value="", dbms=_any_server(), cache_bytes=_SMALL_CACHE, servers=1)
    for lever, refusal in survey(context):
        yield _Finding(
            what=lever.name,
            good=refusal is None,
            text=refusal.reason if refusal else lever.summary,
            remedy=refusal.hint if refusal else "",
        )


def _any_server() -> ServerDbms:
    """Return a DBMS to ask for: levers need the same of the machine for each of them."""
    return next(dbms for dbms in server_systems().values() if dbms.huge_pages)


def _terms(session: Session) -> Iterator[_Finding]:
    """Say on which terms this machine can measure."""
    reason = idle_inhibitor.refusal()
    text = reason or "CPUs can be kept awake while something is measured"
    yield _Finding(what="awake", good=reason is None, text=text)
    try:
        check_evictable(session.workdir("cold"))
    except HoneError as error:
        yield _Finding(what="cold", good=False, text=error.message, remedy=error.hint or "")
    else:
        yield _Finding(what="cold", good=True, text="servers can be started cold")


def _machine(home: Home, session: Session) -> Iterator[_Finding]:
    machine = read_machine(session.home.root)
    support = perf_events.probe()
    yield _Finding(
        what="processor",
        good=machine.cores >= 2,
        text=f"{machine.cpu_model}, {machine.cores} cores usable",
        remedy="" if machine.cores >= 2 else "on a single core client and server compete",
    )
    yield _Finding(what="memory", good=True, text=size(machine.memory_bytes))
    yield _Finding(
        what="counters",
        good=support.available,
        text="instructions can be counted" if support.available else support.reason,
    )
    powersave = machine.governor == "powersave"
    yield _Finding(
        what="governor",
        good=not powersave,
        text=machine.governor,
        remedy="cpupower frequency-set -g performance" if powersave else "",
    )
    yield _Finding(what="virtualisation", good=True, text=machine.virtualisation)
    yield _load()
    yield _Finding(what="system", good=True, text=f"{machine.distribution}, {machine.kernel}")
    free = shutil.disk_usage(session.home.root).free
    yield _Finding(
        what="home",
        good=free > 2 * 1024**3,
        text=f"{home.root}, {size(free)} free",
        remedy="" if free > 2 * 1024**3 else "give it 2 GiB, or choose another with --home",
    )


def _load() -> _Finding:
    """Watch the machine for a second, doing nothing."""
    before = read_conditions()
    time.sleep(1)
    seen = between(before, read_conditions(), own_cpu_seconds=0.0)
    steal, others = seen.get(Condition.STEAL, 0.0), seen.get(Condition.OTHERS, 0.0)
    return _Finding(
        what="quiet",
        good=steal < 0.02 and others < 0.2,
        text=f"steal {steal:.1%}, other processes use {others:.2f} cores,"
        f" load {os.getloadavg()[0]:.1f}",
        remedy="" if others < 0.2 else "stop what else is running, or expect wide intervals",
    )


PLUGIN = command
