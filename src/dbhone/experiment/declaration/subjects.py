"""The subjects of an experiment: what one takes over from another, and what its words mean."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

from dbhone import registry
from dbhone.compilation.inputs import BuildInputs, BuildKeys, check_profile_source, variant_of
from dbhone.compilation.spec import check_targets
from dbhone.compilation.toolchain import check_name
from dbhone.compilation.variant import Variant
from dbhone.dbms.base import DRAWER as DBMS_DRAWER
from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_server import server_systems
from dbhone.errors import ExperimentError, UnknownName
from dbhone.experiment.declaration.model import SubjectDeclaration
from dbhone.experiment.declaration.requested_settings import RequestedSettings
from dbhone.experiment.declaration.schema import ExperimentFile, Locator, SubjectSection
from dbhone.experiment.declaration.subject_names import fitting_name
from dbhone.experiment.declaration.trainings import Trainings
from dbhone.instance import applied_levers
from dbhone.measurement.record import Role
from dbhone.source.fixes import check_fix
from dbhone.workload.workload import Workload

CONTROL = "control"
"""The name of a control that hone adds."""
_LEAST = 2
"""How many subjects an experiment has at least: one has nothing to be compared with."""
OWN = frozenset({"like", "rebuild", "optional", "vary"})
"""What a subject does not take over from the one that it is like."""


class Subjects:
    """Reads the sections of an experiment's subjects; ``folder`` is that of its file."""

    def __init__(
        self,
        where: Locator,
        declared: ExperimentFile,
        workload: Workload,
        folder: Path,
    ) -> None:
        self._where = where
        self._declared = declared
        self._settings = RequestedSettings(declared.config, folder, where)
        self._trainings = Trainings(where, declared, workload, self._settings, folder)

    def all(self) -> tuple[SubjectDeclaration, ...]:
        """Return the subjects in the file's order. Raises ExperimentError, UnknownName.

        A control is added at the end if the file has none, unless it refuses one.
        """
        subjects = _with_controls(tuple(self._subject(name) for name in self._declared.subjects))
        if all(subject.training is None for subject in subjects):
            self._trainings.check()
        has_control = any(subject.role is Role.CONTROL for subject in subjects)
        if not has_control and self._declared.design.control:
            subjects = (*subjects, _control(subjects))
        return _in_layouts(subjects, self._declared.design.layouts)

    def _merged(self, name: str, seen: tuple[str, ...] = ()) -> SubjectSection:
        """Return the subject's section with what it takes over from the one it is like."""
        section = self._declared.subjects[name]
        if section.like is None:
            return section
        where = self._where.at("subjects", name)
        if section.like in (*seen, name):
            raise ExperimentError(f"{where}: 'like' forms a cycle")
        if section.like not in self._declared.subjects:
            raise UnknownName("subject", section.like, self._declared.subjects, where=where)
        model = self._merged(section.like, (*seen, name))
        inherited = model.model_dump(include=model.model_fields_set - OWN)
        own = section.model_dump(include=section.model_fields_set)
        return SubjectSection.model_validate(inherited | own)

    def _subject(self, name: str) -> SubjectDeclaration:
        section = self._merged(name)
        where = self._where.at("subjects", name)
        for key in ("dbms", "source"):
            if not getattr(section, key):
                raise ExperimentError(f"{where}: '{key}' is missing")
        sources, known = self._declared.sources, registry.names(DBMS_DRAWER)
        if section.source not in sources:
            raise UnknownName("source", section.source, sources, where=where)
        if section.dbms not in known:
            raise UnknownName("DBMS", section.dbms, known, where=where)
        reference = sources[section.source]
        variant = self._variant(name, section, reference)
        return SubjectDeclaration(
            name=name,
            role=Role.BASE if name == self._declared.base else Role.CANDIDATE,
            inputs=self._inputs(name, section, reference, variant),
            training=self._trainings.of(name, section, variant),
            optional=section.optional,
            levers=self._levers(name, section),
            settings=self._settings.of(name, section),
        )

    def _variant(self, name: str, section: SubjectSection, reference: str) -> Variant:
        """Return the variant; programs that somebody else has built have one only."""
        with self._where.located("subjects", name):
            variant = variant_of(reference, section.variant)
        if not variant.ready_made:
            return variant
        where = self._where.at("subjects", name)
        build_keys = section.model_fields_set & BuildKeys.model_fields.keys() - {"dbms"}
        for key in (*sorted(build_keys), "rebuild"):
            if getattr(section, key):
                raise ExperimentError(
                    f"{where}: '{key}' has no effect: a ready-made server is not compiled"
                )
        return variant

    def _inputs(
        self, name: str, section: SubjectSection, reference: str, variant: Variant
    ) -> BuildInputs:
        """Return what the subject is built of. What options mean, only the DBMS's recipe knows."""
        if section.options and not load_dbms(section.dbms).takes_options:
            where = self._where.at("subjects", name)
            raise ExperimentError(
                f"{where}: {section.dbms} takes no build options",
                hint="leave 'options' out",
            )
        with self._where.located("subjects", name):
            for fix in section.fixes:
                check_fix(fix)
            if not variant.ready_made:
                check_name(section.compiler)
        keys = section.model_dump(include=set(BuildKeys.model_fields))
        if variant.ready_made:
            keys["compiler"] = variant.name
        inputs = BuildInputs(
            **keys,
            source=reference,
            variant=variant,
            copy_number=int(section.rebuild),
            profile_source=self._profile_source(name, section, variant),
        )
        with self._where.located("subjects", name):
            check_targets(inputs)
        return inputs

    def _profile_source(self, name: str, section: SubjectSection, variant: Variant) -> str | None:
        """Return the reference of the source whose profile the subject's build takes."""
        named, sources = section.profile_source, self._declared.sources
        if named is None:
            return None
        if named not in sources:
            where = self._where.at("subjects", name)
            raise UnknownName("source", named, sources, where=where)
        with self._where.located("subjects", name):
            check_profile_source(variant, sources[named])
        return sources[named]

    def _levers(self, name: str, section: SubjectSection) -> tuple[str, ...]:
        """Return the levers of a subject; whether this machine has them is asked when it runs."""
        if section.levers and section.dbms not in server_systems():
            where = self._where.at("subjects", name)
            raise ExperimentError(f"{where}: {section.dbms} is not a server and has no levers")
        with self._where.located("subjects", name):
            return applied_levers.canonical(section.levers)


