"""What a user may write in an experiment file, key by key, and where in the file a key stands.

Nothing else is accepted.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import ErrorDetails

from dbhone.compilation.inputs import BuildKeys, Words
from dbhone.errors import ExperimentError, UsageError, nearest
from dbhone.experiment.declaration.model import Placement, Servers, Slices
from dbhone.measurement.declared import DeclaredDesign
from dbhone.refusals import Size, in_words, parsed
from dbhone.units import parse_duration, parse_percent
from dbhone.verification.outcome import Grade
from dbhone.workload.suite import Regime

SEEDS = 2**32
"""How many seeds there are, from 0 on."""
LEAST_LAYOUTS, MOST_LAYOUTS = 6, 64
"""Blocks in the same layouts count as one, and a verdict needs six that do not."""
_USUAL = DeclaredDesign()


def _duration(value: object) -> object:
    return parsed(value, parse_duration, "a duration such as 8m")


def _percent(value: object) -> object:
    return parsed(value, parse_percent, "a percentage such as 2%")


def _setting(value: object) -> object:
    """Return a setting as a settings file writes it; TOML's own types may be used."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float) else value


def _data(value: object) -> object:
    """Refuse what is no data, in one sentence instead of one for each type that it is not."""
    table = value.values() if isinstance(value, dict) else ()
    wrong = any(isinstance(each, bool) or not isinstance(each, int | str) for each in table)
    if wrong or not isinstance(value, str | dict):
        raise ValueError(
            "write the path of a dump, or a table of whole numbers and words,"
            " such as { rows = 100000 }"
        )
    return value


def _one_of(words: type[StrEnum]) -> BeforeValidator:
    """Return what reads one of these words, and refuses all others."""

    def read(value: object) -> StrEnum:
        known = [word.value for word in words]
        if value not in known:
            raise ValueError(f"write one of {', '.join(known)}")
        return words(value)

    return BeforeValidator(read)


Duration = Annotated[float, BeforeValidator(_duration, json_schema_input_type=str)]
Percent = Annotated[float, BeforeValidator(_percent, json_schema_input_type=str)]
_Written = BeforeValidator(_setting, json_schema_input_type=str | int | float | bool)
Settings = dict[str, Annotated[str, _Written]]
Values = tuple[Annotated[str, _Written], ...]
Numbers = tuple[Annotated[int, Field(ge=1, le=100_000)], ...]


