"""The space of a search: variants × compilers, and levers, as far as this machine has them.

The order is that of promise: what is likely to be the best is built first, and what the budget has
no time for is left out from the end. What was measured here and elsewhere decides the order
(docs/tune.md).
"""

from __future__ import annotations

import dataclasses
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbhone.compilation.distribution_rules import allows, check_allowed
from dbhone.compilation.inputs import USUAL_COMPILER
from dbhone.compilation.toolchain import Compiler, check_name, find_compiler
from dbhone.compilation.transforms.base import CompilerFamily
from dbhone.compilation.variant import USUAL, parse_variant
from dbhone.dbms.base import Dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import HoneError, UsageError
from dbhone.experiment.declaration.subject_names import fitting_name
from dbhone.experiment.plan.goals import BOLT, CLANG, Goal, goals
from dbhone.instance.applied_levers import canonical, refusal
from dbhone.instance.levers.base import LeverContext

BASE = USUAL
"""The name of the base, which is the usual variant by the usual compiler."""
_VARIANTS = (
    "lto+pgo+bolt",
    "lto+pgo",
    "lto+pgo+nointerpose",
    "lto",
    "lto+pgo+v3",
    "pgo",
)
_LEVERS = ("jemalloc", "tcmalloc", "mimalloc", "huge-pages")
NO_LEVERS = ("none",)
_NUMBERED = "{}-[0-9]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One point of the space. ``levers`` are canonical words.

    ``name`` is what it is called as a subject: ``clang-19+lto+pgo+jemalloc``.
    """

    variant: str
    compiler: str
    levers: tuple[str, ...] = ()
    name: str

    @classmethod
    def of(cls, variant: str, compiler: str, label: str) -> Candidate:
        """Return the build of a variant by a compiler that names call ``label``."""
        own = () if variant == BASE and label else (variant,)
        name = fitting_name("+".join((*((label,) if label else ()), *own)))
        return cls(variant=variant, compiler=compiler, name=name)

    def with_lever(self, word: str) -> Candidate:
        """Return the same build with a lever."""
        return dataclasses.replace(self, levers=(word,), name=fitting_name(self.name, f"+{word}"))

    @property
    def words(self) -> tuple[str, ...]:
        """The transforms and levers that set it apart from its compiler's plain build."""
        return (*(word for word in self.variant.split("+") if word != BASE), *self.levers)

    def section(self) -> dict[str, Any]:
        """Return it as a subject of an experiment file."""
        section: dict[str, Any] = {"like": BASE}
        if self.compiler != USUAL_COMPILER:
            section["compiler"] = self.compiler
        if self.variant != BASE:
            section["variant"] = self.variant
        return section | ({"levers": list(self.levers)} if self.levers else {})


