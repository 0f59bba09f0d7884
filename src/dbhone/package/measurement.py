"""A run's measurement as part of a package: raw samples, what was found in them, and found again.

The samples are a CSV file with a line for each measurement. What was found is computed of them by
hone's own analysis, here when the package is made and again when it is checked.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from dbhone.analysis.comparison import analyse
from dbhone.analysis.estimate import CONFIDENCE
from dbhone.analysis.trust import trusted_subjects
from dbhone.analysis.verdict import Analysis, Effect, Summary, fastest_of, overall
from dbhone.analysis.warnings import refused
from dbhone.errors import PackageError
from dbhone.measurement.metric import BY_NAME
from dbhone.measurement.record import Group, Role, Run, Step, Subject
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.stall_noise import StallNoise
from dbhone.package.content import public_training, without_paths

_KEYS = ("block", "subject", "step")
_WITHIN = "log_throughput_variance"
"""The column of the variance that a block's rounds show of the logarithm of its throughput."""
_STALLS = ("seen_stall_variance", "stall_variance", "stall_third_cumulant")
"""The columns of the noise that stalls bring into that logarithm, if there were any."""
_DIGITS = 7
_MOST_LINES = 2_000_000
_MOST_VALUES = 50_000_000
"""Of an array of samples, 400 MB: lines that share nothing would make one without end."""
_MOST_LAYOUTS = 1000

