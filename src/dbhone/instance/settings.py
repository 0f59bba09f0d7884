"""Which settings a server gets: hone's proposals, what is wanted, and what hone insists on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dbhone.account import check_reachable
from dbhone.dbms.base_server import Installation, InstanceDir, ServerDbms
from dbhone.dbms.base_settings import (
    LOOSE,
    Origin,
    RequestedSetting,
    SettingsTable,
    explain_change,
    settings_table,
)
from dbhone.errors import ServerError, SettingsError, nearest_of_many
from dbhone.instance.programs import run_program, title_of
from dbhone.instance.translation import Translator

_QUERY_TIMEOUT = 60.0
_defaults_by_server: dict[Installation, dict[str, str]] = {}


def known_settings(
    dbms: ServerDbms, installation: Installation, place: InstanceDir
) -> Mapping[str, str]:
    """Return all settings that this server knows, with their defaults.

    The server's program is asked once. Raises ServerError if it does not answer.
    """
    known = _defaults_by_server.get(installation)
    if known is None:
        known = _defaults_by_server[installation] = _query(dbms, installation, place)
    return known


def _query(dbms: ServerDbms, installation: Installation, place: InstanceDir) -> dict[str, str]:
    check_reachable(installation.server.parent, place.tenant.account)
    answers = []
    for program in dbms.settings_queries(installation, place):
        finished = run_program(program, installation, place, timeout=_QUERY_TIMEOUT)
        known = dbms.known_settings(finished.text())
        # An answer without the cache's setting was misread; settings would be dropped by mistake.
        if dbms.cache_setting in known:
            return known
        answers.append(finished)
    lines = answers[0].text().strip().splitlines()
    last_line = lines[-1].strip() if lines else "nothing"
    raise ServerError(
        f"{installation.server} {answers[0].ending()} when asked for its settings,"
        f" and printed: {last_line}"
    )


_OFF = ("off", "0", "false")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Translated:
    """A wanted setting that this version spells otherwise.

    ``values`` are the settings in its place; none if other settings already say the same.
    """

    name: str
    value: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSettings:
    """The settings of a server by name, and what became of the wanted ones.

    ``translated`` are those that this version calls otherwise. ``dropped`` are those that it lacks.
    ``ignored`` are those of a user's own file that hone decides itself. ``unproposed`` are those
    that hone would have proposed and that the version lacks. ``defaults`` has the server's own
    values of all other settings, without paths and without what belongs to a feature that is off.
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
    wanted: Iterable[RequestedSetting],
    drop_unknown: bool,
) -> ResolvedSettings:
    """Return the settings for a server at ``place``.

    A wanted setting that the server does not know is translated if it has another name there.
    Otherwise it is dropped if it comes from hone's proposals or from a named config, if its name
    begins with ``loose_``, or with ``drop_unknown``. An experiment's own setting overrides a
    user's file, which overrides a named config. Raises SettingsError for an experiment's setting
    that the server does not know, or that hone decides itself.
    """
    choice = _Choice(dbms, installation, place)
    settings = tuple(wanted)
    for origin in Origin:
        choice.take(setting for setting in settings if setting.origin is origin)
    choice.check_known(drop_unknown=drop_unknown)
    return choice.resolved(proposed)


@dataclass(frozen=True, slots=True)
class _Request:
    wanted: RequestedSetting
    loose: bool


