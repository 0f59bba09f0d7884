"""The loaded data of servers: under which name it is kept, and what it costs to load and copy it.

What kept data took here before tells what it takes; where nothing like it was loaded, a guess does,
which plans name as one.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from dbhone.dbms.base_server import ServerDbms, load_server_dbms
from dbhone.dbms.base_settings import RequestedSetting
from dbhone.experiment.plan import DONE, Cost, DataCost
from dbhone.files import digest_of_file
from dbhone.home import Home
from dbhone.instance import data
from dbhone.instance.data_facts import KeptFacts, disk_size, kept_facts
from dbhone.workload import suite as suites
from dbhone.workload import suite_tasks
from dbhone.workload.drivers.base import ServerDriver, load_driver_of
from dbhone.workload.suite import Regime
from dbhone.workload.task import DataSet, Scale

_LOADED, _COPIED = 10e6, 200e6
"""Bytes that are loaded and copied in a second: guesses."""
_PART_OF_CACHE = 0.25
"""How large a size's own data is, as a part of the cache in which all of it lies: a guess."""
_EMPTY = 200 * 1024**2
"""Bytes of a data directory with its logs and nothing loaded."""
_FAR = 10.0
"""Data that is so many times as large as what was loaded before is guessed: of small data most of
the time is not for its rows."""


def loading_settings(
    dbms: ServerDbms, settings: Iterable[RequestedSetting]
) -> tuple[RequestedSetting, ...]:
    """Return those requested settings that decide what a server's data is."""
    names = dbms.loading_settings | dbms.data_settings
    return tuple(setting for setting in settings if dbms.meant(setting.name) in names)


def data_name(
    dbms: ServerDbms,
    version: str,
    settings: Iterable[RequestedSetting],
    driver: ServerDriver,
    content: DataSet,
    scripts: Sequence[str],
    *,
    source: str,
) -> str:
    """Return the name under which loaded data is kept; ``scripts`` are the driver's, as digests.

    The ``source`` counts where a version does not tell whose data its servers can read.
    """
    seed = () if content.seed is None else (content.seed,)
    own = [[it.name, it.value, it.origin] for it in loading_settings(dbms, settings)]
    is_released = dbms.unreleased is None or dbms.unreleased.search(version) is None
    of_source = () if version and is_released else (source,)
    parts = [driver.name, *content.key, list(scripts), *seed, *own, *of_source]
    return data.key(dbms.name, version, parts)


class DataEstimator:
    """Tells what loaded data costs, by what the home folder holds."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def cost(
        self,
        dbms: str,
        version: str,
        settings: Sequence[RequestedSetting],
        suite: suites.Suite,
        scale: Scale,
        *,
        source: str,
    ) -> DataCost:
        """Return what the data of a server costs; the ``version`` is empty if it is not known.

        The ``source`` is the digest of its tree, or its reference where there is no tree yet.
        """
        server = load_server_dbms(dbms)
        driver = load_driver_of(ServerDriver, suite.driver)
        content = suite_tasks.data_set(suite, scale)
        scripts = [digest_of_file(path) for path in driver.load_scripts(content)]
        name = data_name(server, version, settings, driver, content, scripts, source=source)
        kept = data.find(self._home, name) if version else None
        if kept is not None:
            load, size = DONE, disk_size(kept.path)
        else:
            load, size = self._expected(dbms, driver.name, content, suite, scale)
        return DataCost(
            label=content.label,
            name=name,
            load=load,
            size=size,
            copy_seconds=size / self._copied_in_a_second(),
        )

    def _expected(
        self, dbms: str, driver: str, content: DataSet, suite: suites.Suite, scale: Scale
    ) -> tuple[Cost, int]:
        """Return what loading is expected to take, and the bytes, by data like it or by a guess."""
        like = [
            it
            for it in self._facts
            if (it.facts.dbms, it.facts.driver) == (dbms, driver)
            and it.facts.volume * _FAR >= content.volume
        ]
        if not like:
            size = _guessed_size(content, suite, scale)
            return Cost(seconds=size / _LOADED, guessed=True), size
        shares = [(it, content.volume / it.facts.volume) for it in like]
        seconds = statistics.median(it.facts.load_seconds * share for it, share in shares)
        return Cost(seconds=seconds), int(
            statistics.median(it.size * share for it, share in shares)
        )

    def _copied_in_a_second(self) -> float:
        return statistics.median([*self._rates()] or [_COPIED])

    def _rates(self) -> Iterator[float]:
        for it in self._facts:
            if it.facts.copy_seconds:
                yield it.size / it.facts.copy_seconds

    @cached_property
    def _facts(self) -> tuple[KeptFacts, ...]:
        """What is known of all data of the home."""
        return tuple(kept_facts(self._home))


def _guessed_size(content: DataSet, suite: suites.Suite, scale: Scale) -> int:
    usual = Scale(size=scale.size, data=scale.files)
    growth = content.volume / suite_tasks.data_set(suite, usual).volume
    cached = suite.server_sizes[scale.size].cache[Regime.CACHED]
    return max(int(_EMPTY + _PART_OF_CACHE * cached * growth), content.least_bytes)