_OF_BOTH = (
    *("subject", "group", "in_sample", "metric", "ratio", "low", "high", "blocks"),
    *("p_value", "p_adjusted", "verdict", "findable"),
)
# What a package says must not follow from the analysis's types: packages of before stay checkable.
_OF_EFFECT = (*_OF_BOTH, "step", "part")
_OF_SUMMARY = (*_OF_BOTH, "steps", "mean", "median", "minimum", "maximum", "standard_deviation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Whose samples they are: what the analysis needs to know, as plain values."""

    base: str
    controls: tuple[str, ...]
    candidates: tuple[str, ...]
    steps: tuple[Step, ...]
    layouts: Annotated[int, Field(ge=0, le=_MOST_LAYOUTS)] = 0

    @classmethod
    def of_run(cls, run: Run, samples: SampleArray, *, titles: bool = True) -> Measured:
        """Return what the analysis needs to know of a run. Raises PackageError without a base.

        Without ``titles`` steps are called by their keys: a captured step's title is a query.
        """
        if run.base is None:
            raise PackageError(f"run {run.id} has measured nothing")
        return cls(
            base=run.base.name,
            controls=run.controls,
            candidates=tuple(
                subject.name
                for subject in trusted_subjects(run, (*refused(run, samples), *run.warnings))
                if subject.role is Role.CANDIDATE and subject.broken is None
            ),
            steps=tuple(
                step if titles else dataclasses.replace(step, title=step.key or step.set)
                for step in run.steps
            ),
            layouts=run.layouts,
        )

    @classmethod
    def of_json(cls, values: object) -> Measured:
        """Return it as ``to_json`` wrote it. Raises PackageError for anything else."""
        try:
            return _JSON.validate_python(values)
        except ValidationError as error:
            raise PackageError("the package's measurement is malformed") from error

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        values: dict[str, Any] = _JSON.dump_python(self, mode="json")
        return values


_JSON = TypeAdapter(Measured)


def findings(measured: Measured, samples: SampleArray) -> dict[str, Any]:
    """Return what hone's analysis finds in samples, as plain values: effects, summaries, winner."""
    analysis = analyse(
        samples.in_layouts(measured.layouts),
        base=measured.base,
        steps=measured.steps,
        controls=measured.controls,
    )
    return {
        "confidence": CONFIDENCE,
        "blocks": analysis.blocks,
        "winner": _winner(analysis, measured.candidates),
        "summaries": [_plain(summary, _OF_SUMMARY) for summary in analysis.summaries],
        "effects": [_plain(effect, _OF_EFFECT) for effect in analysis.effects],
    }


def _winner(analysis: Analysis, candidates: Iterable[str]) -> str | None:
    """Return the fastest of the candidates that are faster than the base, None if none is."""
    scores = (overall(analysis, name) for name in candidates)
    best = fastest_of(score for score in scores if score is not None)
    return None if best is None else best.subject


def _plain(record: Effect | Summary, names: Iterable[str]) -> dict[str, Any]:
    return {name: _value(getattr(record, name)) for name in names}


def _value(value: Any) -> Any:
    if isinstance(value, Group):
        return value.value
    if isinstance(value, float):
        # No measurement here knows more, and another machine's libraries may round otherwise.
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return str(value) if isinstance(value, str) else value


def to_csv(samples: SampleArray) -> bytes:
    """Return the samples, a line for each measurement; numbers are exact."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    stalls = samples.stalls
    writer.writerow((*_KEYS, *samples.metrics, _WITHIN, *(_STALLS if stalls else ())))
    for block, number in enumerate(samples.blocks):
        for subject, step in np.argwhere(samples.measured[:, :, block]):
            at = subject, step, block
            values = [*samples.values[subject, step, :, block], samples.within[at]]
            if stalls is not None:
                values += stalls[at].cumulants[0].tolist()
            cells = ("" if math.isnan(value) else repr(float(value)) for value in values)
            writer.writerow((int(number), samples.subjects[subject], samples.steps[step], *cells))
    return text.getvalue().encode()


def of_csv(data: bytes) -> SampleArray:
    """Return the samples that ``to_csv`` wrote. Raises PackageError for anything else."""
    try:
        lines = list(islice(csv.reader(io.StringIO(data.decode())), _MOST_LINES + 2))
        header, rows = lines[0], lines[1:]
        metrics = tuple(header[len(_KEYS) : header.index(_WITHIN)])
        known = (*_KEYS, *metrics, _WITHIN)
        if tuple(header) not in (known, (*known, *_STALLS)) or len(rows) > _MOST_LINES:
            raise ValueError("header")
        unknown = [name for name in metrics if name not in BY_NAME]
        if unknown:
            raise PackageError(f"this hone does not know the metric {unknown[0]}")
        return _array(header[len(_KEYS) :], rows)
    except (ValueError, IndexError, OverflowError, csv.Error) as error:
        raise PackageError("the package's samples are malformed") from error


def _array(names: Sequence[str], rows: Sequence[Sequence[str]]) -> SampleArray:
    subjects, steps = (_places(row[at] for row in rows) for at in (1, 2))
    blocks = [int(row[0]) for row in rows]
    if len(subjects) * len(steps) * len(set(blocks)) * len(names) > _MOST_VALUES:
        raise PackageError("the package's samples are too many to be those of one run")
    columns = {
        name: np.array([_number(row[len(_KEYS) + at]) for row in rows], dtype=np.float64)
        for at, name in enumerate(names)
    }
    within = columns.pop(_WITHIN)
    stalls = [columns.pop(name) for name in _STALLS if name in names]
    return SampleArray.of_columns(
        subjects=tuple(subjects),
        steps=tuple(steps),
        subject=np.array([subjects[row[1]] for row in rows], dtype=np.int32),
        step=np.array([steps[row[2]] for row in rows], dtype=np.int32),
        block=np.array(blocks, dtype=np.int32),
        values=columns,
        within=within,
        stalls=StallNoise.of_levels(*stalls) if stalls else None,
    )


def _places(names: Iterable[str]) -> dict[str, int]:
    """Return names, each once, with their places."""
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _number(cell: str) -> float:
    return float(cell) if cell else math.nan


def machine_of(run: Run) -> dict[str, Any]:
    """Return what the machine was that measured, without what would tell whose it is."""
    machine = run.machine
    return {
        "cpu_model": machine.cpu_model,
        "cores": machine.cores,
        "memory_bytes": machine.memory_bytes,
        "kernel": machine.kernel,
        "distribution": machine.distribution,
        "virtualisation": machine.virtualisation,
        "governor": machine.governor,
    }


def subject_of(subject: Subject) -> dict[str, Any]:
    """Return how a subject was built, without settings, which may hold a user's values."""
    return {
        "name": subject.name,
        "role": subject.role.value,
        "variant": subject.variant,
        "compiler": subject.compiler,
        "flags": [without_paths(flag) for flag in subject.flags],
        "version": subject.version,
        "build": subject.build_digest,
        "source": subject.source_digest,
        "trained_on": public_training(subject.trained_on),
        "levers": list(subject.levers),
        "broken": subject.broken is not None,
    }
