"""Makes a package of a build: its content, the statements about it, and their proof."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import PackageError, UsageError
from dbhone.files import digest_of_file
from dbhone.home import Home
from dbhone.instance.applied_levers import in_service
from dbhone.measurement.record import Run, Subject
from dbhone.measurement.sample_array import SampleArray
from dbhone.own_version import own_version
from dbhone.package.archive import Entry
from dbhone.package.content import (
    Content,
    content_of,
    public_reference,
    public_training,
    without_paths,
)
from dbhone.package.image import Image
from dbhone.package.measurement import (
    Measured,
    findings,
    machine_of,
    of_csv,
    subject_of,
    to_csv,
)
from dbhone.package.proof import (
    MEASUREMENT,
    PROVENANCE,
    REPRODUCTION,
    VERIFICATION,
    SigningKey,
    identity,
    key_entry,
    statement,
    write_proof,
)
from dbhone.package.read_me import read_me
from dbhone.package.repetition import as_measured, has_own_workload, public_part, why_private
from dbhone.verification.outcome import Outcome
from dbhone.verification.outcome_store import OutcomeStore

SAMPLES = "proof/samples.csv"
_EPOCH = "SOURCE_DATE_EPOCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnclosedMeasurement:
    """The run that measured a build, its samples, and the build as its subject.

    ``began`` is when the subject was first measured.
    """

    run: Run
    samples: SampleArray
    subject: Subject
    began: datetime

    def is_of(self, build: Build) -> bool:
        """Return whether this very build was measured, and not another of its source."""
        return self.subject.build_digest == build.digest

    def check(self, build: Build) -> None:
        """Raise UsageError if the build was made anew since: its bytes may be others."""
        if self.is_of(build) and build.manifest.built_at > self.began:
            name = build.digest[:12]
            raise UsageError(
                f"the build {name} was made anew after run {self.run.id} had begun to measure it,"
                " so it may be another than was measured",
                hint=f"measure it again, or pack it without a measurement: 'hone package {name}'",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is known of a package before its statements are made."""

    name: str
    build: Build
    content: Content
    moment: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """All that a form writes: the folder's name, the files, and the one time that they have.

    An ``image`` is what a container has besides. ``levers`` say how those are set that the measured
    server had: no build has them. ``differing`` are the files that a second build
    has otherwise, None without one.
    """

    name: str
    entries: tuple[Entry, ...]
    moment: int
    content: Content
    levers: tuple[str, ...] = ()
    image: Image | None = None
    differing: tuple[str, ...] | None = None


def make_package(
    build: Build,
    home: Home,
    measurement: EnclosedMeasurement | None,
    key: SigningKey | None,
    make_image: Callable[[Draft], Image] | None = None,
    build_again: Callable[[], Build] | None = None,
) -> Package:
    """Return the package of a build that passed a grade, with an image if there is to be one.

    ``build_again`` makes a second build of the same inputs. It is called once nothing else can be
    refused, and the package says in which files the two differ.

    Raises UsageError for one that passed none or was made anew since it was measured, and as
    ``content_of`` and ``make_image`` do.
    """
    outcome = passed_outcome(build, home)
    if measurement is not None:
        measurement.check(build)
    content = content_of(build, home)
    name, moment = package_name(build), _moment(build)
    draft = Draft(name=name, build=build, content=content, moment=moment)
    image = None if make_image is None else make_image(draft)
    differing = None
    if build_again is not None:
        differing = _differing(content, content_of(build_again(), home))
    levers = _levers(build, measurement)
    another = measurement is not None and not measurement.is_of(build)
    about = read_me(build, content, outcome, levers, another_was_measured=another)
    entries = [*content.entries, about]
    predicates = {VERIFICATION: _verification(outcome)}
    if measurement is not None:
        entries.append(Entry(name=SAMPLES, data=to_csv(measurement.samples)))
        predicates[MEASUREMENT] = _measurement(measurement)
    if key is not None:
        entries.append(key_entry(key))
    if differing is not None:
        predicates[REPRODUCTION] = {"differing": list(differing)}
    predicates[PROVENANCE] = _provenance(draft, image, (*predicates, PROVENANCE))
    statements = [statement(kind, said, entries) for kind, said in predicates.items()]
    entries.append(write_proof(statements, key))
    return Package(
        name=name,
        entries=tuple(entries),
        moment=moment,
        content=content,
        levers=levers,
        image=image,
        differing=differing,
    )