def _in_layouts(
    subjects: Sequence[SubjectDeclaration], layouts: int
) -> tuple[SubjectDeclaration, ...]:
    """Let each build have so many layouts for every subject of it, as far as it can have any."""
    return tuple(
        dataclasses.replace(
            subject, inputs=subject.inputs.model_copy(update={"layouts": layouts * sharing})
        )
        if _can_have_layouts(subject.inputs)
        else subject
        for subject in subjects
        for sharing in [sum(subject.is_built_like(other) for other in subjects)]
    )


def _can_have_layouts(inputs: BuildInputs) -> bool:
    """Return whether hone links the build, and nothing lays its code out afterwards."""
    return not (inputs.variant.ready_made or inputs.variant.post_link or inputs.packaging)


def with_varied(where: Locator, declared: ExperimentFile) -> ExperimentFile:
    """Return the file with the subjects that ``vary`` stands for: NAME-VALUE, with its setting.

    What no name may have becomes a hyphen, and a name that would be too long is shortened.
    Raises ExperimentError for a name that is taken, and if there are fewer than two.
    """
    subjects: dict[str, SubjectSection] = {}
    for name, section in declared.subjects.items():
        for values in itertools.product(*section.vary.values()):
            varied = (
                fitting_name(name, "".join(f"-{value}" for value in values)) if values else name
            )
            if varied in subjects or (values and varied in declared.subjects):
                raise ExperimentError(
                    f"{where.at('subjects', name)}: two subjects would be named {varied}"
                )
            settings = _settings_of(section, declared) | dict(
                zip(section.vary, values, strict=True)
            )
            changed = {"settings": settings, "vary": {}} if values else {}
            subjects[varied] = section.model_copy(update=changed)
    if len(subjects) < _LEAST:
        raise ExperimentError(f"{where.at('subjects')}: give {_LEAST} or more, not {len(subjects)}")
    return declared.model_copy(update={"subjects": subjects})


def _settings_of(section: SubjectSection, declared: ExperimentFile) -> dict[str, str]:
    """Return a subject's own settings, or those of the nearest that it is like."""
    for _ in declared.subjects:  # as many as there can be without a circle
        if section.like in declared.subjects and "settings" not in section.model_fields_set:
            section = declared.subjects[section.like]
    return section.settings


def _with_controls(subjects: tuple[SubjectDeclaration, ...]) -> tuple[SubjectDeclaration, ...]:
    """Give the role of control to each subject that is declared just as the base is."""
    base = _base(subjects)
    return tuple(
        dataclasses.replace(subject, role=Role.CONTROL)
        if subject is not base and _is_declared_alike(subject, base)
        else subject
        for subject in subjects
    )


def _control(subjects: Sequence[SubjectDeclaration]) -> SubjectDeclaration:
    """Return the base once more, under a name that no subject has."""
    taken = {subject.name for subject in subjects}
    numbered = (f"{CONTROL}-{number}" for number in itertools.count(2))
    free = (name for name in itertools.chain((CONTROL,), numbered) if name not in taken)
    return dataclasses.replace(_base(subjects), name=next(free), role=Role.CONTROL)


def _base(subjects: Sequence[SubjectDeclaration]) -> SubjectDeclaration:
    return next(subject for subject in subjects if subject.role is Role.BASE)


def _is_declared_alike(subject: SubjectDeclaration, other: SubjectDeclaration) -> bool:
    """Return whether nothing but a second build tells two subjects apart."""
    return (
        subject.inputs.model_copy(update={"copy_number": other.inputs.copy_number}) == other.inputs
        and subject.training == other.training
        and subject.runs_like(other)
    )
