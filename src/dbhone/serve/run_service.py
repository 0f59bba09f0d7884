"""What can be read of the runs in a home; what was made of them is kept for a while.

The store is opened again for each question, only to be read: a hone may write to it meanwhile, or
another may bring it up to date. What was made of a run is kept while nothing of it changes.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from dbhone.activity import activity_of
from dbhone.home import Home
from dbhone.measurement.record import Run, RunState
from dbhone.measurement.run_state import state_of
from dbhone.measurement.sample_array import SampleArray
from dbhone.measurement.store import RunSummary, Store
from dbhone.report.findings import findings_of
from dbhone.report.formats.base import render
from dbhone.report.one_line import one_line
from dbhone.report.page import Page, build_joined_page
from dbhone.serve.listing import Filters, Listed, Listing, choose, doing, facts
from dbhone.tuner.results import page_of

T = TypeVar("T")


class Cache(Generic[T]):
    """Keeps the ``most`` things that were wanted last, each while what it was made of stays.

    Threads may use it at once. It makes one thing at a time: a machine that is being measured
    should not be kept busier than that.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, tuple[object, T]] = OrderedDict()
        self._lock = threading.Lock()
        self._making = threading.Lock()

    def find(self, key: Hashable, version: object) -> T | None:
        """Return what is kept under ``key`` if it was made of an equal ``version``, else None."""
        with self._lock:
            kept_version, value = self._kept.get(key, (None, None))
            if value is None or kept_version != version:
                return None
            self._kept.move_to_end(key)
            return value

    def get(self, key: Hashable, version: object, make: Callable[[], T]) -> T:
        """Return what is kept under ``key``, or make it. What ``make`` raises is not kept."""
        value = self.find(key, version)
        if value is not None:
            return value
        with self._making:
            value = self.find(key, version)  # another thread may have made it meanwhile
            if value is None:
                value = make()
                self._keep(key, version, value)
            return value

    def _keep(self, key: Hashable, version: object, value: T) -> None:
        with self._lock:
            self._kept[key] = (version, value)
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


_MOST_REPORTS = 16
"""A report is up to 3 MB."""
_MOST_PAGES = 16
_MOST_HEADLINES = 1000
_PATIENCE = 1.0
"""For how long, in seconds, runs are analysed for a list before it is shown without the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A page of the list of runs. ``headlines`` has what each found, by number, as far as known."""

    listing: Listing
    headlines: dict[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as it is now. ``page`` is what was found in its complete blocks."""

    run: Run
    state: RunState
    doing: str
    facts: dict[str, str]
    page: Page


class RunService:
    """Answers questions about the runs of one home. Threads may ask at once.

    Whatever is asked raises StoreError if the store cannot be read, and UsageError for a run
    that does not exist.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._headlines: Cache[str] = Cache(_MOST_HEADLINES)
        self._pages: Cache[Page] = Cache(_MOST_PAGES)
        self._reports: Cache[bytes] = Cache(_MOST_REPORTS)

    def check(self) -> None:
        """Raise StoreError if the store cannot be read."""
        self._open().close()

    def overview(self, filters: Filters) -> Overview:
        """Return a page of the list of runs."""
        with self._open() as store:
            runs = [Listed(run=run, state=state_of(self._home, run)) for run in store.runs()]
            listing = choose(runs, filters)
            until = time.monotonic() + _PATIENCE
            headlines: dict[int, str] = {}
            for run in listing.shown:
                known = self._headlines.find(run.run.id, run.run)
                if known is None and time.monotonic() > until:
                    continue
                headlines[run.run.id] = self._headline(store, run.run)
        return Overview(listing=listing, headlines=headlines)

    def view(self, run_id: int) -> RunView:
        """Return a run as it is now."""
        with self._open() as store:
            run, progress = store.run(run_id), store.progress(run_id)
            state = state_of(self._home, run)
            # While a run lasts, what it found changes as subjects are ready and blocks complete: to
            # analyse it after each invocation would keep a machine busy that is being measured.
            lasts = state is RunState.RUNNING
            found = (run.subjects, progress.blocks) if lasts else (run, progress)
            version = (state, found)
            page = self._pages.get(run_id, version, lambda: page_of(run, store))
        now = datetime.now(UTC)
        activity = activity_of(self._home, run.session) if state is RunState.RUNNING else None
        return RunView(
            run=run,
            state=state,
            doing=doing(run, state, progress, activity, now),
            facts=facts(run, state, progress, activity, now),
            page=page,
        )

    def report(self, run_id: int) -> bytes:
        """Return the HTML report of a run, as ``hone report`` gives it."""
        with self._open() as store:
            run, progress = store.run(run_id), store.progress(run_id)

            def make() -> bytes:
                return render(page_of(run, store, store.observations(run_id)), "html")

            return self._reports.get(run_id, (run, progress), make)

    def joined(self, run_ids: Sequence[int]) -> bytes:
        """Return the HTML report of several runs as one.

        Raises UsageError, with the reason, for runs that do not add up.
        """
        with self._open() as store:
            runs = [(store.run(run_id), store.progress(run_id)) for run_id in run_ids]

            def make() -> bytes:
                return render(
                    build_joined_page([_with_samples(store, run) for run, _ in runs]), "html"
                )

            return self._reports.get(tuple(run_ids), tuple(runs), make)

    def summaries(self, run_ids: Sequence[int]) -> tuple[tuple[RunSummary, str], ...]:
        """Return runs by number, each with what it found."""
        with self._open() as store:
            ids = [store.run(one_id).id for one_id in dict.fromkeys(run_ids)]
            runs = {run.id: run for run in store.runs()}
            return tuple((runs[run_id], self._headline(store, runs[run_id])) for run_id in ids)

    def _open(self) -> Store:
        return Store.open_to_read(self._home.database)

    def _headline(self, store: Store, summary: RunSummary) -> str:
        def make() -> str:
            return one_line(findings_of(*_with_samples(store, store.run(summary.id))))

        return self._headlines.get(summary.id, summary, make)


def _with_samples(store: Store, run: Run) -> tuple[Run, SampleArray]:
    return run, store.samples(run.id)
