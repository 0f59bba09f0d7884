"""What an experiment's profile-guided subjects are trained on, as its file says."""

from __future__ import annotations

from dbhone.compilation.variant import Variant
from dbhone.errors import ExperimentError, UnknownName
from dbhone.experiment.locator import Locator
from dbhone.experiment.model import Training
from dbhone.experiment.schema import ExperimentFile, SubjectSection
from dbhone.workload import suite as suites
from dbhone.workload.suite import Suite
from dbhone.workload.task import Scale


class TrainingSets:
    """Reads the training of subjects, their own and the one for all."""

    def __init__(
        self, where: Locator, declared: ExperimentFile, suite: Suite, scale: Scale
    ) -> None:
        self.where = where
        self.declared = declared
        self.suite = suite
        self.scale = scale

    def of(self, name: str, section: SubjectSection, variant: Variant) -> Training | None:
        """Return what a subject is trained on, None if it takes no training.

        Raises ExperimentError or UnknownName for what cannot be meant.
        """
        own = "train" in self.declared.subjects[name].model_fields_set
        if not variant.profile_guided:
            if own:
                raise ExperimentError(
                    f"{self.where.at('subjects', name)}: the variant {variant.name} takes no"
                    " training",
                    hint="add pgo to the variant, or leave 'train' out",
                )
            return None
        general = self.declared.training
        sets = section.train or (general.sets if general else ())
        if not sets:
            raise ExperimentError(
                f"{self.where.at('subjects', name)}: the variant {variant.name} is profile-guided"
                " and must be trained",
                hint='add [training] with sets = ["main"], or train = ["main"] to the subject',
            )
        size = general.size if general and general.size else self.declared.workload.size
        if not self.suite.trains:
            raise ExperimentError(
                f"{self.where.at('subjects', name)}: nothing can be trained on the suite"
                f" {self.declared.workload.suite}",
                hint="take a variant without pgo",
            )
        names = suites.full_names(self.suite, tuple(sets), where=self.where.at("subjects", name))
        shares = self._shares()
        return Training(
            suite=self.declared.workload.suite,
            scale=self.scale,
            sets=names,
            size=size,
            shares=tuple(shares.get(each, 1.0) for each in names) if shares else (),
        )

    def _shares(self) -> dict[str, float]:
        """Return the shares of the training by the full names of its sets."""
        general = self.declared.training
        if general is None or not general.shares:
            return {}
        where = self.where.at("training", "shares")
        if "seconds" not in self.suite.adjustable:
            raise ExperimentError(
                f"{where}: {self.declared.workload.suite} runs each set once: its time cannot be"
                " shared out"
            )
        trained = suites.full_names(self.suite, general.sets)
        shared = suites.full_names(self.suite, tuple(general.shares), where=where)
        for word, each in zip(general.shares, shared, strict=True):
            if each not in trained:
                raise UnknownName("set of the training", word, general.sets, where=where)
        return dict(zip(shared, general.shares.values(), strict=True))
