"""Which settings a server gets: hone's proposals, what is wanted, and what hone insists on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms
from dbhone.dbms.base_settings import LOOSE, Origin, SettingsTable, Wanted, settings_table, told
from dbhone.errors import SettingsError, nearest
from dbhone.instance.known import known_settings
from dbhone.instance.programs import title_of
from dbhone.instance.translation import Translator

_OFF = ("off", "0", "false")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Translated:
    """A setting that stands under another name, as ``values`` say; one that others say, if none."""

    name: str
    value: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSettings:
    """The settings of a server by name, and what became of those that are not among them.

    ``translated`` are the wanted ones that this version calls otherwise, ``dropped`` those that
    it lacks, ``ignored`` those of a user's own file that hone decides itself.
    ``unproposed`` are the ones that hone would have proposed and that the version lacks.
    ``defaults`` has the server's own values of what is not set, but for places of files and what
    belongs to something that is off.
    """

    values: dict[str, str]
    translated: tuple[Translated, ...] = ()
    dropped: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    unproposed: tuple[str, ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)


def choose(
    dbms: ServerDbms,
    installation: Installation,
    place: InstanceDir,
    *,
    proposed: Mapping[str, str],
    wanted: Iterable[Wanted],
    drop_unknown: bool,
) -> ResolvedSettings:
    """Return the settings for a server at ``place``.

    What is wanted under a name that the server does not know is translated if there is a name
    for it. Else it is left out of hone's own proposals, of a named config, and where its name
    begins with ``loose_``; of the rest only with ``drop_unknown``. Of what is wanted, an
    experiment's own goes before a user's file, and that before a named config. Raises
    SettingsError for an experiment's setting that the server does not know or that hone
    decides itself.
    """
    choice = _Choice(dbms, installation, place)
    everything = tuple(wanted)
    for origin in Origin:
        choice.take(each for each in everything if each.origin is origin)
    choice.check_known(drop_unknown=drop_unknown)
    return choice.chosen(proposed)


@dataclass(frozen=True, slots=True)
class _Request:
    wanted: Wanted
    loose: bool


class _Choice:
    """The choice for one server, in the making."""

    def __init__(self, dbms: ServerDbms, installation: Installation, place: InstanceDir) -> None:
        self.dbms = dbms
        self.installation = installation
        self.table: SettingsTable = settings_table(dbms.settings_table)
        self.offered = known_settings(dbms, installation, place)
        self.known = frozenset(self.offered) - self.table.ignored(installation.version)
        self.fixed = {
            name: value for name, value in dbms.fixed_settings(place).items() if name in self.known
        }
        self.decided = frozenset({*dbms.fixed_settings(place), *dbms.reserved})
        self.requests: dict[str, _Request] = {}
        self.values: dict[str, str] = {}
        self.ignored: list[str] = []
        self.translated: list[Translated] = []
        self.dropped: list[str] = []

    def take(self, wanted: Iterable[Wanted]) -> None:
        """Take over what one origin wants; it goes before what was taken over till now."""
        seen: dict[str, str] = {}
        requests: dict[str, _Request] = {}
        for each in wanted:
            name, value, loose = self._read(each)
            if self._is_hones(each, name, value):
                self.ignored.append(each.name)
                continue
            if seen.setdefault(name, value) != value:
                raise SettingsError(f"the setting '{name}' is given twice, with different values")
            requests[name] = _Request(each, loose)
        self._overrule(requests)
        self.requests |= requests
        self.values |= seen

    def _overrule(self, names: Iterable[str]) -> None:
        """Forget what was taken over before and says the same by another name."""
        for name in names:
            rivals = self.table.rivals(name)
            for other in tuple(self.requests):
                same_topic = other != name and _topic(other) == _topic(name)
                if other in rivals or same_topic:
                    del self.requests[other], self.values[other]

    def _read(self, wanted: Wanted) -> tuple[str, str, bool]:
        """Return a setting's one spelling, its value, and whether it may be missing."""
        canonical = self.dbms.canonical(wanted.name)
        loose = canonical.startswith(LOOSE)
        name, value = self.dbms.respelled(
            canonical.removeprefix(LOOSE), wanted.value, self._is_setting
        )
        if _UNPRINTABLE.search(value):
            raise SettingsError(
                f"the value of the setting '{name}' has a character without a shape"
            )
        return name, value, loose or wanted.origin is Origin.CONFIG

    def _is_setting(self, name: str) -> bool:
        return name in self.known or name in self.table.settings

    def _is_hones(self, wanted: Wanted, name: str, value: str) -> bool:
        """Say whether to pass over a setting that hone decides; an experiment's is an error."""
        dbms = self.dbms
        if wanted.origin is Origin.FILE:
            return name in self.decided | dbms.own_files | dbms.data_settings
        if name in dbms.data_settings:
            raise SettingsError(
                f"'{name}' decides how a data directory is made, and hone has the server make it"
                " as it does by itself",
                hint="leave it out",
            )
        if name not in dbms.reserved and self.fixed.get(name, value) == value:
            return False
        own = f", to '{self.fixed[name]}'" if self.fixed.get(name) else ""
        raise SettingsError(
            f"the setting '{name}' is set by hone itself{own}: each server has files of its own,"
            " a private socket and no network, and its log is read",
            hint="leave it out",
        )

    def check_known(self, *, drop_unknown: bool) -> None:
        """Translate what this version calls otherwise; drop or refuse what it lacks."""
        translator = Translator(self.table, self.known)
        asked = dict(self.values)
        for name, request in self.requests.items():
            if name in self.known:
                continue
            found = translator.translate(name, asked)
            del self.values[name]
            if found is not None:
                self.values |= found
                self.translated.append(Translated(name, asked[name], found))
            elif drop_unknown or request.loose:
                self.dropped.append(name)
            else:
                raise self._missing(request.wanted.name, name)

    def _missing(self, written: str, name: str) -> SettingsError:
        title = title_of(self.dbms, self.installation)
        change = self.table.settings.get(name)
        reason = told(change, self.installation.version, self.dbms.title) if change else ""
        allow = f"write {LOOSE}{name}, or drop_unknown = true in [config], to leave it out there"
        return SettingsError(
            f"{title} has no setting '{written}'",
            hint=f"{reason}: {allow}" if reason else nearest(name, self.known),
        )

    def chosen(self, proposed: Mapping[str, str]) -> ResolvedSettings:
        """Return the choice, with those of hone's proposals that nothing was said against."""
        spoken_of = {
            _topic(other)
            for name in (*self.requests, *self.values)
            for other in self.table.related(name)
        }
        free = {name: value for name, value in proposed.items() if _topic(name) not in spoken_of}
        translator = Translator(self.table, self.known)
        found = {name: self._proposal(translator, name, free) for name in free}
        values: dict[str, str] = {}
        for each in found.values():
            values |= each or {}
        values |= self.values | self.fixed
        return ResolvedSettings(
            values=values,
            translated=tuple(self.translated),
            dropped=tuple(self.dropped),
            ignored=tuple(self.ignored),
            unproposed=tuple(name for name, each in found.items() if each is None),
            defaults=self._defaults(values),
        )

    def _defaults(self, values: Mapping[str, str]) -> dict[str, str]:
        decided = self.decided | self.dbms.own_files
        topics = {_topic(name) for name in values}
        off = tuple(f"{name}_" for name, value in values.items() if value.lower() in _OFF)
        return {
            name: value
            for name, value in self.offered.items()
            if not (name in decided or name.startswith(off) or value.startswith(("/", "./")))
            and _topic(name) not in topics
        }

    def _proposal(
        self, translator: Translator, name: str, proposed: Mapping[str, str]
    ) -> dict[str, str] | None:
        if name in self.known:
            return {name: proposed[name]}
        return translator.translate(name, proposed)


def _topic(name: str) -> str:
    """Return what a switch turns: ``skip_log_bin`` and ``log_bin`` speak of the same."""
    for prefix in ("skip_", "disable_"):
        name = name.removeprefix(prefix)
    return name
