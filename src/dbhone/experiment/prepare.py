"""Prepares what is measured: which subjects can take part, their sources and their builds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbhone.compilation import toolchain
from dbhone.compilation.feature_probe import try_variant
from dbhone.compilation.timings import timings
from dbhone.errors import HoneError, ToolError, UsageError
from dbhone.experiment.builds import BuildResult, BuildService
from dbhone.experiment.estimates import BuildEstimator
from dbhone.experiment.events import Stage
from dbhone.experiment.levers import lacking
from dbhone.experiment.model import Experiment, SubjectDeclaration
from dbhone.experiment.plan import leaves_time
from dbhone.experiment.recorder import RunRecorder
from dbhone.experiment.speed_factor import Pace
from dbhone.measurement.record import IDENTICAL, Role, Run, Subject
from dbhone.source.tree import kept_tree

_LEFT_OUT = "left-out"
_LOW_COVERAGE = 0.02


class Preparation:
    """Makes the products of an experiment, one for each subject that takes part."""

    def __init__(
        self, experiment: Experiment, run: Run, workshop: BuildService, journal: RunRecorder
    ) -> None:
        self._experiment = experiment
        self._run = run
        self._workshop = workshop
        self._journal = journal
        self._prospect = BuildEstimator(workshop.session.home)
        # How far a guess is off says nothing of what a build here took before.
        self._paces = {guessed: Pace() for guessed in (False, True)}

    def products(self) -> dict[str, BuildResult]:
        """Return the products by subject, in the experiment's order; the base is among them.

        Raises ToolError if a subject that is not optional cannot be built here, MachineError if
        this machine lacks one of its levers, and what fetching, building and training raise.
        """
        present = self._present()
        self._fetch(present)
        products = self._produce(present)
        self._note_identical(products)
        return products

    def _present(self) -> tuple[SubjectDeclaration, ...]:
        absent: dict[str, str] = {}
        stay_out = self._stay_out()
        candidates = [each for each in self._experiment.subjects if each.name not in stay_out]
        for each in candidates:
            error = self._absence(each)
            if error is None:
                continue
            reason = error.message
            if not each.optional:
                raise type(error)(f"{each.name}: {reason}", hint=error.hint)
            absent[each.name] = reason
            self._journal.warn(_LEFT_OUT, f"{each.name} was left out: {reason}", subject=each.name)
        if absent:
            reasons = "; ".join(dict.fromkeys(absent.values()))
            self._journal.note(f"left out: {', '.join(absent)} ({reasons})")
        return tuple(each for each in candidates if each.name not in absent)

    def _stay_out(self) -> frozenset[str | None]:
        """Return the subjects that no block may have, since those that are measured have not."""
        measured = self._measured()
        out = {each.subject for each in self._run.warnings if each.code == _LEFT_OUT}
        return frozenset(out - measured) if measured else frozenset()

    def _measured(self) -> frozenset[str]:
        """Return the subjects that blocks have already: the others shall have them, too."""
        return frozenset(each.subject for each in self._journal.store.done(self._run.id))

    def _absence(self, each: SubjectDeclaration) -> HoneError | None:
        """Return the error that tells why a subject cannot take part here, None if it can."""
        reason = self._not_built(each)
        if reason is not None:
            return ToolError(reason, hint="'hone doctor' tells what to do")
        if not each.levers:
            return None
        return lacking(self._experiment, each, self._prospect.version(each.inputs))

    def _not_built(self, each: SubjectDeclaration) -> str | None:
        """Say why a subject cannot be built here, None if it can: its variant is tried."""
        if each.inputs.variant.ready_made:
            return None
        if not toolchain.installed(each.inputs.compiler):
            return f"the compiler {each.inputs.compiler} is not installed"
        compiler = self._workshop.compiler(each.inputs.compiler)
        trial = try_variant(compiler, each.inputs.variant.name, self._workshop.session)
        return None if trial.works else trial.reason

    def _fetch(self, present: tuple[SubjectDeclaration, ...]) -> None:
        """Get the sources; a run that goes on gets those that it began with."""
        home = self._workshop.session.home
        began_with = {each.name: each.source_digest for each in self._run.subjects}
        # A subject with fixes was built of another tree than its source.
        recorded = {
            each.inputs.source: began_with[each.name]
            for each in present
            if each.name in began_with and not each.inputs.fixes
        }
        references = tuple(dict.fromkeys(each.inputs.source for each in present))
        for number, reference in enumerate(references, 1):
            kept = self._prospect.is_kept(reference)
            began = self._journal.began(Stage.SOURCE, reference, number, len(references))
            earlier = kept_tree(recorded.get(reference, ""), home)
            if earlier is not None:
                self._workshop.keep_to(reference, earlier)
            tree = self._workshop.tree(reference)
            if tree.digest != recorded.get(reference, tree.digest):
                raise UsageError(
                    f"{reference} is no longer what it was when run {self._run.id} began",
                    hint="begin a new run",
                )
            self._journal.ended(Stage.SOURCE, tree.resolved, began, reused=kept)

    def _produce(self, present: tuple[SubjectDeclaration, ...]) -> dict[str, BuildResult]:
        broken = {each.name: each.broken for each in self._run.subjects if each.broken}
        measured = self._measured()
        products: dict[str, BuildResult] = {}
        for number, each in enumerate(present, 1):
            if each.name in broken:
                self._journal.note(f"{each.name} broke before: {broken[each.name]}")
                continue
            label = each.label
            expected, pace = self._expected(each)
            if each.optional and each.name not in measured and not self._time_allows(expected):
                text = f"{each.name} was left out: building it would leave too little of the budget"
                self._journal.warn(_LEFT_OUT, f"{text} for measuring", subject=each.name)
                self._journal.note(f"{text} for measuring")
                continue
            began = self._journal.began(Stage.BUILD, label, number, len(present), expected)
            product = self._workshop.produce(each.inputs, each.training)
            products[each.name] = product
            self._journal.withdraw(_LEFT_OUT, each.name)
            pace.learn(expected, self._journal.clock() - began)
            described = describe(each, product, self._recorded(each.name))
            self._journal.describe(self._experiment.subjects.index(each), described)
            note = self._profile_note(each, product)
            self._journal.ended(Stage.BUILD, label, began, reused=product.reused, note=note)
            self._journal.tick()
        return products

    def _recorded(self, subject: str) -> Ran:
        """Return how a subject's server ran when the run began, nothing before that is known."""
        known = (each for each in self._run.subjects if each.name == subject)
        return next((Ran(settings=each.settings, defaults=each.defaults) for each in known), Ran())

    def _expected(self, each: SubjectDeclaration) -> tuple[float, Pace]:
        """Return about how many seconds a build takes, and the pace that this is reckoned with."""
        outlooks = [
            self._prospect.build(each.inputs, pass_) for pass_ in each.inputs.variant.passes()
        ]
        pace = self._paces[any(outlook.guessed for outlook in outlooks)]
        return pace.factor * sum(outlook.expected for outlook in outlooks), pace

    def _time_allows(self, seconds: float) -> bool:
        return leaves_time(self._journal.left(), seconds, self._experiment.design.budget_seconds)

    def _profile_note(self, each: SubjectDeclaration, product: BuildResult) -> str:
        use = product.build.manifest.profile
        if use is None:
            return ""
        covered = f"{use.functions_executed} of {use.functions} functions"
        if use.coverage < _LOW_COVERAGE:
            text = f"{each.name}: the training reached only {covered}"
            self._journal.warn("low-coverage", text, subject=each.name)
        if use.units_without_profile:
            self._journal.warn(
                "units-without-profile",
                f"{each.name}: {use.units_without_profile} of {use.units} files that were compiled"
                " had no profile, because the training never entered them",
                subject=each.name,
            )
        rounds = f" in {use.training_rounds} rounds" if use.training_rounds > 1 else ""
        return f"trained {use.training_seconds:.1f} s{rounds}, reached {covered}"

    def _note_identical(self, products: dict[str, BuildResult]) -> None:
        """A candidate that is byte for byte the base needs a word, or it puzzles the reader.

        With levers or settings of its own nobody expects it to be another build.
        """
        base = _binary(products[self._experiment.base.name])
        for each in self._experiment.subjects:
            product = products.get(each.name)
            alike = each.runs_like(self._experiment.base)
            candidate = product is not None and each.role is Role.CANDIDATE
            if candidate and alike and product is not None and _binary(product) == base:
                text = f"{each.name} is byte for byte the same as the base"
                self._journal.warn(IDENTICAL, text, subject=each.name)


