"""The footnotes about how a run was measured: its settings, conditions, slices, and host noise.

Each has a code and a text. All functions are pure but ``setup_notes``, which asks whether this
machine can make sandboxes.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbhone.analysis.rounds import log_rates, slice_seconds
from dbhone.cpus import cpu_list
from dbhone.dbms.base_protocol import Protocol
from dbhone.dbms.base_settings import pairs
from dbhone.experiment.declaration.model import Experiment, Servers
from dbhone.experiment.target.cpu_placement import CpuPlacement
from dbhone.experiment.target.trial import trials_by_set
from dbhone.instance.settings import ResolvedSettings, Translated
from dbhone.measurement.conditions import Condition
from dbhone.measurement.record import Code, Slice, Sliced, Warning
from dbhone.measurement.stalls import stalled
from dbhone.measurement.store import Done
from dbhone.process import can_enclose
from dbhone.units import count_of, listed
from dbhone.verification.outcome import Failure

_LEAST_LOST = 0.01
"""The share of a step's throughput that stalls must cost to be reported."""
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit:
    """The mean above which a condition is reported, with the footnote's code and text."""

    condition: Condition
    above: float
    code: str
    text: str


_LIMITS = (
    _Limit(
        condition=Condition.OTHERS,
        above=0.15,
        code=Code.OTHER_LOAD,
        text="other processes kept {mean:.2f} cores busy while it was measured (up to {most:.2f})",
    ),
    _Limit(
        condition=Condition.STEAL,
        above=0.01,
        code=Code.STEAL,
        text="the hypervisor gave {mean:.1%} of the CPU time to others (up to {most:.1%})",
    ),
    _Limit(
        condition=Condition.PRESSURE_MEMORY,
        above=0.01,
        code=Code.MEMORY_PRESSURE,
        text="for {mean:.1%} of the time programs waited for memory (up to {most:.1%}): the machine"
        " swapped, or read again what it had just dropped from its cache",
    ),
    _Limit(
        condition=Condition.THROTTLED,
        above=0.001,
        code=Code.THROTTLED,
        text="a CPU quota throttled it for {mean:.3f} s in an invocation on average",
    ),
    _Limit(
        condition=Condition.THERMAL,
        above=0.001,
        code=Code.HOT,
        text="heat slowed the CPU down for {mean:.3f} s in an invocation on average",
    ),
)


MEASURED = (
    Code.FAILED_INVOCATIONS,
    *(limit.code for limit in _LIMITS),
    Code.STALLS,
    Code.SHORT_SLICES,
    Code.UNSETTLED,
)
"""The codes of the warnings that ``measured_notes`` yields."""


def setup_notes(experiment: Experiment) -> Iterator[Warning]:
    """Yield a footnote for each condition that a reader must know."""
    if experiment.workload.cold:
        yield Warning(
            code=Code.COLD,
            text="every server was cold: it had just been started, and its data was on the disk"
            " only; nothing here says how fast a warm server is",
        )
    if experiment.servers is Servers.ONE:
        yield Warning(
            code=Code.ONE_SERVER,
            text="one server was up at a time, and completed all sets before the next one started:"
            " what is compared was measured minutes apart, so the noise of the machine weighs more",
        )
    if not can_enclose():
        yield Warning(
            code=Code.NOT_ENCLOSED,
            text="servers, clients and builds ran without sandboxes: a subject could have disturbed"
            " or read the others",
        )
    if experiment.awake:
        yield Warning(
            code=Code.AWAKE,
            text="no CPU slept while it was measured: programs that yield to all others kept them"
            " awake, so that nothing waited for one to wake up; on a machine that lets its CPUs"
            " sleep the differences may be smaller",
        )


def placement_notes(placement: CpuPlacement) -> Iterator[Warning]:
    """Yield a footnote if clients and servers had cores of their own."""
    if placement.cores:
        servers = len(placement.cores) - placement.clients
        yield Warning(
            code=Code.CPUS_APART,
            text=f"clients had {count_of(placement.clients, 'core')} for themselves, drawn for each"
            f" block, and servers the remaining {servers}, as the kernel would put a client and its"
            ' server now on one core and now on two; [design] placement = "free" lets it',
        )


