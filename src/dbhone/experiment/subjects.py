"""The subjects of an experiment: what one takes over from another, and what its words mean."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

from dbhone import registry
from dbhone.compilation.inputs import BuildInputs, BuildKeys
from dbhone.compilation.toolchain import check_name
from dbhone.compilation.variant import Variant, parse_variant
from dbhone.dbms.base import DRAWER as DBMS_DRAWER
from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_server import server_systems
from dbhone.errors import ExperimentError, UnknownName
from dbhone.experiment.locator import Locator
from dbhone.experiment.model import SubjectDeclaration
from dbhone.experiment.requested_settings import AskedSettings
from dbhone.experiment.schema import ExperimentFile, SubjectSection
from dbhone.experiment.templates import CONTROL
from dbhone.experiment.training_sets import TrainingSets
from dbhone.instance import applied_levers
from dbhone.measurement.record import READY_MADE, Role
from dbhone.source.fixes import check_fix
from dbhone.source.reference import kind_of, parse_reference
from dbhone.workload.suite import Suite
from dbhone.workload.task import Scale

_OWN = frozenset({"like", "rebuild", "optional"})
"""What a subject does not take over from the one that it is like."""
_DEFAULT_VARIANT = "rel"


class Subjects:
    """Reads the sections of an experiment's subjects; ``folder`` is that of its file."""

    def __init__(
        self,
        where: Locator,
        declared: ExperimentFile,
        suite: Suite,
        scale: Scale,
        folder: Path,
    ) -> None:
        self.where = where
        self.declared = declared
        self._asked = AskedSettings(declared.config, folder, where.at)
        self._training = TrainingSets(where, declared, suite, scale)

    def all(self) -> tuple[SubjectDeclaration, ...]:
        """Return the subjects in the file's order. Raises ExperimentError, UnknownName.

        The base once more stands behind them if none of them is that, unless it is refused.
        """
        found = _with_controls(tuple(self._subject(name) for name in self.declared.subjects))
        if not self.declared.design.control or any(each.role is Role.CONTROL for each in found):
            return found
        return (*found, _control(found))

    def _merged(self, name: str, seen: tuple[str, ...] = ()) -> SubjectSection:
        """Return the subject's section with what it takes over from the one it is like."""
        section = self.declared.subjects[name]
        if section.like is None:
            return section
        if section.like in (*seen, name):
            raise ExperimentError(f"{self.where.at('subjects', name)}: 'like' goes in a circle")
        if section.like not in self.declared.subjects:
            raise UnknownName(
                "subject",
                section.like,
                self.declared.subjects,
                where=self.where.at("subjects", name),
            )
        model = self._merged(section.like, (*seen, name))
        inherited = model.model_dump(include=model.model_fields_set - _OWN)
        own = section.model_dump(include=section.model_fields_set)
        return SubjectSection.model_validate(inherited | own)

    def _subject(self, name: str) -> SubjectDeclaration:
        section = self._merged(name)
        dbms = self._required(name, "dbms", section.dbms)
        source = self._required(name, "source", section.source)
        if source not in self.declared.sources:
            raise UnknownName(
                "source", source, self.declared.sources, where=self.where.at("subjects", name)
            )
        known = registry.names(DBMS_DRAWER)
        if dbms not in known:
            raise UnknownName("DBMS", dbms, known, where=self.where.at("subjects", name))
        reference = self.declared.sources[source]
        variant = self._variant(name, section, reference)
        return SubjectDeclaration(
            name=name,
            role=Role.BASE if name == self.declared.base else Role.CANDIDATE,
            inputs=self._inputs(name, section, reference, variant),
            training=self._training.of(name, section, variant),
            optional=section.optional,
            levers=self._levers(name, dbms, section),
            settings=self._asked.of(name, load_dbms(dbms), section.settings),
        )

    def _inputs(
        self, name: str, section: SubjectSection, reference: str, variant: Variant
    ) -> BuildInputs:
        """Return what the subject is built of. What options mean, only the DBMS's recipe knows."""
        if section.options and not load_dbms(section.dbms).takes_options:
            raise ExperimentError(
                f"{self.where.at('subjects', name)}: {section.dbms} is built without options of"
                " yours",
                hint="leave 'options' out",
            )
        for fix in section.fixes:
            self.where.meant(check_fix, fix, "subjects", name)
        if not variant.ready_made:
            self.where.meant(check_name, section.compiler, "subjects", name)
        keys = section.model_dump(include=set(BuildKeys.model_fields))
        if variant.ready_made:
            keys["compiler"] = variant.name
        copy_number = int(section.rebuild)
        return BuildInputs(**keys, source=reference, variant=variant, copy_number=copy_number)

    def _variant(self, name: str, section: SubjectSection, reference: str) -> Variant:
        """Return the variant; programs that somebody else has built have one only."""
        brings_programs = kind_of(parse_reference(reference).kind).ready_made
        default = READY_MADE if brings_programs else _DEFAULT_VARIANT
        variant = self.where.meant(parse_variant, section.variant or default, "subjects", name)
        where = self.where.at("subjects", name)
        if brings_programs and not variant.ready_made:
            raise ExperimentError(
                f"{where}: {reference} brings a ready-made server, which cannot be built as"
                f" {variant.name}",
                hint="leave 'variant' out, or name a source that brings the server's source",
            )
        if not variant.ready_made:
            return variant
        build_keys = section.model_fields_set & BuildKeys.model_fields.keys() - {"dbms"}
        for key in (*sorted(build_keys), "rebuild"):
            if getattr(section, key):
                raise ExperimentError(
                    f"{where}: '{key}' means nothing: a ready-made server is not built"
                )
        return variant

    def _levers(self, name: str, dbms: str, section: SubjectSection) -> tuple[str, ...]:
        """Return the levers of a subject; whether this machine has them is asked when it runs."""
        if section.levers and dbms not in server_systems():
            where = self.where.at("subjects", name)
            raise ExperimentError(f"{where}: {dbms} is no server and has no levers")
        return self.where.meant(applied_levers.canonical, section.levers, "subjects", name)

    def _required(self, name: str, key: str, value: str) -> str:
        if not value:
            raise ExperimentError(f"{self.where.at('subjects', name)}: '{key}' is missing")
        return value


def _with_controls(subjects: tuple[SubjectDeclaration, ...]) -> tuple[SubjectDeclaration, ...]:
    """Give the role of control to whatever is declared just as the base is."""
    base = next(each for each in subjects if each.role is Role.BASE)
    return tuple(
        dataclasses.replace(each, role=Role.CONTROL)
        if each is not base and _is_declared_alike(each, base)
        else each
        for each in subjects
    )


def _control(subjects: Sequence[SubjectDeclaration]) -> SubjectDeclaration:
    """Return the base once more, under a name that no subject has."""
    base = next(each for each in subjects if each.role is Role.BASE)
    taken = {each.name for each in subjects}
    others = (f"{CONTROL}-{number}" for number in itertools.count(2))
    name = next(each for each in itertools.chain((CONTROL,), others) if each not in taken)
    return dataclasses.replace(base, name=name, role=Role.CONTROL)


def _is_declared_alike(subject: SubjectDeclaration, other: SubjectDeclaration) -> bool:
    """Return whether nothing but a second build tells two subjects apart."""
    return (
        subject.inputs.model_copy(update={"copy_number": other.inputs.copy_number}) == other.inputs
        and subject.training == other.training
        and subject.runs_like(other)
    )
