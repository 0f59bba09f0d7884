"""Profiles: the counters of a training run, checked before a compiler may use them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbhone.account import take_back
from dbhone.compilation.counter_tool import MERGED
from dbhone.compilation.manifest import Build, TrainedProfile
from dbhone.compilation.profile_counts import Counters
from dbhone.compilation.transforms.base import CompilerFamily
from dbhone.errors import ProfileError
from dbhone.files import digest_of, digest_of_tree, open_to_all, publish, write_whole
from dbhone.home import Home
from dbhone.session import Session
from dbhone.untrusted_files import remove_tree

_DATA = "data"


class ProfileFacts(TrainedProfile):
    """The record beside a profile."""

    family: CompilerFamily
    compiler_identity: str
    source_digest: str
    instrumented_build: str
    files: int

    @property
    def name(self) -> str:
        """The name of the profile's folder; equal counters may be of two sources."""
        parts = {"trained_on", "digest", "source_digest", "compiler_identity"}
        return digest_of(self.model_dump(mode="json", include=parts))


@dataclass(frozen=True, slots=True)
class Profile:
    """A checked profile in its folder."""

    folder: Path
    facts: ProfileFacts

    @property
    def digest(self) -> str:
        """The digest of the counters."""
        return self.facts.digest

    @property
    def input_path(self) -> Path:
        """The path that is given to the compiler."""
        data = self.folder / _DATA
        return next(data.glob(f"{MERGED}.*"), data)

    def trained(self) -> TrainedProfile:
        """Return what a build that takes it keeps of it."""
        kept = self.facts.model_dump(include=set(TrainedProfile.model_fields))
        return TrainedProfile.model_validate(kept)

    def check_fits(self, *, source_digest: str | None, compiler_identity: str) -> None:
        """Raise ProfileError if it was made from another source or by another compiler.

        Without a ``source_digest`` any source will do.
        """
        if source_digest not in (None, self.facts.source_digest):
            raise ProfileError("the profile belongs to another source", hint="train again")
        if self.facts.compiler_identity != compiler_identity:
            raise ProfileError(
                f"the profile was made by another compiler ({self.facts.compiler_identity})",
                hint="train again with this one",
            )


def training_key(build: Build, workload: object) -> str:
    """Return the digest that names a training.

    Its parts are the instrumented build, the folder where it was compiled (``kept_builds.find``
    tells why), and the workload.
    """
    inputs = {"build": build.digest, "folder": build.manifest.folder, "workload": workload}
    return digest_of(inputs)


def find_profile(home: Home, build: Build, workload: object) -> Profile | None:
    """Return the profile of an earlier training of a build, None if there is none."""
    key = training_key(build, workload)
    try:
        name = (home.profiles / f"{key}.training").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return _read(home.profiles / name)


def find_used(home: Home, build: Build, used: TrainedProfile | None) -> Profile | None:
    """Return the profile that a build has taken, None if it took none.

    Raises ProfileError if the home no longer holds it.
    """
    if used is None:
        return None
    manifest = build.manifest
    for found in filter(None, map(_read, sorted(home.profiles.iterdir()))):
        facts = found.facts
        if (
            (facts.digest, facts.trained_on) == (used.digest, used.trained_on)
            and (manifest.inputs.profile_source or facts.source_digest == manifest.source_digest)
            and facts.compiler_identity == manifest.compiler_identity
        ):
            return found
    raise ProfileError(
        "the profile of this build is no longer kept", hint="build it again, which trains it, too"
    )


def _read(folder: Path) -> Profile | None:
    try:
        text = (folder / "profile.json").read_text(encoding="utf-8")
        facts = ProfileFacts.model_validate_json(text)
    except (OSError, ValueError):
        return None
    return Profile(folder, facts) if (folder / _DATA).is_dir() else None


def collect(
    build: Build,
    counters: Counters,
    workload: object,
    session: Session,
    *,
    began: float,
    trained_on: tuple[str, ...],
    seconds: float,
    iterations: int = 1,
) -> Profile:
    """Check the counters that the training of a build left, merge them if need be, and keep them.

    ``began`` is in seconds since the epoch, ``seconds`` the duration. ``iterations`` is how
    often the whole ``workload`` was run. Raises ProfileError if there are no counters, if they are
    older than the training, or if no function was executed.
    """
    files = _fresh_files(counters, began)
    counts = counters.read()
    if counts.functions_executed == 0:
        raise ProfileError(
            "the training executed no instrumented function: the profile is empty",
            hint="check that the driver runs the instrumented build",
        )
    data = counters.merge()
    if data.is_file():
        data = data.parent
    manifest = build.manifest
    assert manifest.family is not None, "a compiler made what was trained"
    facts = ProfileFacts(
        digest=digest_of_tree(data),
        family=manifest.family,
        compiler_identity=manifest.compiler_identity,
        source_digest=manifest.source_digest,
        instrumented_build=manifest.digest,
        instrumented_seconds=manifest.pass_seconds,
        trained_on=trained_on,
        training_seconds=seconds,
        training_rounds=iterations,
        files=len(files),
        functions=counts.functions,
        functions_executed=counts.functions_executed,
    )
    return _keep(facts, data, training_key(build, workload), session)


def _keep(facts: ProfileFacts, data: Path, key: str, session: Session) -> Profile:
    draft = session.workdir("profile")
    data.rename(draft / _DATA)
    take_back(draft)
    open_to_all(draft)
    write_whole(draft / "profile.json", facts.model_dump_json(indent=2) + "\n")
    final = session.home.profiles / facts.name
    if _read(final) is None:
        remove_tree(final)  # a damaged one, which would be kept
    publish(draft, final)
    write_whole(session.home.profiles / f"{key}.training", facts.name + "\n")
    return Profile(final, facts)


def _fresh_files(counters: Counters, began: float) -> tuple[Path, ...]:
    files = counters.files()
    if not files:
        raise ProfileError(
            "the training left no profile: there are no counters in its folder",
            hint="was the program killed before it could write, or could it not write there?",
        )
    # One second of slack: file systems keep coarser times than the clock.
    stale = [path for path in files if path.stat().st_mtime < began - 1]
    if stale:
        raise ProfileError(f"{len(stale)} profile files are older than the training")
    return files
