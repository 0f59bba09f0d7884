"""What checks need to work: a session, the host to themselves, servers, and programs that test.

What has to be compiled or fetched for tests is brought once for each source tree and kept, compiled
programs as builds, packages as source trees.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbhone.compilation import builder, kept_builds
from dbhone.compilation.inputs import USUAL_COMPILER, BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import find_used
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.toolchain import find_compiler, installed
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import USUAL, parse_variant
from dbhone.dbms.base_server import load_server_dbms
from dbhone.errors import MachineError, ToolError, UsageError
from dbhone.instance import data
from dbhone.instance.place import opened_place
from dbhone.instance.programs import installation_of, prepared_environment
from dbhone.instance.server import Server
from dbhone.process import why_not_enclosed
from dbhone.requirements import require
from dbhone.sandbox import Sandbox, is_waived, remedy
from dbhone.session import Session
from dbhone.source.tree import SourceTree, acquire, kept_tree, require_kept
from dbhone.verification.checks.base import Check, RegressionTests, TestPrograms
from dbhone.versions import names_version


@dataclass(frozen=True, slots=True, kw_only=True)
class TestHarness:
    """What tests need to run: one session, the host, and the programs that test.

    ``notify`` gets a few words on what is being done. While a block of ``exclusive`` is open, no
    other hone on this machine works.
    """

    __test__ = False  # pytest takes it for tests otherwise

    session: Session
    notify: Callable[[str], None]
    exclusive: Callable[[], contextlib.AbstractContextManager[None]]

    def check_needs(self, check: Check) -> None:
        """Raise ToolError or MachineError if this machine lacks what a check needs."""
        require(check.requirements, f"running {check.title}")
        reason = why_not_enclosed()
        if reason is not None and not is_waived():
            raise MachineError(
                f"{check.title} must run in a sandbox, which this machine cannot make: {reason}",
                hint=remedy(),
            )

    def tests_of(self, regression: RegressionTests, build: Build) -> Path:
        """Return the folder of the programs and files that test a build, brought unless kept."""
        programs = regression.test_programs(build.manifest.dbms)
        if programs is not None:
            return self._compiled(regression, programs, build).folder
        reference = regression.package(build.manifest)
        if reference is None:
            what = f"{build.manifest.dbms} {build.manifest.version}"
            raise UsageError(f"nothing brings {regression.title} for {what}")
        return self._packaged(regression, reference, build.manifest.version)

    def tree_of(self, build: Build) -> SourceTree | None:
        """Return the source tree of a build, None if it is kept no more or was never there."""
        if build.manifest.inputs.variant.ready_made:
            return None
        return kept_tree(build.manifest.source_digest, self.session.home)

    def _packaged(self, regression: RegressionTests, reference: str, version: str) -> Path:
        """Return the folder of the packages of a version, brought again if others are kept."""
        tree = acquire(reference, self.session, notify=self.notify)
        if not names_version(tree.resolved, version):
            tree = acquire(reference, self.session, refresh=True, notify=self.notify)
        if not names_version(tree.resolved, version):
            raise UsageError(
                f"the packages that bring {regression.title} are of another version than the build,"
                f" {version}: {tree.resolved}",
                hint="--grade answers compares its answers instead, without these tests",
            )
        return tree.path

    def _compiled(self, regression: RegressionTests, programs: TestPrograms, build: Build) -> Build:
        manifest = build.manifest
        if manifest.inputs.variant.ready_made:
            raise UsageError(
                f"{regression.title} are built of a source tree, and {manifest.source} brings a"
                " ready-made server",
                hint="verify it with --grade answers",
            )
        tree = require_kept(manifest.source_digest, self.session.home, manifest.source)
        spec_of = _fixed if programs.fixed else self._alike
        spec = spec_of(programs, build, tree)
        known = kept_builds.find(self.session.home, spec.digest())
        if known is not None:
            return known
        self.notify(f"building {programs.title}")
        with self.exclusive():
            return builder.make(spec, self.session, self.notify)

    def _alike(self, programs: TestPrograms, build: Build, tree: SourceTree) -> BuildSpec:
        """Return test programs that are built as the build itself was."""
        manifest = build.manifest
        compiler = find_compiler(manifest.inputs.compiler)
        if compiler.identity != manifest.compiler_identity:
            raise ToolError(
                f"the build was made by {manifest.compiler_identity}, and {compiler.path} is now"
                f" {compiler.identity}: its flags can no longer be tested",
                hint="build it again",
            )
        return BuildSpec(
            inputs=manifest.inputs.in_few_layouts.model_copy(
                update={"dbms": programs.name, "fixes": ()}
            ),
            dbms=programs,
            tree=tree,
            pass_=manifest.compiling_pass,
            compiler=compiler,
            profile=find_used(self.session.home, build, manifest.profile),
        )


def _fixed(programs: TestPrograms, build: Build, tree: SourceTree) -> BuildSpec:
    """Return test programs that are the same for all builds of a tree."""
    own = build.manifest.inputs
    name = USUAL_COMPILER if installed(USUAL_COMPILER) else own.compiler
    inputs = BuildInputs(
        dbms=programs.name,
        source=own.source,
        variant=parse_variant(USUAL),
        compiler=name,
        options=own.options,
    )
    return BuildSpec(
        inputs=inputs, dbms=programs, tree=tree, pass_=Pass.PLAIN, compiler=find_compiler(name)
    )


@contextlib.contextmanager
def running(
    build: Build, session: Session, settings: Mapping[str, str], shared: Sandbox | None = None
) -> Iterator[Server]:
    """Yield a started server with its own defaults, ``settings`` and those that hone insists on.

    It may use what is ``shared`` with its clients. Raises ServerError when it does not start, and
    in the end if it crashed or does not stop.
    """
    dbms = load_server_dbms(build.manifest.dbms)
    installation = installation_of(dbms, build)
    with opened_place(session) as place:
        data.make(dbms, installation, place, session)
        server = Server(
            dbms,
            installation,
            place,
            {**dbms.fixed_settings(place), **settings},
            home=session.home,
            env=prepared_environment(place),
            shared=shared or Sandbox(),
        )
        with server:
            yield server