Data = str | dict[str, int | str]
"""What is loaded: a dump, or keys of the suite's driver."""
_Data = Annotated[Data, BeforeValidator(_data)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def keys_of_data(data: Data) -> dict[str, int | str]:
    """Return data by the keys of its driver: a path alone is that of a dump."""
    return {"dump": data} if isinstance(data, str) else {**data}


class SubjectSection(BuildKeys):
    """``[subjects]``: one subject. It takes what is not said here from the subject it is ``like``.

    The inputs of its build are ``BuildKeys``. It is to ``train`` on sets of the suite
    ``train_suite``, at the size ``train_size``; its profile is that of the source
    ``profile_source`` if one is named. With ``vary`` it stands for several subjects: one for each
    combination of the settings' values.
    """

    like: str | None = None
    source: str = ""
    variant: str = ""
    train: Words = ()
    train_suite: str | None = Field(default=None, min_length=1)
    train_size: str | None = Field(default=None, min_length=1)
    profile_source: str | None = Field(default=None, min_length=1)
    settings: Settings = Field(default_factory=dict)
    levers: Words = ()
    vary: dict[str, Annotated[Values, Field(strict=False, min_length=1)]] = Field(
        default_factory=dict
    )
    rebuild: bool = False
    optional: bool = False


class TrainingSection(_Section):
    """``[training]``: what profile-guided subjects are trained on if they do not say.

    The ``suite`` is the workload's unless another is given; ``data`` is that of a workload
    file. ``shares`` says for how long a set is run in comparison with others, which have 1.
    ``command`` is run once against the server, after the sets or instead of them, for at most
    ``timeout``.
    """

    suite: str | None = Field(default=None, min_length=1)
    data: _Data = {}
    sets: Annotated[Words | None, Field(min_length=1)] = None
    command: Words = ()
    timeout: Duration = 3600.0
    size: str | None = None
    shares: dict[str, Annotated[float, Field(gt=0, le=1000, strict=False)]] = {}


class WorkloadSection(_Section):
    """``[workload]``: what all subjects are asked to do.

    ``suite`` names a suite, or is the path of a file beside this one: a suite's, a workload file,
    or a script for pgbench. ``data`` says how much is loaded by the driver's own keys, or is the
    path of a dump; ``tables``, ``rows`` and ``statements`` are the keys of sysbench.
    """

    suite: str
    size: str = "quick"
    sets: Annotated[Words | None, Field(min_length=1)] = None
    threads: Annotated[Numbers | None, Field(strict=False, min_length=1)] = None
    regime: Annotated[Regime, _one_of(Regime)] = Regime.CACHED
    tables: int | None = Field(default=None, ge=1, le=10_000)
    rows: int | None = Field(default=None, ge=100)
    statements: Literal["prepared", "text"] | None = None
    data: _Data = {}
    seconds: Duration | None = None
    cache: Size | None = None


class ConfigSection(_Section):
    """``[config]``: the servers' settings, for all subjects.

    ``use`` names a config, ``file`` a settings file beside the experiment; ``set`` goes before
    ``file``, and that before ``use``. With ``drop_unknown`` a setting that a version lacks is
    left out, with a footnote.
    """

    use: str | None = Field(default=None, min_length=1)
    file: str | None = Field(default=None, min_length=1)
    set: Settings = {}
    drop_unknown: bool = False


class ObserveSection(_Section):
    """``[observe]``: what is read of the servers while they are measured."""

    enabled: bool = True
    every: Annotated[Duration, Field(ge=0.5, le=60)] = 1.0
    counters: Words = ()


class VerificationSection(_Section):
    """``[verification]``: how thoroughly builds are verified before they are measured.

    Without a grade only the workload's answers are compared.
    """

    grade: Annotated[Grade | None, _one_of(Grade)] = None


class HistorySection(_Section):
    """``[history]``: the subjects are versions of one DBMS, in this order, the oldest first."""

    order: Annotated[Words, Field(min_length=2)]


class BlocksSection(_Section):
    """``blocks = { min = …, max = … }``: how many blocks at least and at most."""

    min: int = Field(default=6, ge=1, le=10_000)
    max: int = Field(default=200, ge=1, le=10_000)


def _layouts(number: int) -> int:
    """Return a number of layouts. Raises ValueError where no verdict could come of so many."""
    if number == 0 or LEAST_LAYOUTS <= number <= MOST_LAYOUTS:
        return number
    raise ValueError(f"take {LEAST_LAYOUTS} to {MOST_LAYOUTS} layouts, or 0 for the usual one")


class DesignSection(_Section):
    """``[design]``: how to measure, when to stop, and whether CPUs may sleep meanwhile.

    ``servers`` says how many servers are up at once, ``placement`` on which CPUs they and their
    clients run. With ``control``, which is usual, the base is measured twice, whether or not the
    file has a subject for that. With ``stop_early`` measuring ends as soon as every candidate's
    summary is clear. ``tolerance`` is the loss that `hone compare` tolerates. With ``layouts``
    every build is linked in so many random orders of its functions, and each start of a subject
    takes one of them.
    """

    target: Percent = _USUAL.target
    budget: Duration = _USUAL.budget_seconds
    seed: int = Field(default=_USUAL.seed, ge=0, lt=SEEDS)
    blocks: BlocksSection = BlocksSection()
    awake: bool = False
    slices: Annotated[Slices, _one_of(Slices)] = Slices.AUTO
    servers: Annotated[Servers, _one_of(Servers)] = Servers.AUTO
    placement: Annotated[Placement, _one_of(Placement)] = Placement.AUTO
    allot: bool = True
    control: bool = True
    stop_early: bool = False
    tolerance: Percent | None = None
    layouts: Annotated[int, AfterValidator(_layouts)] = 0


class ExperimentFile(_Section):
    """The whole file. ``files`` are what the user's suite is made of, as a run recorded them."""

    title: str = Field(min_length=1)
    base: str
    sources: dict[str, str] = Field(min_length=1)
    subjects: dict[str, SubjectSection]
    training: TrainingSection | None = None
    workload: WorkloadSection
    config: ConfigSection = ConfigSection()
    observe: ObserveSection = ObserveSection()
    verification: VerificationSection = VerificationSection()
    history: HistorySection | None = None
    design: DesignSection = DesignSection()
    files: dict[str, str] = {}


SECTIONS: dict[str, type[BaseModel]] = {
    "": ExperimentFile,
    "subjects": SubjectSection,
    "training": TrainingSection,
    "workload": WorkloadSection,
    "config": ConfigSection,
    "observe": ObserveSection,
    "verification": VerificationSection,
    "history": HistorySection,
    "design": DesignSection,
    "blocks": BlocksSection,
}
"""The sections by the name under which they stand, to tell the nearest valid key."""


class Locator:
    """Says where in a file something stands.

    What a command wrote of its ``options``, here by the paths of keys, the user gave as an option.
    """

    def __init__(self, name: str, text: str, options: Mapping[str, str]) -> None:
        self.name = name
        self.text = text
        self._options = options

    def at(self, *keys: str) -> str:
        """Return ``FILE:LINE: key.path``, or the option that the key is from.

        The line is named only when the key stands on just one.
        """
        paths = (".".join(keys[:length]) for length in range(len(keys), 0, -1))
        option = next((self._options[path] for path in paths if path in self._options), None)
        if option is not None:
            return option
        word = re.escape(next((key for key in reversed(keys) if not key.isdecimal()), keys[-1]))
        pattern = re.compile(rf"^\s*\[.*\b{word}\s*\]|(?:^|[{{,])\s*\"?{word}\"?\s*=", re.MULTILINE)
        positions = [match.end() for match in pattern.finditer(self.text)]
        line = f":{self.text.count(chr(10), 0, positions[0]) + 1}" if len(positions) == 1 else ""
        return f"{self.name}{line}: {'.'.join(keys)}"

    @contextlib.contextmanager
    def located(self, *keys: str) -> Iterator[None]:
        """Say of a complaint about what stands at these keys where in the file that is."""
        try:
            yield
        except UsageError as error:
            message = f"{self.at(*keys)}: {error.message}"
            raise ExperimentError(message, hint=error.hint) from None

    def refusal(self, error: ErrorDetails) -> ExperimentError:
        """Return one of pydantic's findings in our words."""
        keys = tuple(str(part) for part in error["loc"])
        where = self.at(*keys) if keys else self.name
        if error["type"] == "extra_forbidden":
            known = _known_keys(keys)
            return ExperimentError(f"{where}: there is no such key", hint=nearest(keys[-1], known))
        if error["type"] == "missing":
            return ExperimentError(f"{self.name}: '{'.'.join(keys)}' is missing")
        if error["type"] in ("tuple_type", "list_type"):
            return ExperimentError(f"{where}: give a list, such as [{_written(error)}]")
        section = next((name for name in reversed(keys) if name in SECTIONS), None)
        of_table = tuple(SECTIONS[section].model_fields) if section is not None else ()
        return ExperimentError(f"{where}: {in_words(error, of_table)}")


def _written(error: ErrorDetails) -> str:
    """Return the value that was given, as it stands in a file; a number without quotes."""
    value = error["input"]
    if isinstance(value, str) and value.isascii() and value.isdecimal():
        return value
    return json.dumps(value, default=str)


def _known_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    sections = [part for part in keys[:-1] if part in SECTIONS]
    return tuple(SECTIONS[sections[-1] if sections else ""].model_fields)
