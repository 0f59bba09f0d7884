"""What a reader must know before the figures of a run are believed.

Each check looks at the figures of a whole run and returns warnings, data like those that came with
the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dbhone.analysis.sample_size import sample_size_warnings
from dbhone.analysis.severity import by_severity
from dbhone.analysis.shape_warnings import odd_shapes
from dbhone.analysis.trust import trusted_subjects
from dbhone.analysis.verdict import (
    MINIMUM_BLOCKS,
    Analysis,
    Effect,
    Summary,
    controls_of,
    differs,
    find_winner,
)
from dbhone.measurement.metric import (
    BY_NAME,
    CLIENT_CPU_SECONDS,
    CPU_SECONDS,
    REFUSED_SHARE,
    THROUGHPUT,
    Metric,
)
from dbhone.measurement.record import READY_MADE, Code, Run, Warning, wholes
from dbhone.measurement.sample_array import Array, SampleArray
from dbhone.units import count_of, listed, percent

WINNER_CODES = (Code.CONTROL_NOISY,)
"""The warnings about a winner, which mean nothing where none is looked for."""
_UNLIKE_SHARES = 0.01
_LARGE_SHARE = 0.1
_FIGURES_OF_REFUSED = (
    "the figures include the time that these took, but not the work that they would have done"
)
_BUSY = 0.9
"""The share of the cores from which on the CPU is what limits throughput."""
_CLIENT_SHARE = 0.3
_DRIFT = 0.05
_DRIFT_P = 0.01
_DRIFT_PIECES = 60


def refused(run: Run, samples: SampleArray) -> Iterator[Warning]:
    """Yield a warning for each subject whose server refused many transactions; one for the others.

    A refused transaction takes time and counts for nothing. So a ratio is wrong by about the
    difference of the two shares; and where many are refused, another workload was measured.
    """
    # A statement that failed is a part of a transaction that was refused.
    whole = _whole_steps(run, samples)
    shares = _means(samples.usable(REFUSED_SHARE)[:, whole])
    base = run.base.name if run.base else None
    nothing = np.full(len(whole), np.nan)
    of_base = shares[samples.subjects.index(base)] if base in samples.subjects else nothing
    few, of_few = dict[str, float](), np.zeros(len(whole), dtype=np.bool_)

    def names(steps: NDArray[np.bool_]) -> list[str]:
        return [samples.steps[whole[at]] for at in np.flatnonzero(steps)]

    for name, own in zip(samples.subjects, shares, strict=True):
        unlike = np.abs(own - of_base) >= _UNLIKE_SHARES  # not where one was not measured
        refusing = own > 0
        if refusing.any() and (unlike | (own >= _LARGE_SHARE)).any():
            said = f"{name}'s server refused {_of_steps(own[refusing].max(), names(refusing))}"
            text = f"{said}: {_FIGURES_OF_REFUSED}"
            yield Warning(code=Code.MANY_REFUSED, text=text, subject=name)
        elif refusing.any():
            few[name], of_few = float(own[refusing].max()), of_few | refusing
        elif unlike.any():
            yield Warning(
                code=Code.MANY_REFUSED,
                text=f"{name}'s server refused no transaction, and {base}'s"
                f" {_of_steps(of_base[unlike].max(), names(unlike))}: they did not do the same"
                " work",
                subject=name,
            )
    if few:
        yield _few_refused(few, names(of_few))


def _few_refused(shares: Mapping[str, float], steps: Sequence[str]) -> Warning:
    """Return the warning on subjects' servers that refused these shares, at most, of some steps."""
    if len(shares) == 1:
        ((name, share),) = shares.items()
        text = f"{name}'s server refused {_of_steps(share, steps)}"
    else:
        most = "up to " if len(steps) > 1 else ""
        of_each = ", ".join(f"{most}{_share(share)} of {name}'s" for name, share in shares.items())
        text = f"servers refused transactions of {_steps(steps)}, {of_each}"
    return Warning(
        code=Code.REFUSED_TRANSACTIONS,
        text=f"{text}: {_FIGURES_OF_REFUSED}",
        subject=next(iter(shares)) if len(shares) == 1 else None,
    )


