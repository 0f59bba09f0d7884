"""Which settings a server gets: hone's proposals, what is wanted, and what hone insists on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from dbhone import units
from dbhone.dbms.base_server import Installation, Place, ServerDbms
from dbhone.errors import MachineError, ServerError, SettingsError, nearest
from dbhone.instance.account import check_reachable, server_account
from dbhone.instance.programs import run_program, title_of
from dbhone.measurement import cgroup

_QUERY_TIMEOUT = 60.0
_BESIDE_CACHE = 128 * 1024 * 1024
"""What a server needs besides its cache: its code, connections, and the log in memory."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_asked: dict[Installation, frozenset[str]] = {}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The settings of a server by name, and the wanted ones that its version lacks."""

    values: dict[str, str]
    dropped: tuple[str, ...]


def choose(
    dbms: ServerDbms,
    installation: Installation,
    place: Place,
    *,
    proposed: Mapping[str, str],
    wanted: Mapping[str, str],
    drop_unknown: bool,
) -> Chosen:
    """Return the settings for a server at ``place``.

    What the server does not know is left out of hone's own; of what is wanted only with
    ``drop_unknown``. Raises SettingsError for a wanted setting that the server does not know
    or that hone decides itself.
    """
    known = known_settings(dbms, installation, place)
    fixed = {name: value for name, value in dbms.fixed_settings(place).items() if name in known}
    values = {name: value for name, value in proposed.items() if name in known}
    dropped = []
    seen: dict[str, str] = {}
    for written, value in wanted.items():
        name = dbms.canonical(written)
        _check_wanted(dbms, name, value, fixed)
        if seen.setdefault(name, value) != value:
            raise SettingsError(f"the setting '{name}' is given twice, with different values")
        if name in known:
            values[name] = value
        elif drop_unknown:
            dropped.append(written)
        else:
            raise SettingsError(
                f"{title_of(dbms, installation)} has no setting '{written}'",
                hint=nearest(name, known),
            )
    return Chosen(values | fixed, tuple(dropped))


def known_settings(dbms: ServerDbms, installation: Installation, place: Place) -> frozenset[str]:
    """Return the names of all settings that this server knows; it is asked once.

    Raises ServerError if it does not answer.
    """
    known = _asked.get(installation)
    if known is None:
        known = _asked[installation] = _ask(dbms, installation, place)
    return known


def _ask(dbms: ServerDbms, installation: Installation, place: Place) -> frozenset[str]:
    account = server_account()
    check_reachable(installation.server.parent, account)
    answers = []
    for program in dbms.settings_queries(installation, place):
        finished = run_program(program, place, account, timeout=_QUERY_TIMEOUT)
        known = dbms.known_settings(finished.text())
        # A server without a cache of its own was misread, and what it lacks must not be left out.
        if dbms.cache_setting in known:
            return known
        answers.append(finished)
    lines = answers[0].text().strip().splitlines()
    said = lines[-1].strip() if lines else "nothing"
    raise ServerError(
        f"{installation.server} {answers[0].ending()} when asked for its settings, and said: {said}"
    )


def _check_wanted(dbms: ServerDbms, name: str, value: str, fixed: Mapping[str, str]) -> None:
    if _UNPRINTABLE.search(value):
        raise SettingsError(f"the value of the setting '{name}' has a character without a shape")
    if name in dbms.reserved or fixed.get(name, value) != value:
        own = f", to '{fixed[name]}'" if fixed.get(name) else ""
        raise SettingsError(
            f"the setting '{name}' is set by hone itself{own}: each server has files of its own,"
            " a private socket and no network, and its log is read",
            hint="leave it out",
        )


def check_memory(cache_bytes: int, servers: int = 1) -> None:
    """Raise MachineError if servers with caches of this size do not fit into the memory."""
    needed = servers * (cache_bytes + _BESIDE_CACHE)
    limit = cgroup.memory_limit(Path("/"))
    available = min(float(psutil.virtual_memory().available), limit)
    if needed > available:
        count = "a server" if servers == 1 else f"{servers} servers"
        whose = (
            "the control group allows"
            if math.isfinite(limit) and available == limit
            else ("there are")
        )
        raise MachineError(
            f"{count} with a cache of {units.size(cache_bytes)} would need about"
            f" {units.size(needed)}, and {whose} {units.size(available)}",
            hint="choose a smaller cache: [workload] cache",
        )
