"""The experiment that measured a package, as far as others may see it, to be executed once more.

A user's experiment may name private folders, queries and settings. One that does is not enclosed,
and the package says why. What a package encloses comes from outside: it is held to the same rules
before it is executed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dbhone.analysis.precision import half_width
from dbhone.measurement.metric import THROUGHPUT
from dbhone.measurement.record import Run
from dbhone.package.content import public_reference, without_paths
from dbhone.source.fixes import is_patch
from dbhone.workload.suite import is_users_file

_LEFT_OUT = frozenset({"title", "files"})
_PLAIN_VALUE = re.compile(r"-?\d+(?:\.\d+)?\s?[A-Za-z%]{0,3}|[A-Z_]+|[a-z]{1,8}\d{0,2}")
"""A setting that is a number, a size, a switch or a keyword."""
_TELLING_NAME = re.compile(r"pass|secret|key|user|conn|host|name|command|librar|path")
"""A setting whose keyword may nevertheless be a user's secret."""


def public_part(declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return an experiment file's content without its title and without a user's files."""
    return {key: value for key, value in declared.items() if key not in _LEFT_OUT}


def as_measured(declared: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """Return an experiment file's content with the design by which a run was measured."""
    otherwise = run.design_otherwise
    if not otherwise:
        return dict(declared)
    return {**declared, "design": {**_table(declared, "design"), **otherwise}}


def why_private(declared: Mapping[str, Any]) -> str | None:
    """Return why an experiment is its user's alone; None if others may see and execute it."""
    return next(_reasons(public_part(declared)), None)


def has_own_workload(declared: Mapping[str, Any]) -> bool:
    """Return whether an experiment measures or trains on a suite or a workload of its user's."""
    suites = [
        _table(declared, "workload").get("suite"),
        _table(declared, "training").get("suite"),
        *(subject.get("train_suite") for subject in _subjects(declared)),
    ]
    return any(is_users_file(str(suite)) or "/" in str(suite) for suite in suites if suite)


def _subjects(declared: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in _table(declared, "subjects").values() if isinstance(one, Mapping)]


def _reasons(declared: Mapping[str, Any]) -> Iterator[str]:
    """Yield why an experiment is its user's alone."""
    subjects = _subjects(declared)
    if has_own_workload(declared):
        yield "its workload is its user's own"
    if _table(declared, "training").get("command"):
        yield "it was trained by a command of its user's"
    sources = [str(source) for source in _table(declared, "sources").values()]
    if any(source != public_reference(source) for source in sources):
        yield "its source is a folder, or an account, of its user's"
    fixes = [fix for one in (declared, *subjects) for fix in _list(one, "fixes")]
    if any(is_patch(str(fix)) for fix in fixes):
        yield "it applies a patch of its user's"
    config = _table(declared, "config")
    settings = [_table(config, "set")]
    settings += [_table(one, key) for one in subjects for key in ("settings", "vary")]
    if "file" in config or not all(map(_are_plain, settings)):
        yield "it has settings of its user's"
    others = {key: value for key, value in declared.items() if key != "sources"}
    if any(text != without_paths(text) for text in _texts(others)):
        yield "it names a path of its user's machine"


def _are_plain(settings: Mapping[str, Any]) -> bool:
    """Return whether settings tell nothing of their user."""
    return all(
        _PLAIN_VALUE.fullmatch(text) and not _TELLING_NAME.search(name)
        for name, value in settings.items()
        for text in _texts(value)
    )


def _table(declared: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = declared.get(name, {})
    return found if isinstance(found, Mapping) else {}


def _list(declared: Mapping[str, Any], name: str) -> list[Any]:
    found = declared.get(name, [])
    return found if isinstance(found, list) else [found]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, own in value.items():
            yield from (*_texts(key), *_texts(own))
    elif isinstance(value, list):
        for own in value:
            yield from _texts(own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A subject's ratio to the base over all held-out or all in-sample steps, with its interval."""

    in_sample: bool
    ratio: float
    low: float
    high: float
    verdict: str

    @property
    def steps(self) -> str:
        """Over which steps it is."""
        return "in-sample" if self.in_sample else "held-out"

    def agrees_with(self, other: Gain) -> bool:
        """Return whether two measurements differ by no more than their intervals allow.

        The half-widths of independent intervals add as squares, on the logarithmic scale.
        """
        halves = (half_width(self) or 0.0, half_width(other) or 0.0)
        allowed = math.hypot(*map(math.log1p, halves))
        return abs(math.log(self.ratio / other.ratio)) <= allowed


def gains(summaries: Iterable[Mapping[str, Any]], subject: str | None) -> tuple[Gain, ...]:
    """Return a subject's gains in throughput, those with an interval, of summaries' values."""
    return tuple(
        Gain(**{name: one[name] for name in ("in_sample", "ratio", "low", "high", "verdict")})
        for one in summaries
        if (one["subject"], one["metric"], one["group"]) == (subject, THROUGHPUT.name, None)
        and one["low"] is not None
    )
