"""What the profile-guided subjects of an experiment are trained on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dbhone.compilation.variant import Variant
from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_server import server_systems
from dbhone.errors import ExperimentError, UnknownName
from dbhone.experiment.declaration.model import Training, TrainingCommand
from dbhone.experiment.declaration.requested_settings import RequestedSettings
from dbhone.experiment.declaration.schema import (
    ExperimentFile,
    Locator,
    SubjectSection,
    keys_of_data,
)
from dbhone.workload import suite as suites
from dbhone.workload.drivers.base import load_driver
from dbhone.workload.suite import Suite
from dbhone.workload.task import DATA_PATHS, Scale
from dbhone.workload.workload import Workload, load_checked

_KEYS = ("train", "train_suite", "train_size")
"""The keys of a subject that say what it is trained on."""


class Trainings:
    """Reads what profile-guided subjects are trained on: their own sets, or those for all."""

    def __init__(
        self,
        where: Locator,
        declared: ExperimentFile,
        measured: Workload,
        settings: RequestedSettings,
        folder: Path,
    ) -> None:
        self._folder = folder
        self._where = where
        self._declared = declared
        self._measured = measured
        self._settings = settings

    def of(self, name: str, section: SubjectSection, variant: Variant) -> Training | None:
        """Return what a subject is trained on, None if it takes no training.

        Raises ExperimentError or UnknownName for invalid input.
        """
        where = self._where.at("subjects", name)
        if not variant.profile_guided:
            declared = self._declared.subjects[name].model_fields_set
            for key in _KEYS:
                if key in declared:
                    raise ExperimentError(
                        f"{where}: the variant {variant.name} takes no training",
                        hint=f"add pgo or bolt to the variant, or leave '{key}' out",
                    )
            return None
        suite_name, suite = self._suite(name, section)
        general, command = self._declared.training, self._command(section.dbms)
        usual = None if general is None or section.train_suite else general.sets
        words = section.train or usual
        if words is None:
            words = () if command else suite.training
        if not words and command is None:
            raise ExperimentError(
                f"{where}: the variant {variant.name} is profile-guided and must be trained",
                hint='add [training] with sets = ["main"], or train = ["main"] to the subject',
            )
        sets = suites.full_names(suite, words, where=where)
        shares = {} if section.train_suite else self._shares(suite_name, suite, sets)
        size = self._size(name, section, suite)
        workload = dataclasses.replace(self._workload(suite_name, suite, size), sets=sets)
        return Training(
            workload=workload.for_training(size),
            foreign=suite_name != self._measured.name,
            shares=tuple(shares.get(set_name, 1.0) for set_name in sets) if shares else (),
            settings=self._settings.of(name, SubjectSection(dbms=section.dbms)),
            drop_unknown=self._declared.config.drop_unknown,
            command=command,
        )

    def _suite(self, name: str, section: SubjectSection) -> tuple[str, Suite]:
        """Return the name of the suite that a subject is trained on, and the suite."""
        general, measured = self._declared.training, self._measured.name
        suite_name = section.train_suite or (general.suite if general else None) or measured
        at = ("subjects", name) if section.train_suite else ("training", "suite")
        suite, where = suite_at(self._where, suite_name, *at), self._where.at("subjects", name)
        if not suite.trains:
            raise ExperimentError(
                f"{where}: nothing can be trained on the suite {suite_name}",
                hint="take a variant that needs no training, or name another suite to train on:"
                " [training] suite",
            )
        if suite_name != measured and load_dbms(section.dbms).interface not in suite.protocols:
            raise ExperimentError(f"{where}: the suite {suite_name} cannot drive {section.dbms}")
        return suite_name, suite

    def _size(self, name: str, section: SubjectSection, suite: Suite) -> str:
        general = self._declared.training
        usual = general.size if general and general.size else self._measured.scale.size
        size = section.train_size or usual
        at = ("subjects", name) if section.train_size else ("training", "size")
        suites.check_size(suite, size, where=self._where.at(*at))
        return size

    def check(self) -> None:
        """Refuse what is wrong with ``[training]``, where no subject is trained and finds out."""
        general = self._declared.training
        if general is None:
            return
        suite_name = general.suite or self._measured.name
        suite = suite_at(self._where, suite_name, "training", "suite")
        where = self._where.at("training", "sets")
        self._shares(suite_name, suite, suites.full_names(suite, general.sets or (), where=where))
        if general.size is not None:
            suites.check_size(suite, general.size, where=self._where.at("training", "size"))
        size = general.size or self._measured.scale.size
        if size in suite.sizes():
            self._workload(suite_name, suite, size)

    def _workload(self, suite_name: str, suite: Suite, size: str) -> Workload:
        """Return the workload of a training, before it has one number of threads.

        The scale of what is measured is for its suite only; the data is that of ``[training]`` if
        it has any for this suite.
        """
        data, scale = self._data(suite_name, suite), self._measured.scale
        foreign = suite_name != self._measured.name
        if not foreign and not data:
            return self._measured
        if foreign:
            scale = Scale(size=size, data=data)
        elif size == scale.size:
            scale = dataclasses.replace(scale, data=data)
        else:
            scale = Scale(size=size, regime=scale.regime, data=data)
        unknown = data.keys() - _data_keys(suite)
        if unknown:
            where = self._where.at("training", "data")
            raise ExperimentError(f"{where}: the suite {suite_name} has no '{min(unknown)}'")
        workload = Workload(name=suite_name, scale=scale)
        with self._where.located("training", "data"):
            workload.check_data()
        return workload

    def _data(self, suite_name: str, suite: Suite) -> dict[str, int | str]:
        """Return the data of ``[training]``, by key, if it is for this suite.

        It may be for another one, on which a subject alone is trained: a dump always is, and keys
        that this suite does not know.
        """
        general, measured = self._declared.training, self._measured.name
        data = keys_of_data(general.data) if general else {}
        own = {section.train_suite or measured for section in self._declared.subjects.values()}
        if own <= {measured, suite_name}:
            return data
        dump = suite_name == measured and not data.keys().isdisjoint(DATA_PATHS)
        return {} if dump or not data.keys() <= _data_keys(suite) else data

    def _command(self, dbms: str) -> TrainingCommand | None:
        """Return the command that servers are trained by, None if there is none."""
        general = self._declared.training
        if general is None or not general.command:
            return None
        if dbms not in server_systems():
            where = self._where.at("training", "command")
            raise ExperimentError(f"{where}: {dbms} is not a server that a command could reach")
        folder = self._folder.absolute()
        return TrainingCommand(argv=general.command, folder=folder, timeout=general.timeout)

    def _shares(self, suite_name: str, suite: Suite, own: tuple[str, ...]) -> dict[str, float]:
        """Return the shares of the training by the full names of its sets.

        They may be of sets that another subject is trained on, but not this one: ``own`` are its.
        """
        general = self._declared.training
        if general is None or not general.shares:
            return {}
        where = self._where.at("training", "shares")
        if "seconds" not in suite.adjustable:
            raise ExperimentError(
                f"{where}: {suite_name} runs each set once: its time cannot be divided by shares"
            )
        trained = {*own, *suites.full_names(suite, general.sets or suite.training)}
        shared = suites.full_names(suite, tuple(general.shares), where=where)
        for word, set_name in zip(general.shares, shared, strict=True):
            if set_name not in trained:
                raise UnknownName("set of the training", word, trained, where=where)
        return dict(zip(shared, general.shares.values(), strict=True))


def _data_keys(suite: Suite) -> frozenset[str]:
    """Return the keys by which a training may change what is loaded."""
    return load_driver(suite.driver).data_keys


def suite_at(where: Locator, name: str, *keys: str) -> Suite:
    """Return the suite that is named at these keys, which may be a user's file.

    Raises UnknownName, or ExperimentError for a wrong file.
    """
    if suites.is_users_file(name):
        with where.located(*keys):
            return load_checked(name)
    if name not in suites.names():
        raise UnknownName("suite", name, suites.names(), where=where.at(*keys))
    return suites.load(name)
