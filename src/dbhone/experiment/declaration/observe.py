"""What an experiment observes while servers are measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonprefix

from dbhone.dbms.base import Dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.dbms.base_settings import Origin, RequestedSetting
from dbhone.errors import ExperimentError, UnknownName

_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveOptions:
    """What is observed: how often, in seconds, and which of the server's own counters."""

    enabled: bool = True
    every: float = 1.0
    counters: tuple[str, ...] = ()

    def settings(self, dbms: ServerDbms) -> dict[str, str]:
        """Return the settings without which a server would not count the requested counters."""
        needing: dict[tuple[str, str], list[str]] = {}
        for source in dbms.counters if self.enabled else ():
            words = (counter.partition(".") for counter in self.counters)
            names = [_WILDCARD.split(name)[0] for head, _, name in words if head == source.name]
            for setting in source.settings.items() if names else ():
                needing.setdefault(setting, []).extend(names)
        return {
            # Names that are not paths, whatever they look like.
            setting: value.replace("{prefix}", commonprefix(names))  # noqa: RUF071
            for (setting, value), names in needing.items()
        }


def as_requests(
    dbms: ServerDbms, settings: Mapping[str, str], own: Iterable[RequestedSetting]
) -> tuple[RequestedSetting, ...]:
    """Return settings as requests to a server. A subject's own settings go before.

    A version that lacks one runs without it.
    """
    own_names = {dbms.canonical(setting.name) for setting in own}
    return tuple(
        RequestedSetting(name=name, value=value, origin=Origin.CONFIG)
        for name, value in settings.items()
        if dbms.canonical(name) not in own_names
    )


def check_counters(counters: Sequence[str], systems: Iterable[Dbms], *, where: str) -> None:
    """Refuse what cannot be a counter of any of these servers; ``where`` is its place in the file.

    Only a running server knows which names a source has. Raises ExperimentError, UnknownName.
    """
    known = {source.name for dbms in systems for source in dbms.counters}
    for counter in counters:
        source, dot, name = counter.partition(".")
        if not dot or not name:
            raise ExperimentError(
                f"{where}: '{counter}' is not a counter",
                hint=f"write SOURCE.NAME; sources are {', '.join(sorted(known))}",
            )
        if source not in known:
            raise UnknownName("source of counters", source, known, where=where)