def _whole_steps(run: Run, samples: SampleArray) -> list[int]:
    """Return the places of the steps that are no part of another."""
    names = {step.name for step in wholes(run.steps)}
    return [at for at, name in enumerate(samples.steps) if name in names]


def _means(values: Array) -> Array:
    """Return the means over the last axis, NaN where nothing was measured."""
    known = np.count_nonzero(~np.isnan(values), axis=-1)
    means: Array = np.where(known, np.nansum(values, axis=-1) / np.maximum(known, 1), np.nan)
    return means


def _of_steps(most: float, steps: Sequence[str]) -> str:
    """Return the largest share and the steps that it is of, in words."""
    upto = "up to " if len(steps) > 1 else ""
    return f"{upto}{_share(most)} of the transactions of {_steps(steps)}"


def _steps(steps: Sequence[str]) -> str:
    return steps[0] if len(steps) == 1 else f"{count_of(len(steps), 'step')} ({listed(steps)})"


def _share(share: float) -> str:
    """Return a share of two digits: ``0.025 %``, ``24 %``."""
    return f"{share:.0%}".replace("%", " %") if share >= 0.1 else f"{share * 100:.2g} %"


def client_heavy(run: Run, samples: SampleArray) -> Iterator[Warning]:
    """Return the warning that the client uses much of a busy CPU on some steps.

    There, a server that needs half the CPU is not twice as fast: the client's part stays.
    """
    if run.base is None or run.base.name not in samples.subjects:
        return
    base, whole = samples.subjects.index(run.base.name), _whole_steps(run, samples)
    rates, server, client = (
        _usual(samples, base, whole, metric)
        for metric in (THROUGHPUT, CPU_SECONDS, CLIENT_CPU_SECONDS)
    )
    if rates is None or server is None or client is None:
        return
    with np.errstate(invalid="ignore", divide="ignore"):
        busy = rates * (server + client) / max(run.machine.cores, 1)
        share = client / (server + client)
        heavy = np.flatnonzero((busy >= _BUSY) & (share >= _CLIENT_SHARE))
    if len(heavy):
        yield Warning(
            code=Code.CLIENT_HEAVY,
            text=f"on {len(heavy)} of {len(whole)} steps "
            f"({listed([samples.steps[whole[at]] for at in heavy])}) the CPU is busy and the"
            f" client takes up to {share[heavy].max():.0%} of it, so a faster server shows only in"
            " part: its CPU time per operation shows it whole",
        )


def _usual(
    samples: SampleArray, subject: int, steps: Sequence[int], metric: Metric
) -> Array | None:
    """Return the subject's median of a metric on each of these, None if it was not measured."""
    if not samples.has(metric):
        return None
    usable = samples.usable(metric)[subject, steps]
    known = ~np.isnan(usable).all(axis=-1)
    usual = np.full(len(usable), np.nan)
    usual[known] = np.nanmedian(usable[known], axis=-1)
    return usual


def find_warnings(run: Run, samples: SampleArray, analysis: Analysis) -> tuple[Warning, ...]:
    """Return the run's own warnings and those that its figures give, the gravest first.

    A warning that the run already carries is not repeated.
    """
    of_ratios = _not_carried(run, _of_ratios(run, samples, analysis))
    return by_severity((*of_ratios, *warnings_of_part(run, samples, analysis)))


def warnings_of_whole(run: Run, samples: SampleArray, analysis: Analysis) -> tuple[Warning, ...]:
    """Return the warnings that only several runs as a whole give, of which this is made.

    A subject of one run is compared with the base of all.
    """
    controls = _controls_differ(run, analysis)
    return _not_carried(run, (*_of_ratios(run, samples, analysis), *controls))


