"""The one view model: what a report says, before any format says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbhone.analysis.ceiling import overall_ceiling
from dbhone.analysis.gravity import CONTROL_CODES
from dbhone.analysis.history import History
from dbhone.analysis.indirect import Links
from dbhone.analysis.judged_steps import judged_steps
from dbhone.analysis.levels import Level, find_levels
from dbhone.analysis.sample_size import SampleSize
from dbhone.analysis.trust import Trust, TrustGrade
from dbhone.analysis.verdict import Analysis, Summary, overall
from dbhone.measurement.record import Run, RunState, Step, Subject, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.series import Observation
from dbhone.report import sections
from dbhone.report.builds import build_tables
from dbhone.report.context import differences_table, report_context
from dbhone.report.findings import Findings, Origin, findings_of, findings_of_joined, unmeasured
from dbhone.report.headline import headline
from dbhone.report.history import arrows, changes_table
from dbhone.report.latencies import latencies, seconds_table
from dbhone.report.overview import overview
from dbhone.report.publication import parse_choice
from dbhone.report.published_comparison import (
    PublishedComparison,
    compare_with_published,
    published_table,
)
from dbhone.report.reproduction import Repeat, environment, repeat
from dbhone.report.search import Search
from dbhone.report.server_series import ServerSection, server_sections, server_series_note
from dbhone.report.settings import defaults_table, settings_table, shared_settings
from dbhone.report.step_tables import StepTables, present, step_tables
from dbhone.report.sweep import Sweep, sweep_note, sweeps
from dbhone.report.table import Table
from dbhone.report.wording import format_ratio, joined, legend, told_together

_MOST_ROWS, _MOST_FIELDS = 45, 300
"""Of the steps' tables, where they are to fit on a page's first screens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything that a report shows.

    ``alerts`` stand before all else, ``footnotes`` after the tables; ``legend`` is empty if
    there is no figure. ``in_sample`` says of each portion of the steps which it is, held-out
    (False) first; ``step_tables`` are the tables of the steps. ``metrics`` is None if only
    throughput was measured, ``history`` and the table of its ``changes`` if the run is none,
    ``winner`` if there is none; ``why_no_winner`` is the reason then.

    ``needs`` is what the run lacks for verdicts, and for the precision that was wanted.

    ``seconds`` is None unless the steps are whole statements. ``published`` are published results
    that were asked for, with their tables, ``published_tables``.

    What only a run of servers has is empty or None elsewhere: ``sweeps`` over numbers of
    threads, ``latencies`` (percentiles of each step, by whether they are in-sample),
    ``observations`` (what was observed while they were measured), ``server_sections`` (its median
    series on some steps), ``method``, ``settings``.
    ``trust`` is how far the verdicts can be trusted; ``overview`` says so in words, after what was
    compared and what moved most: names of questions with their answers, none without a base;
    ``differences`` are None where no two subjects differ.
    ``builds`` are the tables of build times, empty where they are not known. ``levels`` are all
    absolute figures, ``samples`` the single ones that everything was made of, ``links`` those of
    joined runs. ``search`` is the one whose winner the run measured, if any.
    """

    run: Run
    samples: SampleArray
    analysis: Analysis
    needs: SampleSize
    levels: tuple[Level, ...]
    headline: str
    trust: Trust
    overview: tuple[tuple[str, str], ...]
    winner: Subject | None
    why_no_winner: str
    alerts: tuple[Warning, ...]
    footnotes: tuple[Warning, ...]
    control_note: str | None
    method: str | None
    legend: str
    summary: Table
    history: History | None
    changes: Table | None
    seconds: Table | None
    in_sample: tuple[bool, ...]
    step_tables: StepTables
    sweeps: tuple[Sweep, ...]
    sweep_note: str
    metrics: Table | None
    latencies: Mapping[bool, Table]
    observations: tuple[Observation, ...]
    server_sections: tuple[ServerSection, ...]
    server_series_note: str
    builds: tuple[Table, ...]
    differences: Table | None
    settings: Table | None
    defaults: Table | None
    shared_settings: tuple[tuple[str, str], ...]
    published: tuple[PublishedComparison, ...]
    subjects: Table
    ordered: tuple[Subject, ...]
    environment: tuple[tuple[str, str], ...]
    origins: tuple[Origin, ...]
    links: Links
    repeat: tuple[Repeat, ...]
    search: Search | None = None

    @property
    def gain(self) -> Summary | None:
        """The figure that the winner is judged by, None where there is no winner."""
        return None if self.winner is None else overall(self.analysis, self.winner.name)

    @property
    def gain_figures(self) -> tuple[str, str, str] | None:
        """The gain and both ends of its interval, with as many digits as in the headline."""
        gain = self.gain
        if gain is None or gain.low is None or gain.high is None:
            return None
        ratio, low, high = (format_ratio(it, gain) for it in (gain.ratio, gain.low, gain.high))
        return ratio, low, high

    @property
    def has_long_steps(self) -> bool:
        """Whether the steps' tables are more than a reader looks at first."""
        steps = self.step_tables.steps
        rows = sum(len(table.rows) for table in steps)
        fields = sum(len(table.rows) * len(table.columns) for table in steps)
        long = rows > _MOST_ROWS or fields > _MOST_FIELDS
        return long or bool(self.sweeps or self.history)

    def steps_with_parts(self, in_sample: bool) -> tuple[Step, ...]:
        """Return the steps of one part, and the parts of steps, in the run's order."""
        return tuple(step for step in self.run.steps if step.in_sample is in_sample)

    @property
    def published_tables(self) -> tuple[Table, ...]:
        """Return the tables of published results beside the run's own."""
        return tuple(published_table(comparison, self.run) for comparison in self.published)

    @property
    def title(self) -> str:
        """Return the run's title with its number, or those of the runs that it joins."""
        return f"{self.run.title} ({self.runs})"

    @property
    def notes(self) -> tuple[str, ...]:
        """The footnotes as people read them."""
        return told_together(self.footnotes)

    @property
    def runs(self) -> str:
        """The runs of the page in words: ``run 7``, or ``runs 7 and 8 joined``."""
        numbers = [str(origin.run.id) for origin in self.origins]
        return f"runs {joined(numbers)} joined" if len(numbers) > 1 else f"run {self.run.id}"

    @property
    def numbers(self) -> str:
        """Return the numbers of the runs that the page is of, as a command takes them."""
        return " ".join(str(origin.run.id) for origin in self.origins)

    @property
    def winner_title(self) -> str:
        """Return the winner's name with the levers that it won with; empty without a winner."""
        if self.winner is None:
            return ""
        levers = ", ".join(self.winner.levers)
        return f"{self.winner.name} ({levers})" if levers else self.winner.name


