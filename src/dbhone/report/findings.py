"""What was found in a run, or in several that add up, and what was not measured."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dbhone.analysis.comparison import analyse
from dbhone.analysis.history import History, Lineage
from dbhone.analysis.indirect import ONE_RUN, Links
from dbhone.analysis.joinable_run import joinable
from dbhone.analysis.joining import Joined, join
from dbhone.analysis.sample_size import SampleSize, needs
from dbhone.analysis.severity import by_severity
from dbhone.analysis.trust import Trust, left_out, trust, trusted_subjects
from dbhone.analysis.verdict import Analysis, Summary, find_best, find_winner
from dbhone.analysis.warnings import (
    WINNER_CODES,
    find_warnings,
    warnings_of_part,
    warnings_of_whole,
)
from dbhone.measurement.metric import (
    BYTES_READ,
    BYTES_WRITTEN,
    CLIENT_CPU_SECONDS,
    CONTEXT_SWITCHES,
    CPU_SECONDS,
    INSTRUCTIONS,
    LATENCY_P95,
    PEAK_MEMORY,
    SYSTEM_SECONDS,
    THROUGHPUT,
)
from dbhone.measurement.record import Code, Role, Run, Subject, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.series import Observation
from dbhone.report.context import serves
from dbhone.report.history import history_of
from dbhone.report.server_series import ServerSection
from dbhone.report.wording import joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A run that a page is made of, and how many blocks of it there are."""

    run: Run
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that is known of a run. ``run`` and ``samples`` are the whole's, ``origins`` its parts.

    ``trust`` is how far its verdicts can be trusted, ``needs`` what it lacks for them. ``history``
    is None if there is none. ``warnings`` are in the order of their weight.
    """

    run: Run
    samples: SampleArray
    analysis: Analysis
    needs: SampleSize
    trust: Trust
    lineage: Lineage
    history: History | None
    warnings: tuple[Warning, ...]
    origins: tuple[Origin, ...]

    @property
    def measured(self) -> bool:
        """Whether anything was measured, of any subject."""
        return bool(self.samples.measured_subjects())

    @property
    def trusted(self) -> tuple[Subject, ...]:
        """The subjects among which the best is looked for."""
        return trusted_subjects(self.run, self.warnings)

    @property
    def candidates(self) -> tuple[Subject, ...]:
        """The candidates among these."""
        return tuple(subject for subject in self.trusted if subject.role is Role.CANDIDATE)

    @property
    def best(self) -> Summary | None:
        """The overall summary of the best of them, None if none has a verdict."""
        return find_best(self.analysis, self.candidates)

    @property
    def winner(self) -> Summary | None:
        """The overall summary of the winner, None if none of them is faster than the base."""
        return find_winner(self.analysis, self.candidates)

    @property
    def left_out(self) -> tuple[Summary, ...]:
        """The candidates that seem faster than the best of these, and cannot be believed."""
        return left_out(self.run, self.analysis, self.warnings)


def findings_of(run: Run, samples: SampleArray) -> Findings:
    """Analyse a run's samples, however little was measured."""
    analysis = _analysis(run, samples, ONE_RUN)
    order = run.version_order
    controls = {name: order[0] for name in run.controls if order}
    lineage = Lineage(versions=order, controls=controls)
    return _findings(
        run,
        samples,
        analysis,
        lineage,
        history=history_of(run, samples, lineage),
        every=find_warnings(run, samples, analysis),
        origins=(Origin(run=run, blocks=analysis.blocks),),
    )


def findings_of_joined(runs: Sequence[tuple[Run, SampleArray]]) -> Findings:
    """Analyse runs that add up as one. Raises UsageError for those that do not."""
    whole = join([joinable(*run) for run in runs])
    alone = [_analysis(one_run.run, one_run.samples, ONE_RUN) for one_run in whole.parts]
    analysis = _analysis(whole.run, whole.samples, whole.lineage.links)
    of_whole = warnings_of_whole(whole.run, whole.samples, analysis)
    return _findings(
        whole.run,
        whole.samples,
        analysis,
        whole.lineage,
        history=history_of(whole.run, whole.everything, whole.lineage),
        every=by_severity((*of_whole, *_of_parts(whole, alone, of_whole), _how(whole))),
        parts=tuple(_trust_of_parts(whole, alone)),
        origins=tuple(
            Origin(run=one_part.run, blocks=analysis.blocks)
            for one_part, analysis in zip(whole.parts, alone, strict=True)
        ),
    )


def _findings(
    run: Run,
    samples: SampleArray,
    analysis: Analysis,
    lineage: Lineage,
    *,
    history: History | None,
    every: Iterable[Warning],
    origins: tuple[Origin, ...],
    parts: Sequence[tuple[str, Trust]] = (),
) -> Findings:
    """Return what was found, with what follows from it."""
    warnings = _of_kind(every, history=history is not None)
    return Findings(
        run=run,
        samples=samples,
        analysis=analysis,
        needs=needs(run, samples, analysis),
        trust=trust(run, analysis, warnings, history=history is not None, parts=parts),
        lineage=lineage,
        history=history,
        warnings=warnings,
        origins=origins,
    )


