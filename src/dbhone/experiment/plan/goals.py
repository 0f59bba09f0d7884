"""What this machine must have for an experiment, a build or a DBMS; told before anything begins.

Nothing is fetched to find it out. Where a source's version is not known yet, the parts that only
some versions require are not demanded, but they are installed together with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbhone import registry
from dbhone.compilation import bolt, layouts
from dbhone.compilation.inputs import USUAL_COMPILER, BuildInputs
from dbhone.compilation.toolchain import check_name
from dbhone.compilation.toolchain import requirements_of as compiler_requirements
from dbhone.dbms.base import DRAWER, Dbms, load_dbms, system_names
from dbhone.errors import UnknownName
from dbhone.experiment.declaration.model import Experiment
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.process import can_enclose
from dbhone.requirements import SANDBOX, Missing, Requirement, RequirementKind, missing
from dbhone.sandbox import is_waived
from dbhone.source.kinds.base import SourceKind, folder_of, kind_of, parse_reference, source_kinds
from dbhone.source.recognise import recognise
from dbhone.verification.checks.base import checks_for
from dbhone.verification.verify import requirements_of_checks
from dbhone.versions import ALWAYS
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import ServerDriver, load_driver

CLANG, BOLT = "clang", "bolt"
"""The goals by which more variants can be built."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """Something that one can do with hone, and all that this machine lacks for it.

    ``needed`` is what it cannot do without; ``of_versions`` is required by some versions only, and
    ``of_verifying`` by checks of a build that is made.
    """

    name: str
    title: str
    needed: Missing
    of_versions: Missing
    of_verifying: Missing

    @property
    def ready(self) -> bool:
        """Whether it can be done here."""
        return not self.needed

    @property
    def missing(self) -> Missing:
        """All that is missing."""
        return together((self.needed, self.of_versions, self.of_verifying))

    def describe(self) -> str:
        """Return whether it can be done here, such as "ready" or "needs 1 package (bison)"."""
        if not self.ready:
            return f"needs {self.missing.describe()}"
        if not self.missing:
            return "ready"
        if not self.of_versions:
            return f"ready; verifying needs {self.missing.describe()}"
        who = "some versions and verifying" if self.of_verifying else "some versions"
        return f"ready; {who} need {self.missing.describe()}"


def _goal(
    name: str,
    title: str,
    requirements: Iterable[Requirement],
    verifying: Iterable[Requirement] = (),
) -> Goal:
    needs = tuple(requirements)
    return Goal(
        name=name,
        title=title,
        needed=missing(need for need in needs if need.versions == ALWAYS),
        of_versions=missing(need for need in needs if need.versions != ALWAYS),
        of_verifying=missing(verifying),
    )


def goals(names: Iterable[str] = ()) -> tuple[Goal, ...]:
    """Return the goals with these names, in their order, or all. Raises UnknownName."""
    makers = _goal_makers()
    wanted = tuple(dict.fromkeys(names)) or tuple(makers)
    for name in wanted:
        if name not in makers:
            raise UnknownName("goal", name, makers)
    return tuple(makers[name]() for name in wanted)


def goal_names() -> tuple[str, ...]:
    """Return the names of all goals."""
    return tuple(_goal_makers())


def together(missing_parts: Iterable[Missing]) -> Missing:
    """Return all that is missing for several goals, each once."""
    needs = dict.fromkeys(need for part in missing_parts for need in part.requirements)
    return Missing(requirements=tuple(needs))


def missing_for(experiment: Experiment, estimator: BuildEstimator) -> Missing:
    """Return what is missing for an experiment's subjects, those apart that are optional."""
    inputs = [subject.inputs for subject in experiment.subjects if not subject.optional]
    lacking = _missing(inputs, estimator, experiment.workload.name)
    others = list[Requirement]()
    if any(workload.scale.paths for workload in experiment.workloads) and not is_waived():
        others.append(SANDBOX)
    if experiment.verification is not None:
        others += requirements_of_checks(experiment.base.inputs.dbms, experiment.verification)
    return together((lacking, missing(others)))


def missing_for_build(inputs: BuildInputs, estimator: BuildEstimator, suite: str | None) -> Missing:
    """Return what is missing to make a build, and to drive it by a suite if one is given."""
    return _missing([inputs], estimator, suite)


