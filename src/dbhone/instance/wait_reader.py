"""Reads what the threads of a running server wait for, while a subject is explained."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from statistics import fmean

import psutil

from dbhone.dbms.base_counters import CounterSource
from dbhone.errors import ServerError
from dbhone.instance.client import Client, connect
from dbhone.instance.server import Server
from dbhone.measurement import process_stats
from dbhone.measurement.sampler import Sampler
from dbhone.measurement.series import Quantity, Readings, SeriesKind

_EVERY = 0.01
"""Seconds from one look at waits that come and go to the next."""
_HINT = "leave --waits out: what takes CPU time is told without"


class WaitReader:
    """A connection that asks a subject's server for waits. Close it before the server is stopped.

    Raises ServerError if the server does not tell what its threads wait for.
    """

    def __init__(self, subject: str, server: Server) -> None:
        self._subject = subject
        source = server.dbms.waits
        if source is None:
            raise ServerError(f"hone does not know how {server.title} tells its waits", hint=_HINT)
        self._source: CounterSource = source
        self._client: Client = connect(server.endpoint)
        try:
            self._check()
            self.pid = self._process(server)
            """The process that answers the connection, None if it is a thread of the server."""
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        """Raise ServerError for a server that counts no waits.

        Where they come and go there may be none. Where they are summed up there are some: at least
        the start of the server had its own.
        """
        try:
            told = self._read()
        except ServerError as error:
            raise ServerError(
                f"{self._subject} does not tell what its threads wait for: {error.message}",
                hint=_HINT,
            ) from error
        if not told and not self._source.passing:
            settings = ", ".join(f"{name} = {on}" for name, on in self._source.settings.items())
            raise ServerError(
                f"{self._subject} counts no waits: its server was built without that,"
                f" or has other settings than {settings}",
                hint=_HINT,
            )

    def _process(self, server: Server) -> int | None:
        """Return the process among the server's; in its sandbox it has another id."""
        if not server.dbms.connection_process:
            return None
        ((inner,),) = self._client.ask(server.dbms.connection_process)
        children = psutil.Process(server.pid).children(recursive=True)
        for child in children:
            if process_stats.inner_pid(child.pid) == inner:
                return child.pid
        raise ServerError(f"the process of {self._subject} that answers questions is not found")

    @property
    def cpu_seconds(self) -> float:
        """The CPU time that its process has taken so far; that of a thread is not told."""
        return 0.0 if self.pid is None else process_stats.cpu_seconds(self.pid) or 0.0

    @contextlib.contextmanager
    def watching(self) -> Iterator[Mapping[str, float]]:
        """Watch the waits until this is left; then what is yielded has each event's seconds.

        They are those of all threads together. Sums are read before and after. What comes and goes
        is looked at again and again: the mean number of threads that wait, over all looks, holds
        for the whole time. Raises ServerError.
        """
        waited: dict[str, float] = {}
        if self._source.passing:
            sampler = Sampler([self._look], every=_EVERY)
            with sampler.running():
                yield waited
                seconds = time.monotonic() - sampler.began
            if sampler.trouble is not None:
                raise ServerError(f"{self._subject} no longer tells its waits: {sampler.trouble}")
            for series in sampler.series():
                waited[series.quantity.name] = fmean(series.values) * seconds
        else:
            before = self._read()
            yield waited
            waited.update(_grown(before, self._read()))

    def _look(self) -> Readings:
        return {
            Quantity(name=name, unit="1", kind=SeriesKind.COUNT): value
            for name, value in self._read().items()
        }

    def _read(self) -> dict[str, float]:
        rows = self._client.ask(self._source.query)
        return {reading.name: reading.value for reading in self._source.read(rows)}

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _grown(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return by how much sums have grown; one that shrank was reset."""
    return {name: max(0.0, value - before.get(name, 0.0)) for name, value in after.items()}