def _binary(product: BuildResult) -> str:
    manifest = product.build.manifest
    return manifest.files[manifest.primary].sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a subject's server runs, as far as that does not depend on where: nothing if it is none.

    ``defaults`` has what it takes by itself for what is not among the ``settings``.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


def describe(
    each: SubjectDeclaration, product: BuildResult, ran: Ran, *, broken: str | None = None
) -> Subject:
    """Return the record of a subject with its build; ``broken`` says why it takes no part."""
    manifest = product.build.manifest
    use = manifest.profile
    return Subject(
        name=each.name,
        role=each.role,
        dbms=each.inputs.dbms,
        version=manifest.version,
        source=product.tree.resolved,
        source_digest=manifest.source_digest,
        variant=manifest.variant,
        compiler=product.build.told_compiler,
        flags=product.build.told_flags,
        build_digest=manifest.digest,
        build_path=str(product.build.path(manifest.primary)),
        build_seconds=manifest.seconds,
        binary_bytes=product.build.binary_bytes,
        trained_on=use.trained_on if use else (),
        training_seconds=use.training_seconds if use else None,
        profile_coverage=use.coverage if use else None,
        broken=broken,
        settings=dict(ran.settings),
        defaults=dict(ran.defaults),
        levers=each.levers,
        timings=None if manifest.family is None else timings(product.build),
    )
