"""The methods that are compared, in the order in which tables show them."""

from __future__ import annotations

from benchmarks.statistics.methods.best_of import BEST_OF
from benchmarks.statistics.methods.dbhone import OVER_STEPS, PASSES, ROUNDS
from benchmarks.statistics.methods.mann_whitney import MANN_WHITNEY
from benchmarks.statistics.methods.one_run import ONE_RUN
from benchmarks.statistics.methods.welch import WELCH

METHODS = (ROUNDS, OVER_STEPS, PASSES, ONE_RUN, BEST_OF, MANN_WHITNEY, WELCH)
