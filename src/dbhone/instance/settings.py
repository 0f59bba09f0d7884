"""Which settings a server gets: hone's proposals, what is wanted, and what hone insists on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dbhone.dbms.base_server import Installation, Place, ServerDbms
from dbhone.errors import SettingsError, nearest
from dbhone.instance.known import known_settings
from dbhone.instance.programs import title_of

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


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