def foresee_dbms(reference: str) -> str | None:
    """Return which DBMS a source is, as far as that is known before it is fetched.

    A folder is looked at. Of other sources the last part counts, and of several names in it the
    longest: ``git:…/percona-server`` is Percona Server. Raises SourceError for a folder that
    holds the source of no DBMS that hone knows.
    """
    folder = folder_of(reference)
    if folder is not None:
        return recognise(folder, reference)
    last = Path(parse_reference(reference).location).name.lower()
    names = [name for name in system_names() if name in last]
    return max(names, key=len, default=None)


def _goal_makers() -> dict[str, Callable[[], Goal]]:
    systems = registry.load_all(DRAWER, Dbms, what="DBMS")
    makers: dict[str, Callable[[], Goal]] = {
        name: partial(_goal_of_dbms, dbms) for name, dbms in systems.items()
    }
    makers |= {CLANG: _goal_of_clang, BOLT: _goal_of_bolt}
    for name, kind in source_kinds().items():
        if kind.requirements:
            makers[name] = partial(_goal_of_kind, name, kind)
    return makers


def _goal_of_dbms(dbms: Dbms) -> Goal:
    """Return the goal to build any version by gcc, and to measure it."""
    kind = kind_of(parse_reference(dbms.reference).kind)
    driver = _driver_requirements(dbms.usual_suite)
    needs = (
        *compiler_requirements(USUAL_COMPILER, cxx=dbms.needs_cxx),
        *dbms.requirements,
        *(() if kind.ready_made else kind.requirements),
        *((*driver, SANDBOX) if driver else ()),
    )
    checks = (need for check in checks_for(dbms.name) for need in check.requirements)
    return _goal(dbms.name, f"build and measure {dbms.title}", needs, (SANDBOX, *checks))


def _goal_of_clang() -> Goal:
    needs = compiler_requirements(CLANG, cxx=True)
    return _goal(CLANG, "build with clang, too", needs)


def _goal_of_bolt() -> Goal:
    return _goal(BOLT, "rearrange linked code with BOLT, too", bolt.requirements())


def _goal_of_kind(name: str, kind: SourceKind) -> Goal:
    what = "ready-made servers" if kind.ready_made else "sources"
    return _goal(name, f"fetch {what} ({kind.syntax})", kind.requirements)


def _missing(
    builds: Iterable[BuildInputs], estimator: BuildEstimator, suite: str | None
) -> Missing:
    """Return what is missing to make the builds, and to drive them by a suite if one is given.

    What only some versions require is missing together with other things only, where the version
    is not known: the user then need not be asked twice.
    """
    certain, possible = list[Requirement](), list[Requirement]()
    for inputs in dict.fromkeys(one for own in builds for one in (own, own.trained)):
        version = estimator.version(inputs)
        for need in _requirements_of(inputs, is_kept=estimator.is_kept(inputs.source)):
            if version and not need.versions.holds(version):
                continue
            (certain if version or need.versions == ALWAYS else possible).append(need)
    certain += _driver_requirements(suite) if suite is not None else ()
    lacking = missing(certain)
    return missing((*certain, *possible)) if lacking else lacking


def _requirements_of(inputs: BuildInputs, *, is_kept: bool) -> Iterator[Requirement]:
    kind = kind_of(parse_reference(inputs.source).kind)
    if not is_kept:
        yield from kind.requirements
    if not (kind.trusted or is_waived() or can_enclose()):
        yield SANDBOX
    if inputs.variant.ready_made:
        return
    dbms = load_dbms(inputs.dbms)
    yield from compiler_requirements(inputs.compiler, cxx=dbms.needs_cxx)
    if inputs.layouts and inputs.linker is None:
        yield from layouts.requirements(check_name(inputs.compiler))
    for need in dbms.requirements:
        # An option may name a library that lies where no compiler looks by itself.
        if not (inputs.options and need.kind is RequirementKind.HEADER):
            yield need


def _driver_requirements(suite: str) -> tuple[Requirement, ...]:
    """Return the program that drives servers; drivers of embedded systems come with the builds."""
    driver = load_driver(suites.load(suite).driver)
    return (driver.requirement,) if isinstance(driver, ServerDriver) else ()