def build_page(run: Run, samples: SampleArray, observations: tuple[Observation, ...] = ()) -> Page:
    """Analyse a run's samples and return the page, however little was measured.

    Only formats that show ``observations`` need them.
    """
    return _page(findings_of(run, samples), observations)


def build_joined_page(runs: Sequence[tuple[Run, SampleArray]]) -> Page:
    """Analyse runs that add up as one. Raises UsageError for those that do not."""
    return _page(findings_of_joined(runs), ())


def with_published(page: Page, words: Sequence[str]) -> Page:
    """Return the page with published results beside its own: ``NAME``, ``NAME:THEIRS=MINE``.

    Raises UsageError or UnknownName for invalid words.
    """
    publications = [parse_choice(word) for word in words]
    comparisons = (
        compare_with_published(page.run, page.samples, page.analysis, page.links, publication)
        for publication in publications
    )
    return replace(page, published=tuple(it for comparison in comparisons for it in comparison))


def _page(findings: Findings, observations: tuple[Observation, ...]) -> Page:
    analysis, history = findings.analysis, findings.history
    levels = find_levels(findings.samples)
    context = report_context(
        findings.run,
        analysis,
        levels,
        order=findings.lineage.versions,
        arrows=arrows(history) if history else {},
    )
    alerts, notes = _alerts_and_notes(findings)
    winner, why_no_winner = _winner(findings)
    ceiling = _ceiling(findings, levels)
    server_parts = server_sections(context, observations)
    footnotes = (*notes, *unmeasured(findings.run, findings.samples, observations, server_parts))
    return Page(
        run=findings.run,
        samples=findings.samples,
        analysis=analysis,
        needs=findings.needs,
        levels=levels,
        headline=headline(findings),
        trust=findings.trust,
        overview=overview(findings, winner, len(told_together(footnotes)), ceiling),
        winner=winner,
        why_no_winner=why_no_winner,
        alerts=alerts,
        footnotes=footnotes,
        control_note=sections.control_note(context),
        method=sections.method_note(context),
        legend=legend(analysis, findings.run.controls),
        summary=sections.summary_table(context),
        seconds=seconds_table(context),
        in_sample=tuple(portion.in_sample for portion in context.portions),
        history=history,
        changes=changes_table(context, history) if history else None,
        step_tables=step_tables(context, history),
        sweeps=sweeps(context),
        sweep_note=sweep_note(context),
        metrics=sections.metrics_table(context),
        latencies=latencies(context),
        observations=observations,
        server_sections=server_parts,
        server_series_note=server_series_note(context, server_parts),
        builds=build_tables(context),
        differences=differences_table(context),
        settings=settings_table(context),
        defaults=defaults_table(context),
        shared_settings=shared_settings(context),
        published=(),
        subjects=sections.subject_table(context),
        ordered=context.subjects,
        environment=environment(findings),
        origins=findings.origins,
        links=findings.lineage.links,
        repeat=tuple(repeat(origin.run) for origin in findings.origins),
    )