def _trust_of_parts(whole: Joined, alone: Sequence[Analysis]) -> Iterator[tuple[str, Trust]]:
    """Yield the grades of the runs whose controls repeat another base than that of the whole.

    A part has no winner, so it is graded as a history is.
    """
    for part, analysis in zip(whole.parts, alone, strict=True):
        if analysis.base != (whole.run.base and whole.run.base.name):
            warnings = _of_kind(find_warnings(part.run, part.samples, analysis), history=True)
            yield part.title, trust(part.run, analysis, warnings, history=True)


def _of_kind(warnings: Iterable[Warning], *, history: bool) -> tuple[Warning, ...]:
    """Return the warnings that may be given: a history has no winner, and so none about one."""
    return tuple(warning for warning in warnings if not history or warning.code not in WINNER_CODES)


def _of_parts(
    whole: Joined, alone: Sequence[Analysis], of_whole: Sequence[Warning]
) -> tuple[Warning, ...]:
    """Return the warnings of the single runs, without what the whole says of the same subjects.

    Equal warnings of several runs become one.
    """
    said = {(warning.code, warning.subject) for warning in of_whole}
    titles: dict[Warning, list[str]] = {}
    for joined_run, analysis in zip(whole.parts, alone, strict=True):
        for warning in warnings_of_part(joined_run.run, joined_run.samples, analysis):
            if (warning.code, warning.subject) not in said:
                titles.setdefault(warning, []).append(joined_run.title)
    return tuple(
        replace(warning, text=f"{joined(names)}: {warning.text}")
        for warning, names in titles.items()
    )


def _how(whole: Joined) -> Warning:
    order = [subject.name for subject in whole.run.subjects]
    links = whole.lineage.links
    anchors = sorted(set(links.anchors.values()), key=order.index)
    shared = [name for name in order if len(links.runs[name]) > 1]
    what = "versions" if whole.lineage.versions else "subjects"
    how = f": {joined(shared)} are computed over the blocks of all runs that measured them"
    if anchors:
        how = (
            f" by way of {joined(anchors)}, measured in both of two runs: ratios of {what} that no"
            " run measured side by side are products of two ratios, and their intervals carry both"
            " runs' noise"
        )
    changed = dict.fromkeys(
        change
        for before, after in itertools.pairwise(part.run for part in whole.parts)
        for change in _changes(before, after)
    )
    if changed:
        how = f"{how}; from one to another changed: {'; '.join(changed)}"
    unlike = joined(whole.unlike_sets)
    without = f"; left out: {unlike}, as only some runs had to measure by fresh clients there"
    return Warning(
        code=Code.JOINED,
        text=f"{joined([part.title for part in whole.parts])} were joined{how}; figures that are no"
        f" ratios are of different hours{without if unlike else ''}",
    )


def _changes(before: Run, after: Run) -> Iterator[str]:
    """Yield what else than subjects may have changed how two runs of one host compare."""
    yield from before.machine.changes(after.machine)
    if before.hone_version != after.hone_version:
        yield f"hone {before.hone_version}, then {after.hone_version}"


def _analysis(run: Run, samples: SampleArray, links: Links) -> Analysis:
    if run.base is None or run.base.name not in samples.subjects:
        return Analysis(
            base=run.base.name if run.base else "",
            blocks=0,
            judged_in_sample=all(step.in_sample for step in run.steps),
            effects=(),
            summaries=(),
            left_out=(),
            unusable=0,
        )
    return analyse(
        samples,
        base=run.base.name,
        steps=run.steps,
        controls=run.controls,
        links=links,
    )


_OF_ALL = (CPU_SECONDS, INSTRUCTIONS, PEAK_MEMORY)
_OF_SERVERS = (
    LATENCY_P95,
    CONTEXT_SWITCHES,
    SYSTEM_SECONDS,
    CLIENT_CPU_SECONDS,
    BYTES_READ,
    BYTES_WRITTEN,
)
_WHY = {INSTRUCTIONS.name: " (they need the CPU's performance counters)"}


def unmeasured(
    run: Run, samples: SampleArray, observed: Sequence[Observation], drawn: Sequence[ServerSection]
) -> tuple[Warning, ...]:
    """Return a note on what was not measured at all, nothing if there is nothing to report.

    ``drawn`` are the median series that were made from what was ``observed``.
    """
    if not samples.has(THROUGHPUT):
        return ()
    missing = [*_metrics(run, samples), *_median_series(run, observed, drawn)]
    if not missing:
        return ()
    return (Warning(code=Code.NOT_MEASURED, text=f"not measured: {', '.join(missing)}"),)


def _metrics(run: Run, samples: SampleArray) -> Iterator[str]:
    metrics = (*_OF_ALL, *_OF_SERVERS) if serves(run.steps) else _OF_ALL
    for metric in metrics:
        if not samples.has(metric):
            yield f"{metric.title}{_WHY.get(metric.name, '')}"


def _median_series(
    run: Run, observed: Sequence[Observation], drawn: Sequence[ServerSection]
) -> Iterator[str]:
    """Yield why there is no median series."""
    if serves(run.steps) and not run.declared.observes:
        yield "the course over time ([observe] is off)"
    elif observed and not drawn:
        yield "the course over time (slices are too short)"
