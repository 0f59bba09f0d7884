"""Makes builds. A build appears whole under its digest, or not at all."""

from __future__ import annotations

import re
import shlex
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant
from dbhone.cgroup import usable_cores, usable_memory
from dbhone.command import Command
from dbhone.compilation import kept_builds, layouts
from dbhone.compilation.artifacts import keep
from dbhone.compilation.build_log import advance, first_error, lacks_header, last_step
from dbhone.compilation.compile_commands import CompileCommand, read_commands
from dbhone.compilation.compliance import (
    WRONG_PROFILE,
    flags_problem,
    has_wrong_profile,
    profile_problem,
    profile_use,
)
from dbhone.compilation.manifest import (
    Build,
    KeptFile,
    Manifest,
    ProfileUse,
)
from dbhone.compilation.places import (
    COMPILER_WRAPPER,
    RECORDING_COMPILERS,
    BuildPlaces,
    work_name,
)
from dbhone.compilation.profile_counts import training_environment
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.transforms.base import Flags
from dbhone.dbms.base import BuildStep, Dbms, Phase, Recipe, Tools
from dbhone.errors import (
    BuildError,
    HoneError,
    MachineError,
    NoSpaceError,
    ProfileError,
    says_disk_full,
)
from dbhone.requirements import Requirement, RequirementKind, missing, require
from dbhone.session import Notify, Session
from dbhone.tenant import tenancy
from dbhone.untrusted_files import keep_untrusted, read_untrusted

_POLL_SECONDS = 2.0
"""Seconds between two reports of how far compiling is."""
_UPSETTING = re.compile(r"[^\w/.@+~-]")
_LONGEST_LOG = 1 << 28
"""Bytes of a log that are looked at."""
_SEEDS_APART = 1_000
"""Between the first layouts of two copies of a build, which must not be the same ones."""
_CXX_MEMORY = 1 << 30
"""Bytes that a compiler of C++ may take; one of C takes a fraction of that."""


