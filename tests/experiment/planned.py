"""Plans of experiments on a machine that is pretended to know its builds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.transforms.base import Pass
from dbhone.errors import HoneError, ToolError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.experiment.plan.estimates import BuildEstimator
from dbhone.experiment.plan.plan import (
    Compile,
    Cost,
    DataCost,
    Plan,
    PlanProgress,
    PlanStep,
    PostLink,
    TakeReadyMade,
)
from dbhone.experiment.plan.planning import make_plan


class Known(BuildEstimator):
    """An estimator that was told all it knows.

    By variant: the seconds of a build, 10 for others, and how many of its steps are ``kept``.
    """

    def __init__(
        self,
        seconds: Mapping[str, float] | None = None,
        *,
        kept: Mapping[str, int] | None = None,
        absent: frozenset[str] = frozenset(),
        data: DataCost | None = None,
    ) -> None:
        self._data_cost = data
        self._seconds = seconds or {}
        self._kept_steps = kept or {}
        self._absent = absent

    def is_kept(self, reference: str) -> bool:
        return True

    def identity(self, inputs: BuildInputs, pass_: Pass) -> str:
        chosen = inputs.model_dump_json(exclude={"variant"})
        return f"{chosen} {pass_} {'' if pass_ is Pass.INSTRUMENT else inputs.variant.name}"

    def kept(self, steps: Iterable[PlanStep]) -> int:
        *_, last = steps
        assert isinstance(last, Compile | PostLink | TakeReadyMade)
        return self._kept_steps.get(last.inputs.variant.name, 0)

    def cost(self, inputs: BuildInputs, pass_: Pass) -> Cost:
        return Cost(seconds=self._seconds.get(inputs.variant.name, 10.0))

    def data(self, *_: object, **__: object) -> DataCost | None:
        return self._data_cost

    def absence(self, experiment: Experiment, subject: SubjectDeclaration) -> HoneError | None:
        return ToolError("it is not there") if subject.name in self._absent else None


def planned(
    text: str, estimator: Known | None = None, progress: PlanProgress | None = None
) -> Plan:
    return make_plan(parse(text, name="x.toml"), estimator or Known(), progress)