class _Choice:
    """Collects the settings of one server, origin by origin."""

    def __init__(self, dbms: ServerDbms, installation: Installation, place: InstanceDir) -> None:
        self.dbms = dbms
        self.installation = installation
        self.table: SettingsTable = settings_table(dbms.settings_table)
        self.offered = known_settings(dbms, installation, place)
        self.known = frozenset(self.offered) - self.table.ignored(installation.version)
        self.translator = Translator(self.table, self.known)
        self.fixed = {
            name: value for name, value in dbms.fixed_settings(place).items() if name in self.known
        }
        self.decided = frozenset({*dbms.fixed_settings(place), *dbms.reserved})
        self.requests: dict[str, _Request] = {}
        self.values: dict[str, str] = {}
        self.ignored: list[str] = []
        self.translated: list[Translated] = []
        self.dropped: list[str] = []

    def take(self, wanted: Iterable[RequestedSetting]) -> None:
        """Add the settings of one origin; they override those added before."""
        values: dict[str, str] = {}
        requests: dict[str, _Request] = {}
        for setting in wanted:
            name, value, loose = self._read(setting)
            if self._is_decided_by_hone(setting, name, value):
                self.ignored.append(setting.name)
                continue
            if values.setdefault(name, value) != value:
                raise SettingsError(f"the setting '{name}' is given twice, with different values")
            requests[name] = _Request(setting, loose)
        self._override(requests)
        self.requests |= requests
        self.values |= values

    def _override(self, names: Iterable[str]) -> None:
        """Forget settings of earlier origins that mean the same under another name."""
        for name in names:
            rivals = self.table.rivals(name)
            for other in tuple(self.requests):
                same_topic = other != name and _topic(other) == _topic(name)
                if other in rivals or same_topic:
                    del self.requests[other], self.values[other]

    def _read(self, wanted: RequestedSetting) -> tuple[str, str, bool]:
        """Return a setting's canonical name, its value, and whether the server may lack it."""
        canonical = self.dbms.canonical(wanted.name)
        loose = canonical.startswith(LOOSE)
        name, value = self.dbms.respelled(
            canonical.removeprefix(LOOSE), wanted.value, self._is_setting
        )
        if _UNPRINTABLE.search(value):
            raise SettingsError(f"the value of the setting '{name}' contains a control character")
        return name, value, loose or wanted.origin is Origin.CONFIG

    def _is_setting(self, name: str) -> bool:
        return name in self.known or name in self.table.settings

    def _is_decided_by_hone(self, wanted: RequestedSetting, name: str, value: str) -> bool:
        """Return whether to ignore a setting that hone decides. Raises for an experiment's own."""
        dbms = self.dbms
        if wanted.origin is Origin.FILE:
            return name in self.decided or dbms.is_of_one_server(name)
        if name not in dbms.reserved and self.fixed.get(name, value) == value:
            return False
        own = f", to '{self.fixed[name]}'" if self.fixed.get(name) else ""
        raise SettingsError(
            f"the setting '{name}' is set by hone itself{own}: each server has files of its own,"
            " a private socket and no network, and its log is read",
            hint="leave it out",
        )

    def check_known(self, *, drop_unknown: bool) -> None:
        """Translate settings that this version calls otherwise; drop or refuse those it lacks."""
        original = dict(self.values)
        missing: dict[str, RequestedSetting] = {}
        for name, request in self.requests.items():
            if name in self.known:
                continue
            replacement = self.translator.translate(name, original)
            del self.values[name]
            if replacement is not None:
                self.values |= replacement
                self.translated.append(Translated(name, original[name], replacement))
            elif drop_unknown or request.loose:
                self.dropped.append(name)
            else:
                missing[name] = request.wanted
        if missing:
            raise self._missing(missing)

    def _missing(self, missing: Mapping[str, RequestedSetting]) -> SettingsError:
        title = title_of(self.dbms, self.installation)
        written = ", ".join(f"'{setting.name}'" for setting in missing.values())
        if len(missing) > 1:
            return SettingsError(
                f"{title} has no settings {written}",
                hint="to leave them out there: drop_unknown = true in [config]",
            )
        ((name, setting),) = missing.items()
        change = self.table.settings.get(name)
        reason = (
            explain_change(change, self.installation.version, self.dbms.title) if change else ""
        )
        allow = f"write {LOOSE}{name}, or drop_unknown = true in [config], to leave it out there"
        return SettingsError(
            f"{title} has no setting {written}",
            hint=f"{reason}: {allow}" if reason else self._nearest(name, setting),
        )

    def _nearest(self, name: str, setting: RequestedSetting) -> str:
        hint = nearest_of_many(name, self.known)
        if setting.origin is not Origin.FILE:
            return hint
        return f"{hint} (to leave it out there: drop_unknown = true in [config])"

    def resolved(self, proposed: Mapping[str, str]) -> ResolvedSettings:
        """Return the settings, with those of hone's proposals that no wanted setting concerns."""
        decided = {
            _topic(other)
            for name in (*self.requests, *self.values)
            for other in self.table.related(name)
        }
        free = {name: value for name, value in proposed.items() if _topic(name) not in decided}
        proposals = {
            name: {name: value} if name in self.known else self.translator.translate(name, free)
            for name, value in free.items()
        }
        values: dict[str, str] = {}
        for proposal in proposals.values():
            values |= proposal or {}
        values |= self.values | self.fixed
        return ResolvedSettings(
            values=values,
            translated=tuple(self.translated),
            dropped=tuple(self.dropped),
            ignored=tuple(self.ignored),
            unproposed=tuple(name for name, proposal in proposals.items() if proposal is None),
            defaults=self._defaults(values),
        )

    def _defaults(self, values: Mapping[str, str]) -> dict[str, str]:
        topics = {_topic(name) for name in values}
        off = tuple(f"{name}_" for name, value in values.items() if value.lower() in _OFF)
        return {
            name: value
            for name, value in self.offered.items()
            if not (name in self.decided or self.dbms.is_of_one_server(name))
            and not (name.startswith(off) or value.startswith(("/", "./")))
            and _topic(name) not in topics
        }


def _topic(name: str) -> str:
    """Return what a switch controls: ``skip_log_bin`` and ``log_bin`` have one topic."""
    for prefix in ("skip_", "disable_"):
        name = name.removeprefix(prefix)
    return name
