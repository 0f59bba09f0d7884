"""What a user may write in an experiment file, key by key. Nothing else is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dbhone.errors import UsageError
from dbhone.units import parse_duration, parse_percent


def _duration(value: object) -> object:
    return _parsed(value, parse_duration, "a duration such as 8m")


def _percent(value: object) -> object:
    return _parsed(value, parse_percent, "a percentage such as 2%")


def _parsed(value: object, parse: Callable[[str], float], wanted: str) -> float:
    if not isinstance(value, str):
        raise ValueError(f"write it as {wanted}, in quotes")
    try:
        return parse(value)
    except UsageError as error:
        raise ValueError(
            f"{error.message}: {error.hint}" if error.hint else error.message
        ) from None


Duration = Annotated[float, BeforeValidator(_duration)]
Percent = Annotated[float, BeforeValidator(_percent)]
Words = tuple[Annotated[str, Field(min_length=1)], ...]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SubjectSection(_Section):
    """``[subjects]``: one subject. ``like`` takes over what is not said here."""

    like: str | None = None
    dbms: str | None = None
    source: str | None = None
    variant: str | None = None
    compiler: str | None = None
    train: Annotated[Words | None, Field(strict=False)] = None
    rebuild: bool = False
    optional: bool = False


class TrainingSection(_Section):
    """``[training]``: what profile-guided subjects are trained on if they do not say."""

    sets: Annotated[Words, Field(strict=False, min_length=1)]
    size: str | None = None


class WorkloadSection(_Section):
    """``[workload]``: what all subjects are asked to do."""

    suite: str
    size: str = "quick"
    sets: Annotated[Words | None, Field(strict=False)] = None


class BlocksSection(_Section):
    """``blocks = { min = …, max = … }``: how many blocks at least and at most."""

    min: int = Field(default=6, ge=1, le=10_000)
    max: int = Field(default=200, ge=1, le=10_000)


class DesignSection(_Section):
    """``[design]``: when to stop measuring."""

    target: Percent = 0.02
    budget: Duration = 8 * 60.0
    seed: int = Field(default=1, ge=0, lt=2**32)
    blocks: BlocksSection = BlocksSection()


class ExperimentFile(_Section):
    """The whole file."""

    title: str = Field(min_length=1)
    base: str
    sources: dict[str, str] = Field(min_length=1)
    subjects: dict[str, SubjectSection] = Field(min_length=2)
    training: TrainingSection | None = None
    workload: WorkloadSection
    design: DesignSection = DesignSection()


SECTIONS: dict[str, type[BaseModel]] = {
    "": ExperimentFile,
    "subjects": SubjectSection,
    "training": TrainingSection,
    "workload": WorkloadSection,
    "design": DesignSection,
    "blocks": BlocksSection,
}
"""The sections by the name under which they stand, to tell the nearest valid key."""
