"""An experiment out of what its file declares: defaults filled in, words understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from dbhone.dbms.base import load_dbms
from dbhone.errors import ExperimentError, UnknownName
from dbhone.experiment.declaration.interleaved_sets import why_not_interleaved
from dbhone.experiment.declaration.levers import cache_bytes
from dbhone.experiment.declaration.model import Experiment, Servers, Slices, SubjectDeclaration
from dbhone.experiment.declaration.observe import ObserveOptions, check_counters
from dbhone.experiment.declaration.schema import ExperimentFile, Locator, keys_of_data
from dbhone.experiment.declaration.subject_names import MOST_LETTERS
from dbhone.experiment.declaration.subjects import Subjects
from dbhone.experiment.declaration.trainings import suite_at
from dbhone.instance.memory import fit_together
from dbhone.measurement.record import Design, Role
from dbhone.source.kinds.base import parse_reference
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import lists_of
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import load_driver
from dbhone.workload.suite import Suite
from dbhone.workload.task import DATA_PATHS, Scale
from dbhone.workload.workload import Workload

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._+-]{{0,{MOST_LETTERS - 1}}}")

_OF_CAPTURED_DATA = frozenset({*DATA_PATHS, "database"})


class Resolver:
    """Fills in what a declaration leaves out and checks what its words mean."""

    def __init__(self, where: Locator, text: str, declared: ExperimentFile, folder: Path) -> None:
        self.name = where.name
        self.text = text
        self.declared = declared
        self.where = where
        self.folder = folder

    def experiment(self) -> Experiment:
        """Return the experiment, or raise ExperimentError or UnknownName."""
        self._check_names()
        suite = suite_at(self.where, self.declared.workload.suite, "workload", "suite")
        declared = self.declared.workload
        suites.check_size(suite, declared.size, where=self.where.at("workload", "size"))
        sets, scale = self._sets(suite), self._scale(suite)
        workload = Workload(name=declared.suite, scale=scale, sets=sets)
        with self.where.located("workload", "data"):
            workload.check_data()
        subjects = Subjects(self.where, self.declared, workload, self.folder).all()
        self._check_subjects(suite, subjects)
        if self.declared.history is not None:
            _check_order(self.declared.history.order, subjects, self.where.at("history", "order"))
        experiment = Experiment(
            name=self.name,
            text=self.text,
            title=self.declared.title,
            subjects=subjects,
            workload=workload,
            design=self._design(),
            drop_unknown=self.declared.config.drop_unknown,
            awake=self.declared.design.awake,
            slices=self.declared.design.slices,
            servers=self._servers(workload, subjects),
            placement=self.declared.design.placement,
            allot=self.declared.design.allot,
            stop_early=self.declared.design.stop_early,
            tolerance=self.declared.design.tolerance,
            layouts=self.declared.design.layouts,
            observe=self._observe(suite, subjects),
            verification=self._grade(subjects),
        )
        self._check_slices(experiment)
        return experiment

    def _sets(self, suite: Suite) -> tuple[str, ...] | None:
        sets = self.declared.workload.sets
        if sets is None:
            return None
        return suites.full_names(suite, sets, where=self.where.at("workload", "sets"))

    def _scale(self, suite: Suite) -> Scale:
        """Return the scale; what only a server's suite understands is refused for others."""
        workload = self.declared.workload
        given = workload.model_fields_set & {
            *("threads", "regime", "tables", "rows", "statements", "seconds", "cache")
        }
        data = keys_of_data(workload.data)
        for key in ("tables", "rows", "statements"):
            if key in given:
                data[key] = getattr(workload, key)
        refused = (given | data.keys()) - suite.adjustable - load_driver(suite.driver).data_keys
        if refused:
            key = min(refused)
            path = ("workload", key) if key in given else ("workload", "data")
            raise ExperimentError(
                f"{self.where.at(*path)}: the suite {workload.suite} has no '{key}'",
                hint="it is for a captured workload: suite = './shop.workload'"
                if key in _OF_CAPTURED_DATA
                else "it is for suites that drive a server",
            )
        fixed = given & {"threads", "tables", "seconds"}
        if fixed and suite.runs_to_the_end:
            key = min(fixed)
            raise ExperimentError(
                f"{self.where.at('workload', key)}: the suite {workload.suite} has no '{key}': it"
                " runs one statement to its end",
                hint="'rows' says how much there is to do",
            )
        if workload.seconds is not None and workload.seconds != int(workload.seconds):
            raise ExperimentError(
                f"{self.where.at('workload', 'seconds')}: the driver takes whole seconds only"
            )
        if workload.threads and len(set(workload.threads)) < len(workload.threads):
            raise ExperimentError(
                f"{self.where.at('workload', 'threads')}: a number of threads is named twice"
            )
        return Scale(
            size=workload.size,
            regime=workload.regime,
            threads=workload.threads,
            seconds=workload.seconds,
            cache_bytes=workload.cache,
            data=data,
        )

    def _servers(self, workload: Workload, subjects: tuple[SubjectDeclaration, ...]) -> Servers:
        """Return how many servers are up at once: all, unless the memory has no room for them."""
        wanted = self.declared.design.servers
        if not workload.suite.server_sizes:
            if wanted is Servers.ONE:
                where = self.where.at("design", "servers")
                raise ExperimentError(f"{where}: the suite {workload.name} drives no server")
            return Servers.ALL
        if wanted is not Servers.AUTO or workload.cold:
            return Servers.ONE if wanted is Servers.ONE else Servers.ALL
        caches = [cache_bytes(subject, workload, len(subjects)) for subject in subjects]
        return Servers.ALL if fit_together(caches) else Servers.ONE

    def _check_slices(self, experiment: Experiment) -> None:
        """Refuse short slices where one of the sets cannot be measured in them."""
        if experiment.slices is not Slices.SHORT:
            return
        driver = experiment.workload.driver
        for task in experiment.workload.tasks():
            reason = why_not_interleaved(driver, task, one_by_one=experiment.one_by_one)
            if reason is not None:
                raise ExperimentError(
                    f"{self.where.at('design', 'slices')}: {reason}",
                    hint="leave 'slices' out: slices are then short where that can be done",
                )

    def _observe(self, suite: Suite, subjects: tuple[SubjectDeclaration, ...]) -> ObserveOptions:
        """Return what is observed; counters that no server has by the DBMS alone are refused."""
        section = self.declared.observe
        if section.model_fields_set and not suite.server_sizes:
            raise ExperimentError(
                f"{self.where.at('observe')}: the suite {self.declared.workload.suite} drives no"
                " server, and only servers are observed"
            )
        systems = [load_dbms(subject.inputs.dbms) for subject in subjects]
        check_counters(section.counters, systems, where=self.where.at("observe", "counters"))
        return ObserveOptions(
            enabled=section.enabled, every=section.every, counters=tuple(section.counters)
        )

    def _grade(self, subjects: tuple[SubjectDeclaration, ...]) -> Grade | None:
        """Return the grade at which builds are verified; one without checks is refused."""
        grade = self.declared.verification.grade
        if grade is None:
            return None
        first, *others = {subject.inputs.dbms for subject in subjects}
        if others:
            raise ExperimentError(
                f"{self.where.at('verification', 'grade')}: a build is verified against the base,"
                " and only builds of one DBMS can be",
                hint="leave the grade out: the workload's answers are compared in any case",
            )
        with self.where.located("verification", "grade"):
            lists_of(first, grade)
        return grade

    def _check_names(self) -> None:
        names = self.declared.subjects
        for name in names:
            if not _NAME.fullmatch(name):
                raise ExperimentError(
                    f"{self.name}: '{name}' cannot be a subject's name",
                    hint=f"use up to {MOST_LETTERS} letters, digits, '.', '_', '+' and '-'",
                )
        if self.declared.base not in names:
            raise UnknownName("subject", self.declared.base, names, where=self.where.at("base"))
        for name, reference in self.declared.sources.items():
            with self.where.located("sources", name):
                parse_reference(reference)

    def _check_subjects(self, suite: Suite, subjects: tuple[SubjectDeclaration, ...]) -> None:
        base = next(subject for subject in subjects if subject.role is Role.BASE)
        if base.optional:
            raise ExperimentError(f"{self.name}: the base cannot be optional")
        for subject in subjects:
            dbms = load_dbms(subject.inputs.dbms)
            if dbms.interface not in suite.protocols:
                fitting = ", ".join(suites.for_interface(dbms.interface))
                raise ExperimentError(
                    f"{self.name}: the suite {self.declared.workload.suite} cannot drive"
                    f" {dbms.name}",
                    hint=f"it speaks {' and '.join(suite.protocols)}; what drives {dbms.name}:"
                    f" {fitting or 'no suite'}",
                )

    def _design(self) -> Design:
        design = self.declared.design
        if design.blocks.max < design.blocks.min:
            raise ExperimentError(
                f"{self.where.at('design', 'blocks')}: max ({design.blocks.max}) is less than"
                f" min ({design.blocks.min})"
            )
        return Design(
            seed=design.seed,
            target=design.target,
            budget_seconds=design.budget,
            min_blocks=design.blocks.min,
            max_blocks=design.blocks.max,
        )


def _check_order(order: Sequence[str], subjects: Sequence[SubjectDeclaration], where: str) -> None:
    """Refuse an invalid order: it begins with the base, and has each version once.

    Raises UnknownName or ExperimentError, told to be at ``where``.
    """
    versions = [subject.name for subject in subjects if subject.role is not Role.CONTROL]
    for name in order:
        if name not in versions:
            raise UnknownName("version", name, versions, where=where)
    if len(set(order)) < len(order):
        raise ExperimentError(f"{where}: a version is named twice")
    missing = [name for name in versions if name not in order]
    if missing:
        raise ExperimentError(
            f"{where}: {missing[0]} is missing",
            hint="name all subjects but the control, the oldest first",
        )
    base = next(subject.name for subject in subjects if subject.role is Role.BASE)
    if order[0] != base:
        raise ExperimentError(
            f"{where}: the oldest version, {order[0]}, has to be the base",
            hint=f'base = "{order[0]}"',
        )
