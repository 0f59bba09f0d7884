"""Reads an experiment file and rejects what is invalid before anything starts."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import tomlkit
from pydantic import ValidationError
from tomlkit.exceptions import ParseError

from dbhone import registry
from dbhone.errors import ExperimentError, UnknownName, UsageError, nearest
from dbhone.experiment.declaration.model import Experiment, Placement, SubjectDeclaration
from dbhone.experiment.declaration.resolve import Resolver
from dbhone.experiment.declaration.schema import Data, ExperimentFile, Locator, keys_of_data
from dbhone.experiment.declaration.subjects import with_varied
from dbhone.files import absolute_path, expanded_path
from dbhone.home import Home
from dbhone.measurement.record import Run
from dbhone.source.fixes import is_patch
from dbhone.source.kinds.base import absolute_reference
from dbhone.source.known_versions import PREFIX, KnownVersions, known_versions
from dbhone.workload import suite as suites
from dbhone.workload import users_suite
from dbhone.workload.captured_suite import is_workload_file
from dbhone.workload.task import DATA_PATHS

_SHIPPED = "dbhone.experiment.experiments"
SOURCE_SYNTAX = "[NAME=]SOURCE"
"""How a user names a source that is taken instead of a file's."""
_TABLE = "sources"
_FILES = "files"
_CAPTURING = "'hone capture' makes a workload file of your server's log"
_DUMPING = "pg_dump -Fc, mariadb-dump or mysqldump dumps its data"


def shipped_names() -> tuple[str, ...]:
    """Return the names of the experiments that ship with hone."""
    return tuple(sorted(registry.toml_files(_SHIPPED)))


def load_shipped(
    name: str, versions: KnownVersions | None = None, sources: Sequence[str] = ()
) -> Experiment:
    """Return an experiment that ships with hone. Raises UnknownName if there is none such.

    ``versions`` are those that ``known:`` finds, here and below; None for those that ship.
    ``sources`` are taken instead of the file's: ``NAME=SOURCE``.
    """
    files = registry.toml_files(_SHIPPED)
    if name not in files:
        raise UnknownName("experiment", name, shipped_names())
    text = files[name].read_text(encoding="utf-8")
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
            f"cannot read {path}: {error.strerror}", hint=_hint_for(path)
        ) from error
    text = with_sources(text, sources)
    return parse(text, name=str(path.absolute()), shown=str(path), versions=versions)


def _hint_for(path: Path) -> str:
    """Return what a user may have meant by a file that cannot be read."""
    beside = sorted(other.name for other in Path().glob("*.toml")) if path.parent == Path() else []
    near = nearest(path.name, (*shipped_names(), *beside))
    return (
        near
        if near.startswith("did you mean")
        else f"those that ship: {', '.join(shipped_names())}"
    )


def load_named(
    word: str, versions: KnownVersions | None = None, sources: Sequence[str] = ()
) -> Experiment:
    """Return the experiment in the file ``word`` or, if there is no such file, the shipped one."""
    path = Path(word)
    try:
        is_file = path.is_file()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {os.strerror(error.errno or 0)}") from error
    if not is_file and word in shipped_names():
        return load_shipped(word, versions, sources)
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not an experiment file")
    if not is_file and path.parent == Path() and not path.suffix:
        raise UnknownName("experiment", word, (), hint=_hint_for(path))
    return load_file(path, versions, sources)


