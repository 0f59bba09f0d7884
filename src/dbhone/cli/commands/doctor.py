"""``hone doctor``: what can be done on this machine, and what to install for the rest."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import click
from rich.table import Table
from rich.text import Text

from dbhone import cgroup
from dbhone.account import LENT
from dbhone.cli import completing
from dbhone.cli.context import Context, pass_context
from dbhone.cli.help import Task, hone_command
from dbhone.cli.lines import print_json
from dbhone.cli.options import json_option
from dbhone.compilation.bolt import find_usable_bolt
from dbhone.compilation.feature_probe import why_variant_fails
from dbhone.compilation.toolchain import Compiler, find_compiler
from dbhone.dbms.base_server import ServerDbms, server_systems
from dbhone.errors import HoneError
from dbhone.experiment.plan.goals import Goal, goals
from dbhone.home import Home
from dbhone.instance import idle_inhibitor
from dbhone.instance.applied_levers import survey
from dbhone.instance.levers.base import LeverContext
from dbhone.instance.page_cache import check_evictable
from dbhone.instance.place import opened_place
from dbhone.measurement import perf_events
from dbhone.measurement.conditions import Condition, between, read_conditions
from dbhone.measurement.machine import read_machine
from dbhone.process import why_not_enclosed
from dbhone.sandbox import remedy
from dbhone.session import Session
from dbhone.units import size

_SMALL_CACHE = 64 * 1024 * 1024
_VARIANTS = ("lto", "pgo", "lto+pgo")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """One line: what was looked at, whether it is good, and what to do if not."""

    name: str
    good: bool
    text: str
    remedy: str | None = None


@hone_command("doctor", Task.START, "hone doctor", "hone doctor postgresql", "hone doctor --json")
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
        machine = [dataclasses.asdict(finding) for finding in findings]
        print_json(context, {"goals": [_object(goal) for goal in asked], "machine": machine})
    else:
        context.out.print(_table(map(_of_goal, asked)))
        if findings:
            context.out.print("\nThis machine:", style="bold")
            context.out.print(_table(findings))
    return 0 if (all(ready) if names else any(ready)) else 1


def _table(findings: Iterable[_Finding]) -> Table:
    table = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = Text("ok", style="green") if finding.good else Text("--", style="yellow")
        text = f"{finding.text}\n→ {finding.remedy}" if finding.remedy else finding.text
        table.add_row(mark, Text(finding.name, style="bold"), Text(text))
    return table


def _of_goal(goal: Goal) -> _Finding:
    remedy = f"hone setup {goal.name}" if goal.missing else None
    text = f"{goal.title}: {goal.describe()}"
    return _Finding(name=goal.name, good=goal.ready, text=text, remedy=remedy)


def _object(goal: Goal) -> dict[str, object]:
    return {
        "name": goal.name,
        "title": goal.title,
        "ready": goal.ready,
        "packages": goal.missing.packages,
        "install": goal.missing.line() if goal.missing else None,
    }


def _finding(name: str, reason: str | None, good: str, remedy: str | None = None) -> _Finding:
    """Say that something is good, or the reason why it is not and what to do about that."""
    if reason is None:
        return _Finding(name=name, good=True, text=good)
    return _Finding(name=name, good=False, text=reason, remedy=remedy)


def _refusal(name: str, error: HoneError, outcome: str = "") -> _Finding:
    """Say why something is refused here, and what comes of that."""
    text = f"{error.message}: {outcome}" if outcome else error.message
    return _Finding(name=name, good=False, text=text, remedy=error.hint)


def _account(session: Session) -> _Finding:
    """Say as whom servers and builds would run."""
    try:
        with opened_place(session) as place:
            account = place.tenant.account
    except HoneError as error:
        return _refusal("account", error)
    if account is None:
        text = "servers and builds run as you"
    elif account.is_lent:
        text = f"each server and each build runs as a user id of its own ({LENT[0]} to {LENT[-1]})"
    else:
        text = f"servers run as {account.name}"
    return _Finding(name="account", good=True, text=text)


def _sandboxes() -> _Finding:
    """Say whether strangers' programs can be sandboxed."""
    reason = why_not_enclosed()
    refused = reason and (
        f"sources from the network, and data of your own, are refused without --trust: {reason}"
    )
    good = "servers, their clients and builds are sandboxed (tested)"
    return _finding("sandboxes", refused, good, remedy())


