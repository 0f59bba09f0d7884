"""The clients of a server that is explained, who work for a while in each round.

Where a client can be paused, it stays connected and works for the length of a slice. Else a round
has clients of its own, which run to their end: those of a batch as often as the slice has time.
"""

from __future__ import annotations

import time

from dbhone.analysis.explained_rounds import Work
from dbhone.experiment.target.block_servers import BlockServers
from dbhone.experiment.target.slice_client import SliceClient
from dbhone.workload.task import Task


def work_of(task: Task) -> Work:
    """Return what a task's CPU time is told of: a batch is one run of its client."""
    assert task.run is not None, "a server's task has a run of clients"
    return Work.OPERATION if task.run.events is None else Work.RUN


class PausedClients:
    """Clients that stay connected and are paused while the other server's work.

    All methods raise what failed.
    """

    def __init__(self, client: SliceClient) -> None:
        self._client = client

    @property
    def finished(self) -> int:
        """How many operations have ended."""
        return self._client.client.executed_events()

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the clients."""
        return self._client.client.cpu_seconds

    def connect(self) -> None:
        """Wait until they are connected, and pause them."""
        self._client.connect()
        self._check()

    def work(self, number: int, position: int, seconds: float) -> None:
        """Work for a slice of a round."""
        self._client.slice(number, position, seconds, 0.0)
        self._check()

    def end(self) -> None:
        """Let them end by themselves."""
        self._client.end()
        self._check()

    def _check(self) -> None:
        if self._client.error is not None:
            raise self._client.error


class FreshClients:
    """Clients of their own for each round, from their start to their end.

    A batch runs at least once in a round, and again while the slice has time left.
    """

    def __init__(self, servers: BlockServers, name: str, task: Task) -> None:
        self._servers = servers
        self._name = name
        self._task = task
        self._work = work_of(task)
        self._finished = 0
        self._cpu_seconds = 0.0

    @property
    def finished(self) -> int:
        """How many operations, or runs of a batch, have ended."""
        return self._finished

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of the clients."""
        return self._cpu_seconds

    def connect(self) -> None:
        """Do nothing: none is connected between rounds."""

    def work(self, number: int, position: int, seconds: float) -> None:
        """Run clients to their end."""
        del number, position
        ends = time.monotonic() + seconds
        self._run(self._task.with_share_of_time(seconds / self._seconds))
        while self._work is Work.RUN and time.monotonic() < ends:
            self._run(self._task)

    def end(self) -> None:
        """Do nothing: each has ended in its round."""

    @property
    def _seconds(self) -> float:
        assert self._task.run is not None
        return self._task.run.seconds

    def _run(self, task: Task) -> None:
        result = self._servers.drive(self._name, task).driver
        whole = next(step for step in result.require_report().steps if not step.part)
        self._finished += 1 if self._work is Work.RUN else int(whole.operations)
        self._cpu_seconds += result.cpu_seconds