def usual_jobs(dbms: Dbms) -> int:
    """Return how many compile commands run at once: as many as cores and memory allow."""
    jobs = usable_cores()
    if dbms.needs_cxx:
        jobs = min(jobs, max(1, usable_memory() // _CXX_MEMORY))
    return jobs


def make(spec: BuildSpec, session: Session, notify: Notify, *, jobs: int | None = None) -> Build:
    """Return the build that ``spec`` describes, making it unless it exists.

    ``notify`` gets a few words when a step begins, and while it compiles. ``jobs`` compile
    commands run at once, as many as is usual if it is None. Raises BuildError, with the
    log, when a step fails; ProfileError when the compiler did not take the profile.
    """
    kept_build = kept_builds.find(session.home, spec.digest())
    if kept_build is not None:
        return kept_build
    spec.check()
    if spec.inputs.packaging is None:  # The rules of a distribution name what they need themselves.
        _check_programs(spec)
    _check_folder(session.scratch)
    with session.fixed_workdir(work_name(spec.tree.digest)) as work, tenancy(session) as tenant:
        making = _Making(spec, session, work, tenant, notify, jobs or usual_jobs(spec.dbms))
        return making.run()


def _check_programs(spec: BuildSpec) -> None:
    """Raise ToolError that names all missing programs at once, and the line that installs them."""
    dbms, tree = spec.dbms, spec.tree.path
    known = {need.name: need for need in dbms.requirements}
    programs = (
        known.get(name) or Requirement(name=name, package=name)
        for name in dbms.required_programs(tree)
    )
    require(programs, f"building {dbms.title}")


def _check_folder(folder: Path) -> None:
    """Refuse a folder whose name make, CMake or a shell would take for something else."""
    strange = sorted(set(_UPSETTING.findall(str(folder))))
    if strange:
        raise MachineError(
            f"the folder {folder} contains {' '.join(strange)}, which breaks build systems",
            hint="choose another home with --home or DBHONE_HOME",
        )


class _Making:
    """One build being made."""

    def __init__(
        self,
        spec: BuildSpec,
        session: Session,
        work: Path,
        tenant: Tenant,
        notify: Notify,
        jobs: int,
    ) -> None:
        self.spec = spec
        self.digest = spec.digest()
        self.session = session
        self.notify = notify
        self.jobs = jobs
        self.places = BuildPlaces(work, spec.tree.path)
        self.tenant = tenant
        self.places.make(tenant.account)
        if spec.inputs.layouts:
            layouts.provide_lto_wrapper(self.places.lto_wrapper)
        self.sandbox = self.places.sandbox(spec, tenant.account, session.home)
        self.phase_seconds: dict[str, float] = {}

    def run(self) -> Build:
        flags = self.spec.flags(str(self.places.folder_seen))
        recipe = self.places.as_seen(self.spec.recipe(flags, self._tools(), self.jobs))
        began = time.monotonic()
        for step in recipe.steps:
            self.notify(step.phase.value)
            self._step(step)
        total = time.monotonic() - began
        other_layouts = self._link_layouts(recipe) if self.spec.inputs.layouts else ()
        manifest = self._manifest(recipe, flags, total)
        primary = Path(manifest.files[manifest.primary].path)
        for number, made in enumerate(other_layouts, start=1):
            layouts.keep_layout(self.places.result, number, primary, made)
        return kept_builds.keep_build(self.places.result, manifest, self.session)

    def _link_layouts(self, recipe: Recipe) -> tuple[Path, ...]:
        """Link the primary artifact in its other layouts; return the files."""
        (primary,) = (one for one in recipe.artifacts if one.name == recipe.primary)
        commands = read_commands(self.places.commands)
        link = layouts.find_link(commands, self.places.objects / primary.made)
        if link is None:
            raise BuildError(
                f"the build does not say how it linked {primary.made.name},"
                " so it cannot be linked in other layouts",
                hint="leave 'layouts' out",
                log=self._keep_log(),
            )
        linker = self.spec.linker
        assert linker is not None, "a build of several layouts has a linker that shuffles"
        is_cxx = link.program == self.spec.compiler.cxx_name
        program = self.places.work / RECORDING_COMPILERS[is_cxx]
        made: list[Path] = []
        first_seed = self.spec.inputs.copy_number * _SEEDS_APART
        for number in range(1, self.spec.inputs.layouts + 1):
            self.notify(f"linking layout {number} of {self.spec.inputs.layouts}")
            name = f"layout-{number}"
            output = self.places.folder_seen / name
            arguments = layouts.link_again(
                link, linker, first_seed + number, output, self.places.lto_wrapper
            )
            argv = (str(program), *arguments)
            self._step(BuildStep(phase=Phase.LAYOUTS, argv=argv), link.folder)
            if self.spec.has_gcc_lto and not layouts.has_kept(self.places.objects):
                raise BuildError(
                    "gcc did not let hone keep what came of link-time optimisation, which would be"
                    " done again for every layout",
                    hint="leave 'layouts' out, or lto",
                    log=self._keep_log(),
                )
            made.append(self.places.objects / name)
        return tuple(made)

    def _tools(self) -> Tools:
        """Return the programs of the build, its compilers recording what they do."""
        c_name, cxx_name = RECORDING_COMPILERS
        cxx = self.spec.compiler.find_cxx()
        return self.spec.tools(
            compiler=self._recording(c_name, self.spec.compiler.path),
            cxx_compiler=self._recording(cxx_name, cxx) if cxx else self.places.work / cxx_name,
        )

    def _recording(self, name: str, compiler: Path) -> Path:
        """Write the little program that builds call as their compiler.

        While a build configures itself it tries the compiler a hundred times; those calls
        are not worth a record.
        """
        path = self.places.work / name
        real = shlex.quote(str(compiler))
        words = (sys.executable, "-I", "-S", str(COMPILER_WRAPPER), str(self.places.commands))
        record = " ".join(shlex.quote(word) for word in words)
        script = (
            "#!/bin/sh\n"
            f'[ "$DBHONE_PHASE" = {Phase.CONFIGURE.value} ] && exec {real} "$@"\n'
            f'exec {record} {real} "$@"\n'
        )
        path.write_text(script, encoding="utf-8")
        path.chmod(0o755)
        return path

    def _step(self, step: BuildStep, folder: str = ".") -> None:
        """Run a step in a folder of the objects' folder, and add its seconds to its phase's."""
        with self.places.log.open("ab") as log:
            log.write(f"$ {' '.join(shlex.quote(word) for word in step.argv)}\n".encode())
        env = {
            "LC_ALL": "C",
            "TMPDIR": str(self.places.scratch),
            "DBHONE_PHASE": step.phase.value,
            "DBHONE_FOLDER": str(self.places.folder_seen.resolve()),
            "DBHONE_LINK_JOBS": str(min(self.jobs, usable_cores())),
            # ccache does not know gcc's -fprofile-partial-training and hides the real compiler.
            "CCACHE_DISABLE": "1",
            # What a build runs of its own while it is instrumented is not training.
            **training_environment(self.spec.compiler.family, self.places.scratch),
        }
        command = Command(
            argv=step.argv,
            cwd=self.places.objects / folder,
            env=env,
            isolated=True,
            log=self.places.log,
            sandbox=self.sandbox,
            tenant=self.tenant,
        )
        with process.Process(command, capture=False) as running:
            while not running.wait(_POLL_SECONDS):
                if step.phase is Phase.COMPILE and (
                    done := advance(self.places.log, self.places.commands)
                ):
                    self.notify(f"{step.phase.value}, {done}")
            finished = running.finish()
        if not finished.ok:
            raise self._failure(step, finished)
        phase = step.phase.value
        self.phase_seconds[phase] = self.phase_seconds.get(phase, 0.0) + finished.seconds

    def _failure(self, step: BuildStep, finished: process.Finished) -> HoneError:
        kept = self._keep_log()
        text = read_untrusted(self.places.log, limit=_LONGEST_LOG).decode("utf-8", "replace")
        if says_disk_full(text):
            return NoSpaceError("no space left on the disk while building", log=kept)
        if has_wrong_profile(self.spec, text.encode()):
            return ProfileError(WRONG_PROFILE, log=kept)
        what = f"building {self.spec.dbms.title} as {self.spec.inputs.variant.name} failed"
        ending = f"{step.argv[0]} {finished.ending()}"
        cause = self.tenant.exceeded() or first_error(last_step(text)) or ending
        return BuildError(f"{what}: {cause}", hint=self._advice(step, cause, kept), log=kept)

    def _advice(self, step: BuildStep, cause: str, log: Path | None) -> str | None:
        if self.tenant.exceeded():
            return (
                "compile with fewer processes ('hone build --jobs 1'),"
                " or give the machine more memory"
            )
        needs = self.spec.dbms.requirements
        libraries = missing(need for need in needs if need.kind is RequirementKind.HEADER)
        if libraries and (step.phase is Phase.CONFIGURE or lacks_header(cause)):
            return f"if a library is missing, {libraries.advice()}"
        return "read the log's last lines" if log else None

    def _keep_log(self) -> Path | None:
        """Keep the log of a build that failed; None if there is no room even for that."""
        kept = self.session.home.logs / f"build-{self.digest[:12]}.log"
        return keep_untrusted(self.places.log, kept, limit=_LONGEST_LOG)

    def _manifest(self, recipe: Recipe, flags: Flags, seconds: float) -> Manifest:
        spec = self.spec
        compiled = self._compiled()
        problem = flags_problem(flags, compiled)
        if problem is not None:
            raise BuildError(problem, log=self._keep_log())
        return Manifest(
            digest=self.digest,
            inputs=spec.inputs,
            version=spec.dbms.version(spec.tree.path),
            source=spec.tree.label,
            source_digest=spec.tree.digest,
            pass_=spec.pass_,
            family=spec.compiler.family,
            compiler=spec.compiler.label,
            compiler_identity=spec.compiler.identity,
            compile_flags=flags.compile,
            link_flags=(*flags.link, *flags.primary_link),
            steps=tuple(step.argv for step in recipe.steps),
            folder=str(self.places.folder_seen),
            profile=self._profile_use(compiled),
            seconds=seconds,
            phase_seconds=self.phase_seconds,
            compile_commands=len(compiled),
            files=self._collect(recipe),
            primary=recipe.primary,
            added_flags=recipe.added_flags,
            unmovable=recipe.unmovable,
            native_cpu_flags=spec.native_cpu_flags(),
            built_at=datetime.now(UTC),
        )

    def _compiled(self) -> tuple[CompileCommand, ...]:
        """Return the commands that made the objects of what is measured."""
        return tuple(
            command
            for command in read_commands(self.places.commands)
            if command.phase == Phase.COMPILE and command.compiles
        )

    def _profile_use(self, compiled: tuple[CompileCommand, ...]) -> ProfileUse | None:
        if self.spec.profile is None:
            return None
        log = read_untrusted(self.places.log, limit=_LONGEST_LOG)
        problem = profile_problem(self.spec, compiled, log)
        if problem is not None:
            raise ProfileError(problem, log=self._keep_log())
        return profile_use(self.spec, self.spec.profile, compiled, log)

    def _collect(self, recipe: Recipe) -> dict[str, KeptFile]:
        files = {}
        self.places.redirect_links(self.sandbox)
        for artifact in recipe.artifacts:
            kept = keep(artifact, self.places.objects, self.spec.tree.path, self.places.result)
            if kept is None:
                raise BuildError(
                    f"the build ended without an error but made no {artifact.made}",
                    log=self._keep_log(),
                )
            files[artifact.name] = kept
        return files
