"""What a check of a build declares. It only returns data: the core runs and writes.

A check has lists of tests, and says to which grades each belongs. There are two kinds:
the DBMS's own regression tests, which know what to expect, and generated queries, whose answers are
compared with the base's.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from dbhone import registry
from dbhone.compilation.manifest import Build, Manifest
from dbhone.dbms.base import Dbms, load_dbms
from dbhone.dbms.base_protocol import Endpoint
from dbhone.requirements import Requirement
from dbhone.verification.outcome import Evidence, Grade, TestResult

DRAWER = "dbhone.verification.checks"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestList:
    """A list of tests, the grades that it belongs to, and about how long it takes on two cores."""

    __test__ = False  # pytest takes it for tests otherwise

    name: str
    grades: frozenset[Grade]
    seconds: float


class TestPrograms(Dbms):
    """The programs that test a DBMS, as something to build of the DBMS's own source tree.

    ``fixed`` programs are the same whatever the build is that they test: they are built once for a
    tree and its build options, as ``rel``. Others are built with the tested build's own flags and
    profile.
    """

    __test__ = False  # pytest takes it for tests otherwise

    fixed: ClassVar[bool]
    tested: str
    """The DBMS that they test."""
    build_share: ClassVar[float]
    """How long a build of them takes, as a share of a build of the DBMS."""

    def __init__(self) -> None:
        self.name = f"{self.tested}-tests"
        dbms = load_dbms(self.tested)
        self.title = f"the tests of {dbms.title}"
        self.reference = dbms.reference
        self.usual_suite = dbms.usual_suite
        self.build_seconds = self.build_share * dbms.build_seconds
        self.requirements = dbms.requirements
        self.takes_options = dbms.takes_options
        self.is_library = dbms.is_library
        self.needs_cxx = dbms.needs_cxx

    def version(self, tree: Path) -> str:
        """Return the version of the source tree."""
        return load_dbms(self.tested).version(tree)

    def required_programs(self, tree: Path) -> tuple[str, ...]:
        """Return what a build of the DBMS needs."""
        return load_dbms(self.tested).required_programs(tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestJob:
    """One run of a list of regression tests.

    ``tests`` is the build of the test programs or the tree of the packaged ones; ``tree`` the
    source tree, None where there is none. ``folder`` is empty, and the tests' to write to.
    ``names`` are the tests to run, all of the list if there are none. ``endpoint`` is given to
    those that need a server. ``jobs`` tests may run at once.
    """

    __test__ = False  # pytest takes it for tests otherwise

    build: Build
    tests: Path
    tree: Path | None
    folder: Path
    list: str
    names: tuple[str, ...]
    jobs: int
    endpoint: Endpoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCommand:
    """How a list is run, in ``cwd``, which is the job's folder if it is None.

    ``readable`` are files and folders that it reads besides the job's. ``links`` are made in the
    job's folder before, by their names, and before them ``copies``, to which it may write.
    """

    __test__ = False  # pytest takes it for tests otherwise

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()
    cwd: Path | None = None
    links: Mapping[str, Path] = field(default_factory=dict)
    copies: Mapping[str, Path] = field(default_factory=dict)


Read = Callable[[str], str]
"""Returns the text of a file in the job's folder, empty if it does not exist."""


class Check(ABC):
    """A way to tell whether a build of one of some DBMSs still answers right."""

    name: ClassVar[str]
    title: ClassVar[str]
    systems: ClassVar[frozenset[str]]
    evidence: ClassVar[Evidence]
    lists: ClassVar[tuple[TestList, ...]]
    requirements: ClassVar[tuple[Requirement, ...]] = ()
    """What must be installed for it, besides what a build requires."""


class RegressionTests(Check):
    """A DBMS's own regression tests."""

    server_settings: ClassVar[Mapping[str, str] | None] = None
    """Settings of the server that it needs running; None if it needs none."""

    def test_programs(self, dbms: str) -> TestPrograms | None:
        """Return what has to be built of the source tree of one of its systems, None if nothing."""
        del dbms
        return None

    def package(self, manifest: Manifest) -> str | None:
        """Return the source reference of packages that bring the tests, None if none do."""
        del manifest
        return None

    def has_test(self, tests: str, name: str, tree: Path | None) -> bool:
        """Return whether a list may have a test of this name, by the source tree if there is one.

        A check whose runner accepts any name in any of its lists need not know: a named test runs
        in the first list that may have it.
        """
        del tests, name, tree
        return True

    def alone(self, test: str) -> str | None:
        """Return the name by which a test is run without the others of its list.

        None if it needs those before it, as most lists' tests do.
        """
        del test
        return None

    @abstractmethod
    def command(self, job: TestJob) -> TestCommand:
        """Return how to run a list."""

    @abstractmethod
    def results(self, printed: str, read: Read) -> tuple[TestResult, ...]:
        """Return the results in what it printed and in the files that it left."""

    @abstractmethod
    def came_to_end(self, printed: str) -> bool:
        """Return whether it says in what it printed that it has come to the end of the list.

        The exit code does not tell: it is that of tests that failed, too.
        """


class GeneratedQueries(Check):
    """Random queries about the tables of a schema, whose answers are compared with the base's."""

    schema: ClassVar[str]
    """Statements with semicolons between them; the last prepares a client to ask."""
    server_settings: ClassVar[Mapping[str, str]]
    undecided: ClassVar[re.Pattern[str]]
    """What an error says that depends on time or memory, and so tells nothing."""

    @abstractmethod
    def generator(self, endpoint: Endpoint, seed: int, count: int) -> tuple[str, ...]:
        """Return the command line that prints this many queries for a server with the schema."""

    @abstractmethod
    def queries(self, printed: str) -> tuple[str, ...]:
        """Return the queries in what the generator printed."""

    @abstractmethod
    def digesting(self, query: str) -> str:
        """Return a query for the number of a query's rows and a digest of them."""


def checks_for(dbms: str) -> tuple[Check, ...]:
    """Return the checks of a DBMS's builds."""
    known = registry.load_all(DRAWER, Check, what="check")
    return tuple(check for check in known.values() if dbms in check.systems)
