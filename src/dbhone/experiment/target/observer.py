"""Observes servers while they are measured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from dbhone.errors import ExperimentError, HoneError, ServerError
from dbhone.experiment.declaration.observe import ObserveOptions
from dbhone.instance.counter_reader import CounterReader
from dbhone.instance.server import Server
from dbhone.measurement.record import Code, Warning
from dbhone.measurement.sampler import Probe, Sampler, SliceSampler
from dbhone.measurement.series import (
    CPU,
    MEMORY,
    PACE,
    READ,
    WRITTEN,
    Quantity,
    Readings,
    Series,
)
from dbhone.measurement.server_usage import read_usage
from dbhone.workload.drivers.base import INTERVAL, DriverReport

Warn = Callable[[Warning], None]
"""Keeps a warning with the run."""


class RunObservation:
    """Observes the servers of one run. Whatever goes wrong is a warning, once for each subject."""

    def __init__(self, observe: ObserveOptions, warn: Warn) -> None:
        self._observe = observe
        self._warn = warn
        self._lacking: dict[str, dict[str, str]] = {}

    def observer(self, subject: str, server: Server) -> ServerObserver | None:
        """Return the observer of this server, None if nothing is observed. Close it in the end."""
        if not self._observe.enabled:
            return None
        counters = self._counter_reader(subject, server) if self._observe.counters else None
        return ServerObserver(server, counters, every=self._observe.every)

    def ask(self, subject: str, server: Server) -> None:
        """Ask a server which of the counters it has, before it is measured."""
        observer = self.observer(subject, server)
        if observer is not None:
            observer.close()

    def _counter_reader(self, subject: str, server: Server) -> CounterReader | None:
        try:
            counters = CounterReader(server, self._observe.counters)
        except ServerError as error:
            self.warn_unobserved(subject, error.text_with_log)
            return None
        if subject not in self._lacking and counters.missing:
            words = "; ".join(f"{counter} ({why})" for counter, why in counters.missing.items())
            text = f"{subject} does not count {words}"
            self._warn(Warning(code=Code.COUNTER_MISSING, text=text, subject=subject))
        self._lacking[subject] = counters.missing
        return counters

    def check(self, subjects: Sequence[str]) -> None:
        """Raise ExperimentError for a counter that not one of the subjects' servers has.

        A server that was not read yet may have it.
        """
        if not subjects or any(subject not in self._lacking for subject in subjects):
            return
        first, *others = (self._lacking[subject] for subject in subjects)
        for counter, why in first.items():
            if all(counter in lacking for lacking in others):
                raise ExperimentError(
                    f"[observe] counters: no server has the counter '{counter}'", hint=why
                )

    def warn_unobserved(self, subject: str, why: str) -> None:
        """Keep with the run that a subject was not observed as requested."""
        text = f"{subject} was not observed as asked: {why}"
        self._warn(Warning(code=Code.NOT_OBSERVED, text=text, subject=subject))


class ServerObserver:
    """Observes one running server, slice by slice."""

    def __init__(self, server: Server, counters: CounterReader | None, *, every: float) -> None:
        self._pid = server.pid
        self._counters = counters
        self._every = every

    @contextlib.contextmanager
    def observing(self) -> Iterator[Sampler]:
        """Observe while a slice runs; yield the sampler, which has the series afterwards."""
        sampler = Sampler(self._probes(), every=self._every)
        with sampler.running():
            yield sampler

    def observing_slices(self, finished: Callable[[], int]) -> SliceSampler:
        """Return a sampler for the ends of slices; ``finished`` returns the operations so far."""
        probes = [lambda: {PACE: float(finished())}, *self._probes()]
        return SliceSampler(probes, every=self._every)

    def _probes(self) -> list[Probe]:
        return [self._usage, *([self._counters.read] if self._counters else [])]

    def _usage(self) -> Readings:
        usage = read_usage(self._pid, switches=False)
        if usage is None:
            raise HoneError("what the server uses cannot be read")
        readings: Mapping[Quantity, float | None] = {
            CPU: usage.cpu_seconds,
            READ: usage.bytes_read,
            WRITTEN: usage.bytes_written,
            MEMORY: usage.memory_bytes,
        }
        return {quantity: value for quantity, value in readings.items() if value is not None}

    def close(self) -> None:
        """Close the connection with the server, if there is one."""
        if self._counters is not None:
            self._counters.close()


def pace(report: DriverReport | None, began: float) -> tuple[Series, ...]:
    """Return the throughput in each interval that the driver reported, if it ran one whole step.

    ``began`` is when the slice began, in monotonic time: the driver connects before it begins.
    """
    wholes = [step for step in report.steps if not step.part] if report else []
    if len(wholes) != 1 or not wholes[0].interval_rates:
        return ()
    values = wholes[0].interval_rates
    before = max(0.0, wholes[0].intervals_began - began)
    at = tuple(before + INTERVAL * number for number in range(1, len(values) + 1))
    return (Series(quantity=PACE, at=at, values=values),)
