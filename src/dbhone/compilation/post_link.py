"""Makes builds out of builds: a post-link optimiser changes the file that is measured.

The new build is a copy of the linked one, with its log and its records, in which that file is
another. The optimiser reads what a stranger's source became, so it is shut in as a compiler is.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dbhone import process
from dbhone.account import Tenant, own
from dbhone.command import Command
from dbhone.compilation import bolt as bolts
from dbhone.compilation import kept_builds
from dbhone.compilation.bolt import BoltTool
from dbhone.compilation.build_log import last_step
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import FILE, LOG, Build, KeptFile, Manifest, PostLinkRecord
from dbhone.compilation.places import counters_folder
from dbhone.compilation.profile import Profile
from dbhone.compilation.toolchain import Compiler, identity_of
from dbhone.compilation.transforms.base import Pass
from dbhone.errors import BuildError, HoneError, NoSpaceError, ProfileError, says_disk_full
from dbhone.files import copy_tree, digest_of, make_writable
from dbhone.program_folders import program_folders
from dbhone.sandbox import Sandbox, longest_file
from dbhone.session import Notify, Session
from dbhone.source.elf import section_sizes
from dbhone.tenant import tenancy
from dbhone.untrusted_files import keep_untrusted, open_untrusted, read_untrusted

FORMAT = 1
"""Grows when builds made by an older hone must not be taken for builds of this one."""
PHASE = "post-link"
_COUNTERS = "counters"
_MOST_SKIPPED = 20
"""Functions over which the optimiser may fail before hone gives up."""
_LONGEST_LOG = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PostLinkSpec:
    """One build to make of ``linked``, or to find. ``profile`` is given if the pass takes one."""

    inputs: BuildInputs
    compiler: Compiler
    linked: Build
    pass_: Pass
    bolt: BoltTool
    profile: Profile | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """What the optimiser is told, without what depends on where things are."""
        return self.inputs.variant.flags(self.compiler, self.pass_).post_link

    def digest(self) -> str:
        """Return the digest of all inputs. Where the home folder is does not matter."""
        inputs = {
            "format": FORMAT,
            "linked": self.linked.digest,
            "pass": self.pass_.value,
            "options": list(self.options),
            "unmovable": list(self.linked.manifest.unmovable),
            "optimiser": identity_of(self.bolt.path, self.bolt.version),
            "profile": self.profile.digest if self.profile else None,
        }
        return digest_of(inputs)

    def check(self) -> None:
        """Raise if these inputs cannot make a build."""
        if not self.pass_.takes_profile:
            return
        if self.profile is None:
            raise ProfileError(
                f"the variant {self.inputs.variant.name} has not been trained after linking",
                hint="say what to train on",
            )
        self.profile.check_fits(
            source_digest=self.linked.manifest.source_digest,
            compiler_identity=self.compiler.identity,
        )


def make(spec: PostLinkSpec, session: Session, notify: Notify) -> Build:
    """Return the build that ``spec`` describes, making it unless it exists.

    A function over which the optimiser fails is left as it is, and named in the manifest. Raises
    BuildError, with the log, when the optimiser fails otherwise, and MachineError when the memory
    is too small for it.
    """
    kept_build = kept_builds.find(session.home, spec.digest())
    if kept_build is not None:
        return kept_build
    spec.check()
    linked = spec.linked
    text_bytes = section_sizes(linked.path(linked.manifest.primary)).get(".text", 0)
    bolts.check_memory(text_bytes)
    with tenancy(session) as tenant:
        return _Making(spec, session, tenant, text_bytes, notify).run()


class _Making:
    """One build being made; ``text_bytes`` is the code that the optimiser gets."""

    def __init__(
        self,
        spec: PostLinkSpec,
        session: Session,
        tenant: Tenant,
        text_bytes: int,
        notify: Notify,
    ) -> None:
        self.spec = spec
        self.digest = spec.digest()
        self.session = session
        self.text_bytes = text_bytes
        self.notify = notify
        self.work = session.workdir(PHASE)
        self.result = self.work / "result"
        self.made = self.work / "made"
        self.made.mkdir()
        self.tenant = tenant
        own(self.made, tenant.account)
        self.work.chmod(0o711)
        self.file = Path(spec.linked.manifest.files[spec.linked.manifest.primary].path)
        self.log = self.work / LOG
        self.log.touch()

    def run(self) -> Build:
        copy_tree(self.spec.linked.folder, self.result)
        make_writable(self.result)
        skipped = self.spec.linked.manifest.unmovable
        seconds = 0.0
        while True:
            self.notify("adding counters" if self.spec.pass_.trains else "laying out the code")
            finished = self._optimise(skipped)
            seconds += finished.seconds
            log = read_untrusted(self.log, limit=_LONGEST_LOG)
            printed = last_step(log.decode("utf-8", "replace"))
            if finished.ok:
                break
            stuck = bolts.stuck_function(printed)
            if stuck is None or stuck in skipped or len(skipped) >= _MOST_SKIPPED:
                raise self._failure(printed, finished)
            skipped = (*skipped, stuck)
        self._replace()
        manifest = self._manifest(printed, seconds, skipped)
        return kept_builds.keep_build(self.result, manifest, self.session)

    def _optimise(self, skipped: tuple[str, ...]) -> process.Finished:
        spec = self.spec
        argv = (
            *(str(spec.bolt.path), str(spec.linked.folder / self.file), "-relocs=1"),
            *("-o", str(self.made / self.file.name)),
            *spec.options,
            *self._places(),
            *bolts.skipping(skipped),
        )
        with self.log.open("ab") as log:
            log.write(f"\n$ {' '.join(shlex.quote(word) for word in argv)}\n".encode())
        given = [spec.linked.folder, *([spec.profile.folder] if spec.profile else [])]
        return process.run(
            Command(
                argv=argv,
                cwd=self.made,
                env={"LC_ALL": "C"},
                isolated=True,
                log=self.log,
                sandbox=Sandbox(
                    writable=(self.made,),
                    readable=(*given, *program_folders((spec.bolt.path,), self.session.home)),
                    file_bytes=longest_file(self.work),
                ),
                tenant=self.tenant,
            )
        )

    def _places(self) -> tuple[str, ...]:
        """Return the options that name the profile, or where the counters are to be written.

        An instrumented program reads a part of its own file, whose path it cannot always see.
        """
        if self.spec.profile is not None:
            return (f"-data={self.spec.profile.input_path}",)
        home = self.session.home
        return (
            f"-instrumentation-file={counters_folder(home, self.digest) / _COUNTERS}",
            f"-instrumentation-binpath={home.builds / self.digest / self.file}",
        )

    def _replace(self) -> None:
        """Put what the optimiser made in the place of what was linked."""
        made = self.made / self.file.name
        open_untrusted(made).close()
        target = self.result / self.file
        shutil.copyfile(made, target)
        with (self.result / LOG).open("ab") as whole, self.log.open("rb") as own_log:
            shutil.copyfileobj(own_log, whole)
        (self.result / FILE).unlink()

    def _failure(self, printed: str, finished: process.Finished) -> HoneError:
        kept = self.session.home.logs / f"post-link-{self.digest[:12]}.log"
        log = keep_untrusted(self.log, kept, limit=_LONGEST_LOG)
        if says_disk_full(printed):
            return NoSpaceError("no space left on the disk while laying out the code", log=log)
        lines = (line for line in printed.splitlines() if "BOLT-ERROR" in line)
        cause = self.tenant.exceeded() or next(lines, f"it {finished.ending()}")
        return BuildError(
            f"{self.spec.bolt.label} failed: {cause}", hint="read the log's last lines", log=log
        )

    def _manifest(self, printed: str, seconds: float, skipped: tuple[str, ...]) -> Manifest:
        spec, linked = self.spec, self.spec.linked.manifest
        trains = spec.pass_.trains
        places = counters_folder(self.session.home, self.digest) if trains else ""
        post_link = PostLinkRecord(
            tool=spec.bolt.label,
            arguments=(*spec.options, *bolts.skipping(skipped)),
            seconds=seconds,
            skipped=skipped,
            text_bytes=self.text_bytes,
            hot_bytes=section_sizes(self.result / self.file).get(".text", 0),
            profile=spec.profile.trained() if spec.profile else None,
            **bolts.read_report(printed, counts=trains),
        )
        return linked.model_copy(
            update={
                "digest": self.digest,
                "inputs": spec.inputs,
                "pass_": spec.pass_,
                "folder": str(places),
                "seconds": linked.seconds + seconds,
                "phase_seconds": {**linked.phase_seconds, PHASE: seconds},
                "files": {
                    name: KeptFile.of(self.result / kept.path, self.result)
                    for name, kept in linked.files.items()
                },
                "post_link": post_link,
                "built_at": datetime.now(UTC),
            }
        )