def warnings_of_part(run: Run, samples: SampleArray, analysis: Analysis) -> tuple[Warning, ...]:
    """Return the warnings that a run gives even where it is a part of several, its own included."""
    found = (
        *_controls_differ(run, analysis),
        *_repeats(run, analysis),
        *_state(run, samples),
        *_compilers(run),
        *sample_size_warnings(run, samples, analysis),
        *_broken(run),
        *client_heavy(run, samples),
        *_drift(run, samples),
        *(odd_shapes(run.base.name, samples) if run.base else ()),
        *_values(analysis),
    )
    return (*_not_carried(run, found), *run.warnings)


def _of_ratios(run: Run, samples: SampleArray, analysis: Analysis) -> Iterator[Warning]:
    """Yield warnings on what stands beside the base and beside the winner."""
    refusals = tuple(refused(run, samples))
    yield from refusals
    winner = find_winner(analysis, trusted_subjects(run, (*refusals, *run.warnings)))
    if winner is not None:
        for control in controls_of(analysis, run.subjects):
            yield from _control_noisy(control, winner, analysis.base)


def _not_carried(run: Run, warnings: Iterable[Warning]) -> tuple[Warning, ...]:
    carried = {(warning.code, warning.subject, warning.step) for warning in run.warnings}
    return tuple(
        warning
        for warning in warnings
        if (warning.code, warning.subject, warning.step) not in carried
    )


def _controls_differ(run: Run, analysis: Analysis) -> Iterator[Warning]:
    for control in run.controls:
        yield from _control_differs(analysis, control, f"{analysis.base} over again")


def _repeats(run: Run, analysis: Analysis) -> Iterator[Warning]:
    """Yield warnings on a base that nothing repeats, and on what is byte for byte the base."""
    if not run.controls and analysis.effects:
        yield Warning(
            code=Code.NO_CONTROL,
            text="there is no A/A control, so nothing shows how much of the differences is noise",
        )
    for same in dict.fromkeys(
        warning.subject for warning in run.warnings if warning.code == Code.IDENTICAL
    ):
        if same is not None:
            yield from _control_differs(analysis, same, f"byte for byte {analysis.base}")


def _control_differs(analysis: Analysis, control: str, what: str) -> Iterator[Warning]:
    """Yield a warning that a subject differs from the base that it repeats; ``what`` says how."""
    differing = [effect for effect in analysis.judged(control) if differs(effect)]
    if not differing:
        return
    worst = max(differing, key=lambda effect: abs(np.log(effect.ratio)))
    where = worst.step if isinstance(worst, Effect) else _together(worst, analysis)
    yield Warning(
        code=Code.CONTROL_DIFFERS,
        text=f"{control} is {what} and yet differs from it in "
        f"{count_of(len(differing), 'figure')}, at most by {percent(worst.ratio - 1)} on {where}: "
        "something other than the builds is measured here, so trust no figure of this run; chance"
        " alone does this in one run of twenty, so repeat it",
        subject=control,
    )


def _together(worst: Summary, analysis: Analysis) -> str:
    """Return the steps of a summary in words: ``all held-out steps together``."""
    parts = {effect.in_sample for effect in analysis.throughput_effects}
    part = ("in-sample " if worst.in_sample else "held-out ") if len(parts) > 1 else ""
    return f"{worst.group or 'all'} {part}steps together"


def _control_noisy(control: Summary, winner: Summary, base: str) -> Iterator[Warning]:
    if control.low is None or control.high is None:
        return
    spread = max(control.high, 1 / control.low) - 1
    if spread >= winner.ratio - 1:
        yield Warning(
            code=Code.CONTROL_NOISY,
            text=f"the A/A control's interval reaches {percent(spread)[1:]} from no difference, "
            f"as far as {winner.subject} is from {base} "
            f"({percent(winner.ratio - 1)}): more blocks are needed to trust that",
            subject=control.subject,
        )


def _state(run: Run, samples: SampleArray) -> Iterator[Warning]:
    if run.unfinished:
        so_far = "; this is what its measurements say so far" if samples.measured_subjects() else ""
        yield Warning(code=Code.RUN_NOT_FINISHED, text=f"{run.unfinished}{so_far}")


