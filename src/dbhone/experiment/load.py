"""Reads an experiment file and refuses, before anything starts, what cannot be meant."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from dbhone.errors import ExperimentError, UnknownName
from dbhone.experiment.locator import Locator
from dbhone.experiment.model import Experiment, SubjectDeclaration
from dbhone.experiment.resolve import Resolver
from dbhone.experiment.schema import ExperimentFile
from dbhone.experiment.sources_given import with_sources
from dbhone.source.fixes import is_patch
from dbhone.source.known_versions import PREFIX, KnownVersions, known_versions

_SHIPPED = "dbhone.experiment.experiments"


def shipped_names() -> tuple[str, ...]:
    """Return the names of the experiments that ship with hone."""
    files = resources.files(_SHIPPED).iterdir()
    return tuple(sorted(each.name[:-5] for each in files if each.name.endswith(".toml")))


def load_shipped(
    name: str, versions: KnownVersions | None = None, sources: Sequence[str] = ()
) -> Experiment:
    """Return an experiment that ships with hone. Raises UnknownName if there is none such.

    ``versions`` are those that ``known:`` finds, here and below; None for those that ship.
    ``sources`` are taken instead of the file's: ``NAME=SOURCE``.
    """
    if name not in shipped_names():
        raise UnknownName("experiment", name, shipped_names())
    text = resources.files(_SHIPPED).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return parse(with_sources(text, sources), name=name, versions=versions)


def load_file(
    path: Path, versions: KnownVersions | None = None, sources: Sequence[str] = ()
) -> Experiment:
    """Return the experiment in a file. Raises ExperimentError naming file and line or key."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ExperimentError(f"{path} is not a text file") from None
    except OSError as error:
        raise ExperimentError(
            f"cannot read {path}: {error.strerror}",
            hint=f"shipped experiments: {', '.join(shipped_names())}",
        ) from error
    text = with_sources(text, sources)
    return parse(text, name=str(path.absolute()), shown=str(path), versions=versions)


def load_named(
    word: str, versions: KnownVersions | None = None, sources: Sequence[str] = ()
) -> Experiment:
    """Return the experiment in the file ``word`` or, if there is no such file, the shipped one."""
    path = Path(word)
    if not path.exists() and word in shipped_names():
        return load_shipped(word, versions, sources)
    return load_file(path, versions, sources)


def parse(
    text: str, *, name: str, shown: str | None = None, versions: KnownVersions | None = None
) -> Experiment:
    """Return the experiment that ``text`` declares.

    ``name`` is the absolute path of its file, beside which relative folders are looked for,
    or the name under which it ships; messages call it ``shown``.
    """
    where = Locator(shown or name, text)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{where.name} is not valid TOML: {error}") from None
    try:
        declared = ExperimentFile.model_validate(values)
    except ValidationError as error:
        raise where.refusal(error.errors()[0]) from None
    declared = _with_known(where, declared, versions)
    folder = Path(name).parent if Path(name).is_absolute() else Path()
    experiment = Resolver(where, text, declared, folder).experiment()
    subjects = tuple(_beside(Path(name), each) for each in experiment.subjects)
    return dataclasses.replace(experiment, name=name, subjects=subjects)


def _with_known(
    where: Locator, declared: ExperimentFile, versions: KnownVersions | None
) -> ExperimentFile:
    """Return the file with what its ``known:`` sources stand for."""
    meant = {}
    for name, reference in declared.sources.items():
        if reference.startswith(PREFIX):
            versions = versions or known_versions()
            meant[name] = where.meant(versions.meaning, reference, "sources", name)
    return declared.model_copy(update={"sources": declared.sources | meant})


def _beside(file: Path, subject: SubjectDeclaration) -> SubjectDeclaration:
    """Return the subject with patches and the folder of a ``dir:`` looked for beside the file."""
    if not file.is_absolute():
        return subject
    inputs = subject.inputs
    beside: dict[str, object] = {
        "fixes": tuple(
            str(file.parent / Path(fix).expanduser()) if is_patch(fix) else fix
            for fix in inputs.fixes
        )
    }
    kind, _, location = inputs.source.partition(":")
    if kind == "dir":
        beside["source"] = f"dir:{file.parent / Path(location).expanduser()}"
    return dataclasses.replace(subject, inputs=inputs.model_copy(update=beside))
