"""Whether the compiler did what a build's variant asks for: took its flags, and its profile."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbhone.compilation.compile_commands import CompileCommand
from dbhone.compilation.manifest import ProfileUse
from dbhone.compilation.profile import Profile
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.transforms.base import Flags

WRONG_PROFILE = "the profile does not match the source that is built"
_MISSING_PROFILE = re.compile(rb"profile count data file not found|no profile data available")
_MISMATCH = re.compile(rb"\[-W(?:error=)?coverage-mismatch\]|profile data may be (?:corrupted|out)")
_CHANGED_FUNCTION = re.compile(
    rb"(?:control flow of|profile data for) function (.{1,2000}?) does not match its profile data"
    rb"|function control flow change detected \(hash mismatch\) (\S{1,2000})"
)
_NAMESAKES = 0.01
"""The share of the functions in clang's profile that may have the name of one that is no part of
it. Programs that a build makes for its own use have a ``main`` each."""
_LAST_COUNTS = ("-O", "-march=")
"""The beginnings of flags of which a compiler obeys the last."""
_OWN_WAY = 0.01
"""The share of the compile commands in which another such flag may come last. On ARM, trees compile
their checksums by a ``-march`` of their own: in PostgreSQL one file of 800."""


def flags_problem(flags: Flags, compiled: tuple[CompileCommand, ...]) -> str | None:
    """Return which of a variant's flags missed compile commands or had no effect; None if none."""
    if not compiled:
        return "no compile command was seen: the build did not use the compiler it was given"
    for flag in flags.proof:
        missing = sum(flag not in command.argv for command in compiled)
        if missing:
            return f"{flag} did not reach {missing} of {len(compiled)} compile commands"
        overriding = [last for last in _last_of_kind(flag, compiled) if last != flag]
        if len(overriding) > _OWN_WAY * len(compiled):
            return (
                f"{overriding[0]} overrides {flag} in {len(overriding)} of {len(compiled)}"
                " compile commands"
            )
    return None


def profile_problem(
    spec: BuildSpec, compiled: tuple[CompileCommand, ...], log: bytes
) -> str | None:
    """Return why the compiler did not take the profile that it was given, None if it did."""
    if has_wrong_profile(spec, log):
        return WRONG_PROFILE
    # MySQL's tree silences the warning for the libraries that it brings.
    telling = sum(command.tells_missing_profile for command in compiled)
    if _without_profile(log) >= telling:
        return "the compiler found no profile for any of the files that it compiled"
    return None


def profile_use(
    spec: BuildSpec, profile: Profile, compiled: tuple[CompileCommand, ...], log: bytes
) -> ProfileUse:
    """Return how the compiler took the profile, by the log of the build."""
    return ProfileUse(
        **profile.trained().model_dump(),
        units=len(compiled),
        units_without_profile=_without_profile(log),
        functions_changed=len(_changed_functions(log)) if _has_foreign_profile(spec) else 0,
    )


def has_wrong_profile(spec: BuildSpec, log: bytes) -> bool:
    """Return whether the log says that the profile, of this very source, does not fit it."""
    if spec.profile is None or _has_foreign_profile(spec):
        return False
    namesakes = max(1.0, _NAMESAKES * spec.profile.facts.functions_executed)
    return bool(_MISMATCH.search(log)) or len(_changed_functions(log)) > namesakes


def _has_foreign_profile(spec: BuildSpec) -> bool:
    return spec.inputs.profile_source is not None


def _without_profile(log: bytes) -> int:
    return len(_MISSING_PROFILE.findall(log))


def _last_of_kind(flag: str, compiled: tuple[CompileCommand, ...]) -> Iterator[str]:
    """Yield the flag that each command obeys, if ``flag`` is of a kind whose last one counts."""
    kind = next((kind for kind in _LAST_COUNTS if flag.startswith(kind)), None)
    if kind is not None:
        for command in compiled:
            yield [word for word in command.argv if word.startswith(kind)][-1]


def _changed_functions(log: bytes) -> set[tuple[bytes, ...]]:
    """Return the names of the functions that are not as they were when the profile was trained."""
    return set(_CHANGED_FUNCTION.findall(log))
