"""What is searched for: a request, how it follows from what a user says, and its checks."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dbhone.compilation.distribution_rules import check_rules_known
from dbhone.dbms.base import Dbms, load_dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import UsageError
from dbhone.experiment.declaration.comparing import parse_side, split_variant
from dbhone.experiment.declaration.templates import DesignOptions, WorkloadOptions
from dbhone.experiment.plan.goals import foresee_dbms
from dbhone.source.kinds.base import kind_of, parse_reference
from dbhone.source.known_versions import KnownVersions
from dbhone.tuner.chain import search_name
from dbhone.tuner.inputs import Inputs
from dbhone.tuner.space import Candidate, find_space
from dbhone.verification.outcome import Grade
from dbhone.verification.verify import expected_seconds, usual_grade
from dbhone.workload import suite as suites
from dbhone.workload.task import Scale
from dbhone.workload.workload import Workload

_CONFIRMING_SHARE = 0.3
"""The share of the budget that is kept for the confirming run."""
_MEASURING_SHARE = 0.15
"""The share that this run has for measuring at least."""
_SERVER_BUDGET, _EMBEDDED_BUDGET = 2 * 3600.0, 15 * 60.0
_USUAL_BUILDS = 12
"""So many plain builds take as long as the usual budget at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is searched for: the best build of a source for a workload, within a budget.

    ``train`` are the sets to train on. ``design.budget`` is given. ``tolerated`` is the loss that a
    step may have, as a fraction. Builds are verified at the ``grade``. ``inputs`` are known as soon
    as the source is here. ``left_out`` has the reasons for what this machine cannot do just now:
    builds that are no candidates, and levers. All builds are by the rules of the ``packaging``.
    """

    dbms: Dbms
    source: str
    workload: WorkloadOptions
    train: tuple[str, ...]
    design: DesignOptions
    candidates: tuple[Candidate, ...]
    levers: tuple[str, ...]
    grade: Grade
    tolerated: float
    packaging: Literal["deb"] | None = None
    inputs: Inputs | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def available_levers(self) -> tuple[str, ...]:
        """The levers that are tried on the best build."""
        return tuple(word for word in self.levers if word not in self.left_out)

    @property
    def budget(self) -> float:
        """The seconds for everything."""
        assert self.design.budget is not None, "a search has a budget"
        return self.design.budget

    @property
    def name(self) -> str:
        """What is the same for searches of the same: their runs are one chain."""
        same = (
            *(self.dbms.name, self.source, self.workload, self.train, self.design),
            *(self.candidates, self.levers, self.grade, self.tolerated, self.inputs),
            *([self.packaging] if self.packaging else []),
        )
        return search_name(hashlib.sha256(repr(same).encode()).hexdigest()[:10])

    @property
    def reserve(self) -> float:
        """The seconds that the confirming run should have: to verify two builds, and to measure."""
        return max(
            _CONFIRMING_SHARE * self.budget, self._verifying + _MEASURING_SHARE * self.budget
        )

    @property
    def for_choosing(self) -> float:
        """The seconds of the first choosing run: half of a budget that is too small for all."""
        return max(self.budget - self.reserve, self.budget / 2)

    @property
    def _verifying(self) -> float:
        return expected_seconds(self.dbms.name, self.grade, builds=2)

    def budget_for(self, choosing: float) -> float:
        """Return the budget that has so many seconds for choosing, and the rest for confirming."""
        return max(
            choosing / (1 - _CONFIRMING_SHARE),
            (choosing + self._verifying) / (1 - _MEASURING_SHARE),
        )


def make_request(
    source: str,
    dbms: Dbms,
    *,
    workload: WorkloadOptions,
    train: tuple[str, ...],
    design: DesignOptions,
    variants: tuple[str, ...],
    compilers: tuple[str, ...],
    levers: tuple[str, ...],
    grade: Grade | None,
    tolerated: float,
    packaging: Literal["deb"] | None = None,
) -> Request:
    """Return the request for the reference of a source.

    What is empty or None is chosen by hone. Raises UsageError, UnknownName or ToolError for invalid
    input.
    """
    suite = workload.suite or dbms.usual_suite
    train = train or suites.load(suite).training
    if not train:
        raise UsageError(
            f"nothing says on which sets of {suite} builds are trained",
            hint="say it: --train SET; 'hone suites' lists the sets",
        )
    suites.full_names(suites.load(suite), train)
    cache_bytes = _cache_bytes(suite, workload.size)
    if packaging is not None:
        check_rules_known(dbms, packaging)
    space = find_space(
        dbms, variants, compilers, levers, cache_bytes=cache_bytes, packaging=packaging
    )
    return Request(
        dbms=dbms,
        source=source,
        workload=workload,
        train=train,
        design=dataclasses.replace(design, budget=design.budget or usual_budget(dbms)),
        candidates=space.candidates,
        levers=space.levers,
        grade=grade or usual_grade(dbms.name),
        tolerated=tolerated,
        packaging=packaging,
        left_out=space.left_out,
    )


def _cache_bytes(suite: str, size: str) -> int:
    """Return how large a server's cache will be, 0 for a size that drives none."""
    workload = Workload(name=suite, scale=Scale(size=size))
    return workload.cache_bytes if size in workload.suite.server_sizes else 0


def find_source(
    source: str, dbms: str | None, known: KnownVersions, recognise: Callable[[str], str]
) -> tuple[str, Dbms]:
    """Return the reference of a source that can be built, and which DBMS it is.

    ``source`` is a reference, the name of a package, or a DBMS; ``dbms`` is what the user says of
    it. ``recognise`` fetches a source whose reference does not tell the DBMS, and returns that.
    Raises UsageError, UnknownName.
    """
    side = parse_side(source, known)
    if side.variant.ready_made or kind_of(parse_reference(side.source).kind).ready_made:
        raise UsageError(
            f"{source} brings a ready-made server, which cannot be built in other ways",
            hint="give the source tree of your version: dir:PATH, or for example"
            " git:https://github.com/mysql/mysql-server@mysql-8.0.36",
        )
    plain, variant = split_variant(source)
    if variant is not None:
        raise UsageError(
            f"{source} names a variant, and only the source is named here",
            hint=f"say it apart: {plain} --variant {variant}",
        )
    name = dbms or side.dbms or foresee_dbms(side.source) or recognise(side.source)
    return side.source, load_dbms(name)


def usual_budget(dbms: Dbms) -> float:
    """Return the seconds that a search of a DBMS has if nobody says, in whole half hours."""
    least = _SERVER_BUDGET if isinstance(dbms, ServerDbms) else _EMBEDDED_BUDGET
    builds = _USUAL_BUILDS * dbms.build_seconds
    return least if builds <= least else 1800.0 * math.ceil(builds / 1800)