def _limits() -> _Finding:
    """Say whether the memory of a subject or a build can be limited as a whole."""
    reason = cgroup.refusal()
    limited = reason and f"memory is limited for each process only: {reason}"
    good = "a subject's or a build's memory and processes are limited as a whole (tested)"
    remedy = "start hone with: systemd-run --user --scope hone ..., where systemd runs"
    if cgroup.escaped_limits():
        remedy = "set them for a slice, and start hone in it: systemd-run --slice=NAME --scope ..."
    return _finding("limits", limited, good, remedy)


def _compilers(session: Session) -> Iterator[_Finding]:
    for name in ("gcc", "clang"):
        try:
            compiler = find_compiler(name)
        except HoneError as error:
            yield _refusal(name, error, "" if name == "gcc" else "its builds are left out")
            continue
        yield _Finding(name=name, good=True, text=f"{compiler.identity}, {compiler.path}")
        yield from _abilities(compiler, session)
    yield _bolt()


def _bolt() -> _Finding:
    try:
        bolt = find_usable_bolt()
    except HoneError as error:
        return _refusal("BOLT", error, "variants with bolt are left out")
    return _Finding(name="BOLT", good=True, text=f"{bolt.label}, {bolt.path}")


def _abilities(compiler: Compiler, session: Session) -> Iterator[_Finding]:
    for variant in _VARIANTS:
        reason = why_variant_fails(compiler, variant, session)
        fails = reason and f"does not work: {reason}"
        name = f"{compiler.family.value} {variant}"
        yield _finding(name, fails, "works (tried)", _remedy(compiler, reason or ""))


def _remedy(compiler: Compiler, reason: str) -> str:
    if any(sign in reason for sign in ("runtime is missing", "ld.lld", "llvm-profdata")):
        return "hone setup clang"
    return f"reinstall {compiler.family.value}"


def _levers() -> Iterator[_Finding]:
    """Say which levers of a subject this machine can give, huge pages to a small server."""
    context = LeverContext(value="", dbms=_any_server(), cache_bytes=_SMALL_CACHE, servers=1)
    for lever, refusal in survey(context):
        reason, hint = (refusal.reason, refusal.hint or None) if refusal else (None, None)
        yield _finding(lever.name, reason, lever.summary, hint)


def _any_server() -> ServerDbms:
    """Return a DBMS to ask for: levers need the same of the machine for each of them."""
    return next(dbms for dbms in server_systems().values() if dbms.huge_pages)


def _terms(session: Session) -> Iterator[_Finding]:
    """Say on which terms this machine can measure."""
    good = "CPUs can be kept awake while something is measured"
    yield _finding("awake", idle_inhibitor.refusal(), good)
    try:
        check_evictable(session.workdir("cold"))
    except HoneError as error:
        yield _refusal("cold", error)
    else:
        yield _Finding(name="cold", good=True, text="servers can be started cold")


def _machine(home: Home, session: Session) -> Iterator[_Finding]:
    machine = read_machine(session.home.root)
    yield _Finding(
        name="processor",
        good=machine.cores >= 2,
        text=f"{machine.cpu_model}, {machine.cores} cores usable",
        remedy=None if machine.cores >= 2 else "on a single core client and server compete",
    )
    yield _Finding(name="memory", good=True, text=size(machine.memory_bytes))
    yield _finding("counters", perf_events.why_not_counted(), "instructions can be counted")
    powersave = machine.governor == "powersave"
    yield _Finding(
        name="governor",
        good=not powersave,
        text=machine.governor,
        remedy="cpupower frequency-set -g performance" if powersave else None,
    )
    yield _Finding(name="virtualisation", good=True, text=machine.virtualisation)
    yield _load()
    yield _Finding(name="system", good=True, text=f"{machine.distribution}, {machine.kernel}")
    free = shutil.disk_usage(session.home.root).free
    yield _Finding(
        name="home",
        good=free > 2 * 1024**3,
        text=f"{home.root}, {size(free)} free",
        remedy=None if free > 2 * 1024**3 else "give it 2 GiB, or choose another with --home",
    )


def _load() -> _Finding:
    """Watch the machine for a second, doing nothing."""
    before = read_conditions()
    time.sleep(1)
    seen = between(before, read_conditions(), own_cpu_seconds=0.0)
    steal, others = seen.get(Condition.STEAL, 0.0), seen.get(Condition.OTHERS, 0.0)
    return _Finding(
        name="quiet",
        good=steal < 0.02 and others < 0.2,
        text=f"steal {steal:.1%}, other processes use {others:.2f} cores,"
        f" load {os.getloadavg()[0]:.1f}",
        remedy=None if others < 0.2 else "stop what else is running, or expect wide intervals",
    )


PLUGIN = command