def parse(
    text: str,
    *,
    name: str,
    shown: str | None = None,
    versions: KnownVersions | None = None,
    home: Home | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Experiment:
    """Return the experiment that ``text`` declares.

    ``name`` is the absolute path of its file, beside which relative folders are looked for,
    or the name under which it ships; messages call it ``shown``. The files that a run recorded of a
    user's suite are laid out in the ``home``, instead of those beside the experiment. A text that a
    command wrote has keys from its ``options``, which messages name.
    """
    where = Locator(shown or name, text, options)
    try:
        declared = ExperimentFile.model_validate(tomllib.loads(text))
    except ValidationError as error:
        raise where.refusal(error.errors()[0]) from None
    except ValueError as error:  # a number with thousands of digits is one, too
        raise ExperimentError(f"{where.name} is not valid TOML: {error}") from None
    except RecursionError:
        raise ExperimentError(f"{where.name} has values that are nested too deep") from None
    declared = with_varied(where, _with_known(where, declared, versions))
    folder = Path(name).parent if Path(name).is_absolute() else Path()
    declared = _with_files(where, declared, folder, home)
    _check_captured(where, declared)
    experiment = Resolver(where, text, declared, folder).experiment()
    subjects = tuple(_beside(Path(name), subject) for subject in experiment.subjects)
    return dataclasses.replace(experiment, name=name, subjects=subjects, files=dict(declared.files))


def recorded(
    experiment: Experiment, home: Home, versions: KnownVersions | None = None
) -> Experiment:
    """Return the experiment as a run of it is recorded and executed: with its suite's files.

    They are in its text, and what is executed is laid out from there.
    """
    if not experiment.files:
        return experiment
    document = tomlkit.parse(experiment.text)
    document[_FILES] = {
        name: tomlkit.string(text, multiline=True) for name, text in experiment.files.items()
    }
    text = tomlkit.dumps(document)
    laid_out = parse(text, name=experiment.name, versions=versions, home=home)
    return dataclasses.replace(laid_out, design=experiment.design)


def experiment_of(run: Run, home: Home) -> Experiment:
    """Return the experiment of a run, from the text and the files that the run keeps.

    Clients and servers stay where they were if anything was measured: the same run on other CPUs
    would be another one.
    """
    known = known_versions(home)
    experiment = parse(run.experiment, name=run.experiment_name, versions=known, home=home)
    if not run.steps:
        return experiment
    placement = Placement.AUTO if run.cpus_apart else Placement.FREE
    return dataclasses.replace(experiment, placement=placement)


def _with_known(
    where: Locator, declared: ExperimentFile, versions: KnownVersions | None
) -> ExperimentFile:
    """Return the file with what its ``known:`` sources stand for."""
    meant = {}
    for name, reference in declared.sources.items():
        if reference.startswith(PREFIX):
            versions = versions or known_versions()
            with where.located("sources", name):
                meant[name] = versions.meaning(reference)
    return declared.model_copy(update={"sources": declared.sources | meant})


def _with_files(
    where: Locator, declared: ExperimentFile, folder: Path, home: Home | None
) -> ExperimentFile:
    """Return the file with the paths of a user's suite and of a dump, looked for in a folder.

    A suite's own files are read, or laid out if the experiment has them.
    """
    workload, files = declared.workload, declared.files
    found: dict[str, object] = {}
    if suites.is_users_file(workload.suite):
        path = absolute_path(workload.suite, folder)
        if users_suite.is_suite_file(workload.suite):
            with where.located("workload", "suite"):
                if files and home is not None:
                    path = users_suite.lay_out(path.name, files, home)
                else:
                    files = users_suite.read_files(path)
        found["suite"] = str(path)
    if workload.data:
        found["data"] = _data_beside(workload.data, folder)
    changed = {
        **_trained_beside(where, declared, folder),
        "workload": workload.model_copy(update=found),
        "files": files,
    }
    return declared.model_copy(update=changed)


def _trained_beside(where: Locator, declared: ExperimentFile, folder: Path) -> dict[str, object]:
    """Return the sections with the paths of what is trained on, looked for in a folder.

    Raises ExperimentError for a suite of the user's own: a run would not record it.
    """

    def beside(name: str | None, *keys: str) -> str | None:
        if name is None or not suites.is_users_file(name):
            return name
        if users_suite.is_suite_file(name):
            raise ExperimentError(
                f"{where.at(*keys)}: a suite of your own is trained on only where it is measured",
                hint="name a suite of hone's ('hone suites' lists them) or a workload file",
            )
        return _path_beside(name, folder)

    changed: dict[str, object] = {
        "subjects": {
            name: subject.model_copy(
                update={"train_suite": beside(subject.train_suite, "subjects", name)}
            )
            if subject.train_suite
            else subject
            for name, subject in declared.subjects.items()
        }
    }
    training = declared.training
    if training is not None:
        update: dict[str, object] = {"suite": beside(training.suite, "training", "suite")}
        if training.data:
            update["data"] = _data_beside(training.data, folder)
        changed["training"] = training.model_copy(update=update)
    return changed


def _check_captured(where: Locator, declared: ExperimentFile) -> None:
    """Raise ExperimentError that names all files of captured workloads that are not there."""
    missing = [named for named in _captured_files(declared) if not Path(named[0]).exists()]
    if missing:
        raise ExperimentError(
            "; ".join(f"{where.at(*keys)}: there is no {path}" for path, keys, _ in missing),
            hint="; ".join(dict.fromkeys(remedy for *_, remedy in missing)),
        )


def _captured_files(declared: ExperimentFile) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield the files of captured workloads, with the keys that name them and how to make them."""
    for name, section in (("workload", declared.workload), ("training", declared.training)):
        if section is None or not is_workload_file(section.suite or declared.workload.suite):
            continue
        if section.suite:
            yield section.suite, (name, "suite"), _CAPTURING
        for key, value in keys_of_data(section.data).items():
            if key in DATA_PATHS:
                yield str(value), (name, "data"), _DUMPING
    for name, subject in declared.subjects.items():
        if subject.train_suite and is_workload_file(subject.train_suite):
            yield subject.train_suite, ("subjects", name, "train_suite"), _CAPTURING


def _data_beside(data: Data, folder: Path) -> Data:
    """Return what is to be loaded, with the paths of files looked for in a folder."""
    if isinstance(data, str):
        return _path_beside(data, folder)
    return {
        key: _path_beside(value, folder) if key in DATA_PATHS and isinstance(value, str) else value
        for key, value in data.items()
    }


def _path_beside(path: str, folder: Path) -> str:
    return str(absolute_path(path, folder))


def _beside(file: Path, subject: SubjectDeclaration) -> SubjectDeclaration:
    """Return the subject with patches, and paths of sources, looked for beside the file."""
    if not file.is_absolute():
        return subject
    inputs = subject.inputs
    beside: dict[str, object] = {
        "fixes": tuple(
            str(file.parent / expanded_path(fix)) if is_patch(fix) else fix for fix in inputs.fixes
        )
    }
    for key in ("source", "profile_source"):
        if getattr(inputs, key):
            beside[key] = absolute_reference(getattr(inputs, key), file.parent)
    return dataclasses.replace(subject, inputs=inputs.model_copy(update=beside))


def with_sources(text: str, given: Sequence[str]) -> str:
    """Return an experiment file's text with other sources; all else stays as it is written.

    Each word is ``NAME=SOURCE``, or only ``SOURCE`` where the file has but one. A relative folder
    is one beside the user, not beside the file. Raises UsageError for a word that names no source
    of the file. A text that is no TOML, or has no sources, is returned as it is: whoever parses
    it says what is wrong.
    """
    if not given:
        return text
    try:
        document = tomlkit.parse(text)
    except (ParseError, RecursionError):
        return text
    sources = document.get(_TABLE)
    if not isinstance(sources, tomlkit.items.AbstractTable) or not sources:
        return text
    for word in given:
        name, reference = _parted(word, tuple(sources))
        sources[name] = absolute_reference(reference, Path())
    return tomlkit.dumps(document)


def _parted(word: str, known: tuple[str, ...]) -> tuple[str, str]:
    """Return name and reference; a reference, too, may have a ``=``, but only after a colon."""
    name, sign, reference = word.partition("=")
    if sign and ":" not in name:
        if name not in known:
            raise UnknownName("source", name, known)
        return name, reference
    if len(known) > 1:
        names = ", ".join(known)
        raise UsageError(
            f"'{word}' does not say which source it replaces: there are {names}",
            hint=f"write {known[0]}={word}",
        )
    return known[0], word