def _compilers(run: Run) -> Iterator[Warning]:
    """Yield a warning that ready-made servers were not built alike, as far as is known."""
    built: dict[str, list[str]] = {}
    for subject in run.subjects:
        if subject.ready_made and subject.compiler != READY_MADE:
            built.setdefault(subject.compiler, []).append(subject.name)
    if len(built) > 1:
        compilers = "; ".join(f"{listed(names)} by {compiler}" for compiler, names in built.items())
        yield Warning(
            code=Code.COMPILERS_DIFFER,
            text=f"the ready-made servers were not compiled alike ({compilers}), nor is it known"
            " with which options: what differs between those may be the compilers' doing and not"
            " the servers'",
        )


def _broken(run: Run) -> Iterator[Warning]:
    for subject in run.subjects:
        if subject.broken is not None:
            yield Warning(
                code=Code.SUBJECT_BROKEN,
                text=f"{subject.name} took no further part: {subject.broken}",
                subject=subject.name,
            )


def _drift(run: Run, samples: SampleArray) -> Iterator[Warning]:
    """Yield a warning if the base itself became faster or slower from block to block.

    The trend is Theil and Sen's, tested by Mann and Kendall's normal approximation, over pieces of
    consecutive blocks.
    """
    if run.base is None or run.base.name not in samples.subjects:
        return
    every_step = samples.logs(THROUGHPUT).values[samples.subjects.index(run.base.name)]
    logs = every_step[_whole_steps(run, samples)]
    known = ~np.isnan(logs)
    steps, blocks = known.any(axis=1), known.any(axis=0)
    if np.count_nonzero(blocks) < MINIMUM_BLOCKS:
        return
    logs = logs[steps][:, blocks]
    level = np.nanmean(logs - np.nanmedian(logs, axis=1, keepdims=True), axis=0)
    pieces = np.array_split(level, min(len(level), _DRIFT_PIECES))
    change, p = _trend(np.array([piece.mean() for piece in pieces]))
    if abs(change) > _DRIFT and p < _DRIFT_P:
        way = "faster" if change > 0 else "slower"
        yield Warning(
            code=Code.BASE_DRIFT,
            text=f"the machine changed while it measured: from the first block to the last "
            f"{run.base.name} became {abs(np.expm1(change)):.0%} {way}; ratios within a block "
            "tolerate that, absolute figures do not",
        )


def _trend(values: Array) -> tuple[float, float]:
    """Return the change from the first value to the last, and the p value of no trend."""
    count = len(values)
    first, second = np.triu_indices(count, k=1)
    rises = values[second] - values[first]
    slope = float(np.median(rises / (second - first)))
    score = abs(float(np.sign(rises).sum()))
    spread = np.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    return slope * (count - 1), math.erfc(max(score - 1, 0.0) / spread / math.sqrt(2))


def _values(analysis: Analysis) -> Iterator[Warning]:
    if analysis.unusable:
        yield Warning(
            code=Code.UNUSABLE_VALUES,
            text=f"{analysis.unusable} measured values were zero or not numbers, have no ratio, "
            "and were left out",
        )
    for (metric, steps), subjects in _left_out(analysis).items():
        yield Warning(
            code=Code.STEPS_LEFT_OUT,
            text=f"the {BY_NAME[metric].title} summaries of {listed(subjects)} leave out "
            f"{listed(steps)}, which fewer than half of the blocks have",
            subject=subjects[0] if len(subjects) == 1 else None,
            step=steps[0] if len(steps) == 1 else None,
        )


def _left_out(analysis: Analysis) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return the subjects by the metric and the steps that their summaries leave out."""
    steps: dict[tuple[str, str], list[str]] = {}
    for left_out in analysis.left_out:
        steps.setdefault((left_out.metric, left_out.subject), []).append(left_out.step)
    subjects: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (metric, subject), names in steps.items():
        subjects.setdefault((metric, tuple(names)), []).append(subject)
    return subjects