def hybrid_notes(used: frozenset[int], fastest: frozenset[int]) -> Iterator[Warning]:
    """Yield a footnote if not all of the CPUs that were used are of one kind."""
    if used - fastest:
        chosen = cpu_list(fastest)
        yield Warning(
            code=Code.HYBRID_CPU,
            text=f"CPUs of several kinds were used, of which {chosen} are the fastest: on which"
            " ones the kernel ran a program decides how fast it was, and intervals are wide; to"
            f" use the fastest only: taskset -c {chosen} hone ...",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSetup:
    """A subject's server: its name with its version, its protocol, and its chosen settings."""

    title: str
    protocol: Protocol
    chosen: ResolvedSettings


def settings_notes(setups: Mapping[str, ServerSetup]) -> tuple[Warning, ...]:
    """Return footnotes on settings that differ from those requested, or between subjects.

    One says which servers' commits do not wait for the disk. ``setups`` are by subject.
    """
    return (
        *_asynchronous(setups),
        *_adapted(setups),
        *_ignored(setups),
        *_unequal_proposals(setups),
    )


def running_note(
    subject: str, differing: Mapping[str, tuple[str, str]], too_few_files: str = ""
) -> Warning | None:
    """Return a footnote on settings, as given and as the running server says; None without any.

    ``too_few_files`` says what is wrong with the server's limit of open files, if anything is.
    """
    if not differing:
        return None
    words = "; ".join(
        f"{name} is {running or 'empty'}, not {given}"
        for name, (given, running) in differing.items()
    )
    return Warning(
        code=Code.SETTING_NOT_TAKEN,
        text=f"{subject}: the server runs with settings other than those it was given: {words}"
        + (f". {too_few_files}" if too_few_files else ""),
        subject=subject,
    )


def changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of settings whose values differ. A setting that only one has differs."""
    names = sorted({*before, *now})
    return tuple(name for name in names if before.get(name) != now.get(name))


def _asynchronous(setups: Mapping[str, ServerSetup]) -> Iterator[Warning]:
    causes = {
        name: [
            f"{setting} = {setup.chosen.values[setting]}"
            for setting, values in setup.protocol.asynchronous_commits.items()
            if setup.chosen.values.get(setting, "").lower() in values
        ]
        for name, setup in setups.items()
        if not setup.protocol.waits_nevertheless(setup.chosen.values)
    }
    own = [name for name in causes if causes[name]]
    if own:
        of_whom = "" if len(own) == len(setups) else f" of {', '.join(own)}"
        settings = dict.fromkeys(setting for name in own for setting in causes[name])
        yield Warning(
            code=Code.ASYNCHRONOUS_COMMITS,
            text=f"commits{of_whom} did not wait for the disk ({', '.join(settings)}): with a"
            " server that waits, what writes differs less",
        )


def _adapted(setups: Mapping[str, ServerSetup]) -> Iterator[Warning]:
    for name, setup in setups.items():
        chosen = setup.chosen
        if chosen.translated:
            yield Warning(
                code=Code.SETTING_TRANSLATED,
                text=f"{name}: {setup.title} has other names for some settings:"
                f" {'; '.join(_translation(setting) for setting in chosen.translated)}",
                subject=name,
            )
        if chosen.dropped:
            yield Warning(
                code=Code.SETTING_DROPPED,
                text=f"{name} ran without {', '.join(chosen.dropped)}: this {setup.title} has no"
                f" such setting{'s' if len(chosen.dropped) > 1 else ''}",
                subject=name,
            )


def _translation(setting: Translated) -> str:
    if not setting.values:
        return f"{setting.name} is left to the settings that stand for it"
    return f"{setting.name} = {setting.value} is set as {pairs(setting.values)}"


def _ignored(setups: Mapping[str, ServerSetup]) -> Iterator[Warning]:
    ignored = dict.fromkeys(name for setup in setups.values() for name in setup.chosen.ignored)
    if ignored:
        yield Warning(
            code=Code.SETTING_IGNORED,
            text="these settings of the settings file were ignored, since hone decides them or they"
            f" belong to one server alone: {', '.join(ignored)}",
        )


def _unequal_proposals(setups: Mapping[str, ServerSetup]) -> Iterator[Warning]:
    """Yield which of hone's proposals some servers lack that others of their protocol have."""
    lacking: dict[tuple[str, ...], list[str]] = {}
    for protocol in dict.fromkeys(setup.protocol for setup in setups.values()):
        same_protocol = {
            name: setup.chosen for name, setup in setups.items() if setup.protocol is protocol
        }
        for setting in dict.fromkeys(
            name for own in same_protocol.values() for name in own.unproposed
        ):
            without = tuple(
                name for name, own in same_protocol.items() if setting in own.unproposed
            )
            if len(without) < len(same_protocol):
                lacking.setdefault(without, []).append(setting)
    if lacking:
        parts = (f"{', '.join(who)} without {', '.join(what)}" for who, what in lacking.items())
        yield Warning(
            code=Code.SETTINGS_DIFFER,
            text="not all versions have what hone sets by itself, so these ran with fewer settings"
            f" than the others: {'; '.join(parts)}",
        )


def measured_notes(done: Sequence[Done], sliced: Sequence[Sliced]) -> Iterator[Warning]:
    """Yield the footnotes on all that counts of a run: they replace those given before."""
    yield from failure_notes(done)
    yield from host_noise_notes(done)
    yield from slice_notes(sliced)
    yield from stall_notes(sliced)


def host_noise_notes(done: Sequence[Done]) -> Iterator[Warning]:
    """Yield a warning for each cause that disturbed these invocations."""
    for limit in _LIMITS:
        seen = [
            record.conditions[limit.condition]
            for record in done
            if limit.condition in record.conditions
        ]
        if seen and statistics.fmean(seen) > limit.above:
            text = limit.text.format(mean=statistics.fmean(seen), most=max(seen))
            yield Warning(code=limit.code, text=text)


def failure_notes(done: Sequence[Done]) -> Iterator[Warning]:
    """Yield a warning for each subject that failed: on what, how often, and how the last time."""
    measured = Counter((record.subject, record.set) for record in done)
    failed = [record for record in done if record.failure is not None]
    counts = Counter((record.subject, record.set) for record in failed)
    last = {record.subject: record.failure for record in failed}
    for subject, failure in last.items():
        where = [
            f"{name} in {count} of {count_of(measured[own, name], 'block')}"
            for (own, name), count in counts.most_common()
            if own == subject
        ]
        yield Warning(
            code=Code.FAILED_INVOCATIONS,
            text=f"{subject} failed on {listed(where)} and has no figures of these; the last time:"
            f" {failure}",
            subject=subject,
        )


@dataclass(slots=True)
class _StallTotals:
    """What a subject did on a set, in all slices and in those in which it stalled."""

    slices: int = 0
    seconds: float = 0.0
    operations: int = 0
    stalled: int = 0
    stalled_seconds: float = 0.0
    stalled_operations: int = 0

    def add(self, one: Slice, *, stalled: bool) -> None:
        self.slices += 1
        self.seconds += one.seconds
        self.operations += one.operations
        self.stalled += stalled
        self.stalled_seconds += one.seconds * stalled
        self.stalled_operations += one.operations * stalled

    @property
    def lost(self) -> float:
        """The share of the throughput that it would have without those slices."""
        usual = (self.operations - self.stalled_operations) * self.seconds
        return 1 - self.operations * (self.seconds - self.stalled_seconds) / usual if usual else 0.0


def stall_notes(sliced: Sequence[Sliced]) -> Iterator[Warning]:
    """Yield a footnote on each subject that stalled so often that its figures show it."""
    found: dict[str, dict[str, _StallTotals]] = {}
    for trial in itertools.chain(*trials_by_set(sliced).values()):
        for entry, one, still in _judged_slices(trial):
            sets = found.setdefault(entry.subject, {})
            sets.setdefault(entry.set, _StallTotals()).add(one, stalled=still)
    for subject, sets in found.items():
        worst = sorted(sets, key=lambda name: sets[name].lost, reverse=True)
        told = [name for name in worst if sets[name].lost >= _LEAST_LOST]
        if told:
            yield Warning(code=Code.STALLS, text=_stalls(subject, sets, told), subject=subject)


def _judged_slices(trial: Sequence[Sliced]) -> Iterator[tuple[Sliced, Slice, bool]]:
    """Yield each slice that counts, with whether its subject stalled in it."""
    counted = [[one for one in entry.slices if one.counted] for entry in trial]
    rounds = sorted({one.round for slices in counted for one in slices})
    rows = {number: row for row, number in enumerate(rounds)}
    still = stalled(log_rates(counted, rounds), slice_seconds(counted, rounds))
    for column, (entry, slices) in enumerate(zip(trial, counted, strict=True)):
        for one in slices:
            yield entry, one, bool(still[rows[one.round], column])


def _stalls(subject: str, sets: Mapping[str, _StallTotals], told: Sequence[str]) -> str:
    name, others = told[0], told[1:]
    worst = sets[name]
    also = [f"{other} ({sets[other].lost:.0%})" for other in others[:_MOST_NAMED]]
    more = f", and on {listed(also)}" if also else ""
    rest = f" and {len(others) - len(also)} more" if len(others) > len(also) else ""
    return (
        f"{subject} stalled in {worst.stalled} of"
        f" {count_of(worst.slices, 'slice')} of {name} ({worst.stalled_seconds:.1f} of"
        f" {worst.seconds:.0f} s) while the others continued, which costs it {worst.lost:.0%} of"
        f" its throughput there{more}{rest}; its figures include that, and their intervals allow"
        " for chance in how often it stalled: they reach further on the slower side"
    )


def failed_test_note(subject: str, failure: Failure) -> Warning:
    """Return the footnote with what a test found that the base passes and a subject does not."""
    return Warning(
        code=Code.FAILED_TEST,
        text=f"what {failure.test} of {failure.check} {failure.list} found in {subject}, and not"
        f" in the base: {failure.excerpt}",
        subject=subject,
    )


def varying_answers_note(varying: Sequence[str]) -> Warning:
    """Return the footnote on what the base answers otherwise each time that it is asked."""
    return Warning(
        code=Code.VARYING_ANSWERS,
        text=f"{count_of(len(varying), 'answer')} of the base itself varied when it was verified"
        f" twice, so that no other subject's was compared with it: {listed(varying)}",
    )


def locale_note(locale: str) -> Warning:
    """Return the footnote on the locale of the database of which a dump was restored."""
    return Warning(
        code=Code.OTHER_LOCALE,
        text=f"the dump is of a database with the locale {locale}, and was restored with the locale"
        " C: texts are sorted byte by byte, and LIKE 'abc%' can use a usual index, which it cannot"
        " with most locales",
    )


def refusals_note(refusals: str) -> Warning:
    """Return the footnote on statements that the base refused when it was verified."""
    return Warning(
        code=Code.REFUSED_STATEMENTS,
        text=f"when it was verified on the beginning of the workload, the base refused {refusals}",
    )


def slice_notes(sliced: Sequence[Sliced]) -> Iterator[Warning]:
    """Yield the footnotes about these slices."""
    trials = [
        max((entry.slices for entry in trial), key=len)
        for trial in itertools.chain(*trials_by_set(sliced).values())
    ]
    if not trials:
        return
    typical = statistics.median(slice.seconds for slices in trials for slice in slices)
    rounds = statistics.median_high(len(slices) for slices in trials)
    yield Warning(
        code=Code.SHORT_SLICES,
        text="it was measured in short slices: the clients of all subjects stayed connected, and"
        f" all but one's were paused; a slice took {typical:.2g} s, and a step had"
        f" {count_of(rounds, 'round')} in a block, each with a slice of every subject",
    )
    left_out = sum(not slice.counted for slices in trials for slice in slices)
    total = sum(len(slices) for slices in trials)
    if left_out:
        yield Warning(
            code=Code.UNSETTLED,
            text=f"{left_out} of {count_of(total, 'round')} at the start of trials"
            f" {'was' if left_out == 1 else 'were'} discarded as warm-up: the servers had not"
            " settled, or the slices were too short for their operations",
        )