def passed_outcome(build: Build, home: Home) -> Outcome:
    """Return what was found at the best grade that a build passed.

    Raises UsageError if it passed none, or failed one against any base.
    """
    outcomes = OutcomeStore(home, build)
    best, failed = outcomes.best(), outcomes.failed()
    if best is not None and failed is None:
        return best
    name = f"the build {build.digest[:12]}"
    if failed is not None:
        raise UsageError(
            f"{name} does not pass the grade {failed.grade.value} against the base"
            f" {failed.base[:12]}: {failed.reason()}",
            hint="a build that gives wrong answers must not be used",
        )
    unproved = next((each for each in outcomes.outcomes() if each.reason() is not None), None)
    if unproved is not None:
        raise UsageError(
            f"{name} does not pass the grade {unproved.grade.value}: {unproved.reason()}",
            hint=f"'hone verify {build.digest[:12]} --grade {unproved.grade.value} --again' repeats"
            " it, with --against BUILD for another base",
        )
    raise UsageError(
        f"{name} has passed no grade: nothing proves that it is sound",
        hint=f"'hone verify {build.digest[:12]}' tests it",
    )


def package_name(build: Build) -> str:
    """Return the name of a build's package, which is that of its folder, too."""
    manifest = build.manifest
    return f"{manifest.dbms}-{manifest.version}-{manifest.variant}-{build.digest[:8]}"


def _moment(build: Build) -> int:
    """Return the time of all files: SOURCE_DATE_EPOCH, else when the build was made."""
    text = os.environ.get(_EPOCH, "")
    if text and not (text.isascii() and text.isdecimal()):
        raise UsageError(f"{_EPOCH} is '{text}', and must be a number of seconds")
    return int(text) if text else int(build.manifest.built_at.timestamp())


def _provenance(draft: Draft, image: Image | None, kinds: Iterable[str]) -> dict[str, Any]:
    build, content, manifest = draft.build, draft.content, draft.build.manifest
    return {
        "buildDefinition": {
            "buildType": "urn:dbhone:build:v1",
            "externalParameters": {
                "dbms": manifest.dbms,
                "version": manifest.version,
                "variant": manifest.variant,
                "options": [without_paths(option) for option in manifest.inputs.options],
                "fixes": [without_paths(fix) for fix in manifest.inputs.fixes],
                **_foreign_profile(manifest.inputs),
                "linker": manifest.inputs.linker,
                "packaging": manifest.inputs.packaging,
            },
            "internalParameters": {
                "compile_flags": [without_paths(flag) for flag in manifest.compile_flags],
                "link_flags": [without_paths(flag) for flag in manifest.link_flags],
                "post_link_arguments": list(
                    manifest.post_link.arguments if manifest.post_link else ()
                ),
                "added_flags": [without_paths(flag) for flag in manifest.added_flags],
                "machine": content.machine,
                "native_cpu_flags": list(manifest.native_cpu_flags),
                "system_libraries": list(content.libraries),
                "glibc": content.glibc,
                "lacks": list(content.lacks),
                "package": identity(draft.name, draft.moment, kinds),
                **({} if image is None else {"image": image.stated}),
            },
            "resolvedDependencies": _dependencies(build, image),
        },
        "runDetails": {
            "builder": {"id": "urn:dbhone:hone", "version": {"hone": own_version()}},
            "metadata": {
                "invocationId": build.digest,
                "finishedOn": manifest.built_at.isoformat(),
            },
            "byproducts": [
                {
                    "name": "measured file as built, before paths in it were replaced",
                    "digest": {"sha256": digest_of_file(build.path(manifest.primary))},
                    "annotations": {"files_with_paths_replaced": content.masked},
                }
            ],
        },
    }


