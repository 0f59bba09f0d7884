"""What earlier sessions of a run have recorded, and a later one must find as it was.

A session that goes on with a run refuses to compare what was measured then with something else now.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.dbms.base_server import load_server_dbms
from dbhone.errors import UsageError
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.execution.builds import BuildService
from dbhone.experiment.plan.plan import Fetch, PlanProgress
from dbhone.experiment.target.target import Target
from dbhone.experiment.target.warnings import changed_settings
from dbhone.instance.memory import is_share_of_memory
from dbhone.measurement.record import Code, Run, Subject
from dbhone.measurement.store import Done, Store
from dbhone.source.tree import kept_tree
from dbhone.workload.captured_suite import is_workload_file

_ALIKE = 0.01
"""By how much of itself the memory differs from start to start at most, and shares of it do."""


def progress_of(run: Run, store: Store) -> PlanProgress:
    """Return how far a run is, for a plan of the rest."""
    done = store.done(run.id)
    measured = frozenset(invocation.subject for invocation in done)
    broken = {subject.name: subject.broken for subject in run.subjects if subject.broken}
    out = {
        warning.subject: "its run began without it"
        for warning in run.warnings
        if warning.code == Code.LEFT_OUT and warning.subject and measured
    }
    return PlanProgress(
        seconds=run.seconds,
        blocks=_whole_blocks(done, measured - broken.keys()),
        block_seconds=store.samples(run.id).block_seconds if done else None,
        measured=measured,
        left_out={name: why for name, why in out.items() if name not in measured},
        broken=broken,
    )


def users_files(experiment: Experiment) -> Iterator[Path]:
    """Yield a user's captured workloads, and the dumps or data directories that they are run on."""
    for workload in experiment.workloads:
        if is_workload_file(workload.name):
            yield Path(workload.name)
        yield from workload.scale.paths.values()


def check_unchanged(run: Run, files: Iterable[Path]) -> None:
    """Raise UsageError if a file was written after a run began, which keeps only where it is."""
    for path in files:
        if path.exists() and path.stat().st_mtime > run.created_at.timestamp():
            raise UsageError(f"{path} was written after run {run.id} began", hint="begin a new run")


def _whole_blocks(done: Collection[Done], sound: Collection[str]) -> int:
    """Return in how many blocks all sets were measured on all subjects that are sound."""
    sets = {invocation.set for invocation in done}
    found = Counter(invocation.block for invocation in done if invocation.subject in sound)
    return sum(count == len(sets) * len(sound) for count in found.values())


class EarlierSessions:
    """A run as it was when a session began to execute it; ``measured`` are subjects by name."""

    def __init__(
        self, run: Run, subjects: Mapping[str, SubjectDeclaration], measured: frozenset[str]
    ) -> None:
        self._run = run
        self._subjects = subjects
        self._measured = measured

    def subject(self, name: str) -> Subject | None:
        """Return what was kept of a subject before this session, None if nothing was."""
        return next((subject for subject in self._run.subjects if subject.name == name), None)

    def take_tree(self, step: Fetch, service: BuildService) -> None:
        """Let a source be the tree that the run began with, if the home still has that."""
        _, digest = self._source(step) or (None, "")
        earlier = kept_tree(digest, service.session.home)
        if earlier is not None:
            service.use_tree(step.reference, earlier)

    def check_files(self, files: Iterable[Path]) -> None:
        """Refuse a user's workload or data that was written after the run began to measure."""
        if self._measured:
            check_unchanged(self._run, files)

    def check_source(self, step: Fetch, service: BuildService) -> None:
        """Refuse another source than the run began with.

        What was built may have been derived from it: edited, or unpacked.
        """
        recorded = self._source(step)
        if recorded is None:
            return
        inputs, digest = recorded
        if service.tree(step.reference).digest == digest:
            return
        if service.tree_to_take(inputs).digest != digest:
            raise UsageError(
                f"{step.reference} is no longer what it was when run {self._run.id} began",
                hint="begin a new run",
            )

    def check_build(self, name: str, build: Build) -> None:
        """Refuse to measure another build of a subject than the one that was measured before.

        The compiler, a source, a profile or hone itself may have changed since. It is asked before
        the store forgets which build that was.
        """
        recorded = self.subject(name)
        if recorded is None or name not in self._measured or not recorded.build_digest:
            return
        if recorded.build_digest != build.digest:
            raise UsageError(
                f"the build of {name} is no longer the one that run {self._run.id} has measured"
                f" ({build.digest[:12]}, not {recorded.build_digest[:12]})",
                hint="begin a new run",
            )

    def with_measured_sets(self, experiment: Experiment) -> Experiment:
        """Return the experiment with no other sets than were measured, if any were.

        Only an embedded DBMS may lack a set, which is then left out. The version that lacked it
        may be broken by now, and without it the set would come back.
        """
        sets = tuple(dict.fromkeys(step.set for step in self._run.steps if step.threads is None))
        if not (self._measured and sets):
            return experiment
        workload = dataclasses.replace(experiment.workload, sets=sets)
        return dataclasses.replace(experiment, workload=workload)

    def check_settings(self, subjects: Collection[str], target: Target) -> None:
        """Refuse to continue with settings other than those that a run began with.

        A settings file may have been edited since, or a named config changed with hone. The memory
        of a machine differs a little from start to start, and shares of it do as well.
        """
        for recorded in self._run.subjects:
            if not recorded.settings or recorded.name not in subjects:
                continue
            settings = target.state(recorded.name).settings
            changed = [
                name
                for name in changed_settings(recorded.settings, settings)
                if not self._is_same_share(recorded, name, settings)
            ]
            if changed:
                raise UsageError(
                    f"the settings of {recorded.name} are no longer what they were when run"
                    f" {self._run.id} began: {', '.join(changed)}",
                    hint="begin a new run",
                )

    def _is_same_share(self, recorded: Subject, name: str, settings: Mapping[str, str]) -> bool:
        """Return whether a setting is a share of the memory, and about as large as it was."""
        declared = self._subjects[recorded.name]
        dbms = load_server_dbms(declared.inputs.dbms)
        if not any(
            dbms.meant(setting.name) == dbms.meant(name) and is_share_of_memory(setting.value)
            for setting in declared.settings
        ):
            return False
        before, now = (
            dbms.bytes_of(values.get(name, "")) for values in (recorded.settings, settings)
        )
        return before is not None and now is not None and abs(now - before) <= _ALIKE * before

    def _source(self, step: Fetch) -> tuple[BuildInputs, str] | None:
        """Return inputs with the digest of the tree that the run built of them, None if none is.

        None is of a source whose profile others take: the digest of a build tells.
        """
        for subject in self._run.subjects:
            if subject.name not in step.subjects:
                continue
            inputs = self._subjects[subject.name].inputs
            # A subject with fixes was built of another tree than its source.
            if inputs.source == step.reference and not inputs.fixes:
                return inputs, subject.source_digest
        return None
