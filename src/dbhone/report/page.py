"""The one view model: what a report says, before any format says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbhone.analysis.ceiling import overall_ceiling
from dbhone.analysis.history import History
from dbhone.analysis.indirect import Links
from dbhone.analysis.judged_steps import judged_steps
from dbhone.analysis.levels import Level, find_levels
from dbhone.analysis.sample_size import SampleSize
from dbhone.analysis.severity import CONTROL_CODES
from dbhone.analysis.trust import Trust, TrustGrade
from dbhone.analysis.verdict import Analysis, Summary, overall
from dbhone.measurement.record import Run, RunState, Subject, Warning
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.series import Observation
from dbhone.report import run_tables
from dbhone.report.context import ReportContext, report_context
from dbhone.report.findings import Findings, Origin, findings_of, findings_of_joined, unmeasured
from dbhone.report.headline import headline
from dbhone.report.history import arrows
from dbhone.report.overview import overview
from dbhone.report.publication import parse_choice
from dbhone.report.published_comparison import PublishedComparison, compare_with_published
from dbhone.report.reproduction import Repeat, environment, repeat
from dbhone.report.search import Search
from dbhone.report.server_series import ServerSection, server_sections
from dbhone.report.settings import shared_settings
from dbhone.report.table import Table
from dbhone.report.wording import format_ratio, joined, legend, told_together


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything that a report shows; ``sections`` makes its tables, of the ``context``.

    ``alerts`` stand before all else, ``footnotes`` after the tables; ``legend`` is empty if
    there is no figure. ``history`` is None if the run is none, ``winner`` if there is none;
    ``why_no_winner`` is the reason then.

    ``needs`` is what the run lacks for verdicts, and for the precision that was wanted.
    ``published`` are published results that were asked for.

    What only a run of servers has is empty or None elsewhere: ``observations`` (what was observed
    while they were measured), ``server_sections`` (its median series on some steps), ``method``,
    ``shared_settings``.
    ``trust`` is how far the verdicts can be trusted; ``overview`` says so in words, after what was
    compared and what moved most: names of questions with their answers, none without a base.
    ``levels`` are all absolute figures, ``samples`` the single ones that everything was made of,
    ``links`` those of joined runs. ``search`` is the one whose winner the run measured, if any.
    """

    context: ReportContext
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
    observations: tuple[Observation, ...]
    server_sections: tuple[ServerSection, ...]
    shared_settings: tuple[tuple[str, str], ...]
    published: tuple[PublishedComparison, ...]
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
    def title(self) -> str:
        """The run's title with its number, or those of the runs that it joins."""
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
        """The numbers of the runs that the page is of, as a command takes them."""
        return " ".join(str(origin.run.id) for origin in self.origins)

    @property
    def winner_title(self) -> str:
        """The winner's name with the levers that it won with; empty without a winner."""
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
        context=context,
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
        control_note=run_tables.control_note(context),
        method=run_tables.method_note(context),
        legend=legend(analysis, findings.run.controls),
        summary=run_tables.summary_table(context),
        history=history,
        observations=observations,
        server_sections=server_parts,
        shared_settings=shared_settings(context),
        published=(),
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
    run, base = findings.run, findings.run.base
    if findings.history or base is None or base.ready_made:
        return None
    if any(
        (subject.source_digest, subject.settings, subject.levers)
        != (base.source_digest, base.settings, base.levers)
        for subject in run.subjects
    ):
        return None
    judged = judged_steps(findings.samples, base.name, run.steps)
    return overall_ceiling(levels, judged, base.name, run.machine.cores)


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