def _foreign_profile(inputs: BuildInputs) -> dict[str, str]:
    """Return the source of a profile that is not the build's own, and nothing for its own."""
    if inputs.profile_source is None:
        return {}
    return {"profile_source": public_reference(inputs.profile_source)}


def _dependencies(build: Build, image: Image | None) -> list[dict[str, Any]]:
    """Return what a build was made of, as SLSA's provenance lists it."""
    manifest = build.manifest
    dependencies: list[dict[str, Any]] = [
        {
            "uri": public_reference(manifest.source),
            "name": "source tree, with fixes",
            "digest": {"sha256": manifest.source_digest},
        },
        {"name": "compiler", "annotations": {"version": without_paths(manifest.compiler_identity)}},
    ]
    dependencies += [
        {
            "name": "profile",
            "digest": {"sha256": profile.digest},
            "annotations": {
                "trained_on": public_training(profile.trained_on),
                "functions": profile.functions,
                "functions_executed": profile.functions_executed,
            },
        }
        for profile in manifest.trained
    ]
    if manifest.post_link is not None:
        optimiser = {"version": manifest.post_link.tool}
        dependencies.append({"name": "post-link optimiser", "annotations": optimiser})
    if image is not None:
        dependencies.append(
            {"name": "packages of the image", "annotations": {"packages": list(image.packages)}}
        )
    return dependencies


def _verification(outcome: Outcome) -> dict[str, Any]:
    """Return what verifying found; differences of tests that failed may hold paths."""
    values = outcome.model_dump(mode="json")
    for tests in values["lists"]:
        for failure in tests["failures"]:
            failure["difference"] = without_paths(failure["difference"])
    return {**values, "passed": outcome.passed}


def outcome_of(verification: Mapping[str, Any]) -> Outcome:
    """Return what a statement says that verifying found. Raises ValueError if it says no such."""
    stated = {name: value for name, value in verification.items() if name != "passed"}
    return Outcome.model_validate(stated)


def _differing(first: Content, second: Content) -> tuple[str, ...]:
    """Return the files that one of two builds of the same inputs has otherwise, or alone."""
    files = ({(one.name, one.digest, one.kind) for one in each.entries} for each in (first, second))
    own, other = files
    return tuple(sorted({name for name, _, _ in own ^ other}))


def _measurement(measurement: EnclosedMeasurement) -> dict[str, Any]:
    run = measurement.run
    declared = as_measured(tomllib.loads(run.experiment), run)
    measured = Measured.of_run(run, measurement.samples, titles=not has_own_workload(declared))
    # Of the file, not of the array that it was made of: so it is found again to the digit.
    samples = of_csv(to_csv(measurement.samples))
    if measurement.subject.name not in samples.subjects:
        raise PackageError(f"run {run.id} has measured nothing of {measurement.subject.name}")
    return {
        "subject": measurement.subject.name,
        "build": measurement.subject.build_digest,
        "samples": SAMPLES,
        "suite": run.suite_name,
        "size": run.size,
        "hone": run.hone_version,
        "design": {
            "seed": run.design.seed,
            "target": run.design.target,
            "min_blocks": run.design.min_blocks,
            "max_blocks": run.design.max_blocks,
        },
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "machine": machine_of(run),
        "subjects": [subject_of(subject) for subject in run.subjects],
        "measured": measured.to_json(),
        "experiment": _experiment(declared),
        "found": findings(measured, samples),
        "warnings": [without_paths(warning.text) for warning in run.warnings],
    }


def _experiment(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return what repeats a run, or why others cannot repeat it."""
    reason = why_private(declared)
    return {"public": public_part(declared)} if reason is None else {"private": reason}


def _levers(build: Build, measurement: EnclosedMeasurement | None) -> tuple[str, ...]:
    """Return how the levers are set that the measured server had, none without a measurement."""
    dbms = load_dbms(build.manifest.dbms)
    if measurement is None or not isinstance(dbms, ServerDbms):
        return ()
    return in_service(measurement.subject.levers, dbms)
