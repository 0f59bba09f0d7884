"""On which terms an experiment is measured, for all its subjects alike.

To keep CPUs awake, or to begin cold, is no lever of one subject: what was measured so and what was
not must never be compared. So it is said once for the whole experiment.
"""

from __future__ import annotations

from collections.abc import Iterator

from dbhone.errors import MachineError
from dbhone.experiment.model import Experiment
from dbhone.home import Session
from dbhone.instance import idle_inhibitor, page_cache
from dbhone.measurement.record import COLD
from dbhone.workload.suite import Regime


def check_terms(experiment: Experiment, session: Session) -> None:
    """Raise MachineError if this machine cannot measure on the experiment's terms."""
    if experiment.scale.regime is Regime.COLD:
        page_cache.check_evictable(session.workdir("cold"))
    reason = idle_inhibitor.refusal() if experiment.awake else None
    if reason is not None:
        raise MachineError(f"the CPUs cannot be kept awake: {reason}", hint="leave 'awake' out")


def terms(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield the code and the text of a footnote for each term that a reader must know."""
    if experiment.scale.regime is Regime.COLD:
        yield (
            COLD,
            "every server was cold: it had just been started, and its data was on the disk only;"
            " nothing here says how fast a server is that has run for a while",
        )
    if experiment.awake:
        yield (
            "awake",
            "no CPU slept while it was measured: programs that yield to all others kept them"
            " awake, so that nothing waited for one to wake up; on a machine that lets its CPUs"
            " sleep the differences may be smaller",
        )