def candidate_of(name: str, section: Mapping[str, Any]) -> Candidate:
    """Return the candidate of that name that ``Candidate.section`` wrote."""
    return Candidate(
        name=name,
        variant=section.get("variant", BASE),
        compiler=section.get("compiler", USUAL_COMPILER),
        levers=tuple(section.get("levers", ())),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """The candidates in the order of promise, and why others of the space are none.

    ``levers`` are tried on the best build, but for those that are among the ``left_out``.
    """

    candidates: tuple[Candidate, ...]
    levers: tuple[str, ...]
    left_out: dict[str, str]


def find_space(
    dbms: Dbms,
    variants: tuple[str, ...] = (),
    compilers: tuple[str, ...] = (),
    levers: tuple[str, ...] = (),
    cache_bytes: int = 0,
    packaging: str | None = None,
) -> Space:
    """Return the space for a DBMS on this machine; what is empty is chosen by hone.

    ``cache_bytes`` is how large the cache of a server will be. With a ``packaging`` there is only
    what a distribution's rules can make. Raises UsageError or ToolError if something that was asked
    for is impossible, or if nothing is possible.
    """
    chosen = tuple(dict.fromkeys(compilers)) or usual_compilers()
    wanted = variants or _VARIANTS
    refusals = {one: _refusal(one, dbms, packaging) for one in _product(wanted, chosen)}
    candidates = [one for one, reason in refusals.items() if reason is None]
    possible = {BASE, *(one.variant for one in candidates)}
    left_out: dict[str, str] = {}
    for refused, reason in refusals.items():
        if reason is None:
            continue
        if variants and (compilers or refused.variant not in possible):
            raise UsageError(f"{refused.name}: {reason}")
        if variants or not _is_meaningless(refused, dbms, packaging):
            left_out[refused.name] = reason
    if not candidates:
        if not left_out:
            raise UsageError(
                "there is no build to try besides the base, which is rel by gcc",
                hint="name another variant, or another compiler",
            )
        reasons = "; ".join(dict.fromkeys(left_out.values()))
        raise UsageError(f"no build can be tried here: {reasons}", hint="'hone doctor' says more")
    found = _levers_of(dbms, levers)
    _check_names(candidates, found)
    left_out |= _lacking(dbms, found, cache_bytes)
    return Space(candidates=tuple(candidates), levers=found, left_out=left_out)


def _check_names(candidates: Sequence[Candidate], levers: Sequence[str]) -> None:
    """Raise UsageError if two candidates would have the same name, with a lever or without."""
    with_levers = (candidate.with_lever(word) for candidate in candidates for word in levers)
    names = Counter(candidate.name for candidate in (*candidates, *with_levers))
    same = next((name for name, count in names.items() if count > 1), None)
    if same is not None:
        raise UsageError(
            f"two candidates would be called {same}",
            hint="name fewer variants, compilers or levers",
        )


def _labels(compilers: Sequence[str]) -> dict[str, str]:
    """Return what names call compilers: their programs, and the base's compiler not at all.

    Programs of one name are told apart by their major version, and else by a number.
    """
    names = Counter(Path(compiler).name for compiler in compilers)
    labels: dict[str, str] = {}
    for compiler in compilers:
        name = Path(compiler).name
        found = _compiler(compiler) if names[name] > 1 else None
        label = first = name if found is None else f"{name}-{found.major}"
        number = 1
        while label in labels.values():
            number += 1
            label = f"{first}-{number}"
        labels[compiler] = "" if compiler == USUAL_COMPILER else label
    return labels


def _levers_of(dbms: Dbms, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levers that are tried one by one, in canonical words."""
    if not isinstance(dbms, ServerDbms):
        if words and words != NO_LEVERS:
            raise UsageError(
                f"{dbms.title} is not a server and has no levers", hint="leave them out"
            )
        return ()
    if words == NO_LEVERS:
        return ()
    return tuple(dict.fromkeys(canonical((word,))[0] for word in words or _LEVERS))


def _lacking(dbms: Dbms, levers: Sequence[str], cache_bytes: int) -> dict[str, str]:
    """Return the levers that this machine lacks, with the reasons."""
    if not isinstance(dbms, ServerDbms):
        return {}
    context = LeverContext(value="", dbms=dbms, cache_bytes=cache_bytes, servers=1)
    refusals = {word: refusal((word,), context) for word in levers}
    return {
        word: f"{reason.reason} ({reason.hint})" if reason.hint else reason.reason
        for word, reason in refusals.items()
        if reason is not None
    }


def usual_compilers() -> tuple[str, ...]:
    """Return the newest gcc and the newest clang of this machine, as far as it has them."""
    newest = (_newest(family) for family in CompilerFamily)
    return tuple(name for name in newest if name is not None)


def goals_for_more(variants: tuple[str, ...], compilers: tuple[str, ...]) -> tuple[Goal, ...]:
    """Return the goals that would make the space wider: clang and BOLT, where they are missing.

    Who names variants or compilers wants no others.
    """
    names = []
    if not compilers and CompilerFamily.CLANG not in map(check_name, usual_compilers()):
        names.append(CLANG)
    if not variants:
        names.append(BOLT)
    return tuple(goal for name in names for goal in goals((name,)) if not goal.ready)


def _newest(family: CompilerFamily) -> str | None:
    """Return the shortest name of a family's newest compiler."""
    names = {family.value}
    for folder in filter(None, (shutil.which(family.value), "/usr/bin/-")):
        names |= {
            path.name
            for path in Path(folder).parent.glob(_NUMBERED.format(family.value))
            if path.name.removeprefix(f"{family.value}-").isdecimal()
        }
    compilers = [(name, _compiler(name)) for name in sorted(names)]
    known = [
        (compiler.major, -len(name), name) for name, compiler in compilers if compiler is not None
    ]
    return max(known)[-1] if known else None


def _compiler(name: str) -> Compiler | None:
    try:
        return find_compiler(name)
    except HoneError:
        return None


def _product(variants: Iterable[str], compilers: tuple[str, ...]) -> Iterator[Candidate]:
    """Yield each variant by each compiler. The plain build by another compiler comes last."""
    labels = _labels(compilers)
    plain = (BASE,) if len(compilers) > 1 else ()
    written: dict[str, str] = {}
    for text in (*variants, *plain):
        written.setdefault(_full_name(text), text)  # one variant may be written in several ways
    base = _full_name(BASE)
    for name, text in written.items():
        for compiler in compilers:
            if (name, compiler) != (base, USUAL_COMPILER):
                yield Candidate.of(text, compiler, labels[compiler])


def _full_name(variant: str) -> str:
    """Return the full name of a variant, or the text of what is none: to build it is refused."""
    try:
        return parse_variant(variant).name
    except HoneError:
        return variant


def _refusal(candidate: Candidate, dbms: Dbms, packaging: str | None) -> str | None:
    """Return why a candidate cannot be built here, None if nothing is known to speak against it."""
    try:
        variant = parse_variant(candidate.variant)
        compiler = find_compiler(candidate.compiler)
        if packaging is not None:
            check_allowed(variant, compiler)
        variant.check(compiler)
        variant.check_artifact(dbms)
    except HoneError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    return None


def _is_meaningless(candidate: Candidate, dbms: Dbms, packaging: str | None) -> bool:
    """Return whether no machine could build it so: then it is left out without a word."""
    family = check_name(candidate.compiler)
    compiler = find_compiler(candidate.compiler)
    variant = parse_variant(candidate.variant)
    if packaging is not None and not allows(variant, compiler):
        return True
    return any(
        transform.refusal(family, compiler.major) is not None
        or (transform.for_library and not dbms.is_library)
        for transform in variant.transforms
    )