def _alerts_and_notes(findings: Findings) -> tuple[tuple[Warning, ...], tuple[Warning, ...]]:
    """Return what stands before all else, and the other warnings."""
    alerts = tuple(warning for warning in findings.warnings if warning.code in CONTROL_CODES)
    notes = tuple(warning for warning in findings.warnings if warning.code not in CONTROL_CODES)
    return alerts, notes


def _ceiling(findings: Findings, levels: tuple[Level, ...]) -> float | None:
    """Return how much faster any build could be at most; None where builds are not the question."""
    run = findings.run
    built = [subject for subject in run.subjects if not subject.ready_made]
    if findings.history or run.base is None or run.base not in built:
        return None
    judged = judged_steps(findings.samples, run.base.name, run.steps)
    return overall_ceiling(levels, judged, run.base.name, run.machine.cores)


def _winner(findings: Findings) -> tuple[Subject | None, str]:
    """Return the winner, or None and why there is none."""
    run, trust = findings.run, findings.trust
    if findings.history:
        return None, "it is a history: it compares versions"
    best = findings.winner
    name = best.subject if best else next(iter(run.rejected), "")
    if name in run.rejected:
        return None, f"{name} was rejected, since {run.rejected[name]}"
    if not run.steps:
        ended = run.state is not RunState.RUNNING
        return None, f"{'it ended before anything' if ended else 'nothing'} was measured"
    if trust.grade is TrustGrade.NONE:
        return None, f"its figures are not to be trusted ({trust.reason})"
    if best is None:
        faster = joined([score.subject for score in findings.left_out])
        but = f" but {faster}, whose figures are not of the same work," if faster else ""
        return None, f"no candidate{but} was certainly faster than its base"
    return next(subject for subject in run.subjects if subject.name == name), ""


def tables(page: Page) -> tuple[Table, ...]:
    """Return a page's tables in the order in which they are shown.

    The many tables of single steps in other metrics than throughput are not among them. Tables
    beside published results were asked for: one without rows says why there is nothing beside.
    """
    shown = page.step_tables
    swept = (table for sweep in page.sweeps for table in (sweep.throughput, sweep.latency))
    every = (
        page.summary,
        page.search.waterfall if page.search else None,
        page.search.candidates if page.search else None,
        page.changes,
        page.seconds,
        *shown.groups.values(),
        *shown.spreads,
        *shown.statements,
        *swept,
        *shown.operations_by_group,
        page.metrics,
    )
    more = (
        *shown.steps,
        *page.latencies.values(),
        *page.builds,
        page.differences,
        page.settings,
        page.defaults,
        page.subjects,
    )
    return (*present(every), *page.published_tables, *present(more))
