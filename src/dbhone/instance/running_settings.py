"""What a running server took of the settings that it was given: the server is asked."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbhone.dbms.base_server import ServerDbms
from dbhone.dbms.base_settings import LOOSE
from dbhone.instance.client import connect
from dbhone.instance.server import Server

_SIZE = re.compile(r"(\d{1,18})\s*([kmgt]?)i?b?", re.IGNORECASE)
_TIME = re.compile(r"(\d{1,18})\s*(us|ms|s|min|h|d)")
_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_MICROSECONDS = {
    "us": 1,
    "ms": 10**3,
    "s": 10**6,
    "min": 60 * 10**6,
    "h": 3600 * 10**6,
    "d": 86400 * 10**6,
}
_OLD_UTF8 = re.compile(r"^utf8(?=_|$)")
"""What MySQL and MariaDB call utf8mb3 by now, as the name of a character set or a collation."""
_WORDS = {"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningSettings:
    """The settings that a server was ``given``, and how it spells those that it tells."""

    given: Mapping[str, str]
    told: Mapping[str, tuple[str, ...]]
    dbms: ServerDbms

    @property
    def values(self) -> dict[str, str]:
        """What the server says of the settings that it was given."""
        told = {name: self.told.get(name.removeprefix(LOOSE)) for name in self.given}
        return {name: spellings[-1] for name, spellings in told.items() if spellings}

    @property
    def not_taken(self) -> dict[str, tuple[str, str]]:
        """Those that it runs with otherwise: as given, as it says."""
        return different(self.given, self.told, self.dbms)


def ask(server: Server, names: Iterable[str]) -> RunningSettings:
    """Return what a running server says of its settings of these names.

    Raises ServerError if it does not answer.
    """
    with contextlib.closing(connect(server.endpoint)) as client:
        rows = client.ask(server.dbms.running_settings)
    told = {server.dbms.canonical(_text(name)): tuple(map(_text, values)) for name, *values in rows}
    return RunningSettings(
        given={name: server.values[name] for name in names if name in server.values},
        told=with_base_names(told),
        dbms=server.dbms,
    )


def with_base_names(told: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Return what is told, with the name of a file beside the ``ON`` that MySQL tells of it.

    After ``log_bin = binlog`` MySQL tells log_bin as ON, and the path as log_bin_basename.
    """
    files = {
        name: tuple(path.rpartition("/")[2] for path in told.get(f"{name}_basename", ()))
        for name in told
    }
    return {name: (*files[name], *spellings) for name, spellings in told.items()}


def different(
    given: Mapping[str, str], running: Mapping[str, tuple[str, ...]], dbms: ServerDbms
) -> dict[str, tuple[str, str]]:
    """Return the settings that differ; ``running`` has the spellings of each one's value."""

    def same(setting: str, value: str, spelling: str) -> bool:
        meanings = _meanings(value)
        told_as = dbms.told_as
        others = {told_as[setting, word] for word in meanings if (setting, word) in told_as}
        if None in others or not (meanings | others).isdisjoint(_meanings(spelling)):
            return True
        # A server may tell a list in an order of its own.
        words, told = _words(value), _words(spelling)
        return words <= told if setting in dbms.told_with_others else words == told

    return {
        name: (value, spellings[-1])
        for name, value in given.items()
        if (spellings := running.get(setting := name.removeprefix(LOOSE))) is not None
        and not any(same(setting, value, spelling) for spelling in spellings)
    }


def _words(value: str) -> set[str]:
    return {word.strip() for word in _plain(value).split(",")}


def _plain(value: str) -> str:
    return value.strip().strip("'\"").lower()


def _meanings(value: str) -> set[str]:
    """Return what a value may mean: a word, a number of bytes, a time."""
    plain = _plain(value)
    meanings = {plain, _WORDS.get(plain, plain), _OLD_UTF8.sub("utf8mb3", plain)}
    size, time = _SIZE.fullmatch(plain), _TIME.fullmatch(plain)
    if size is not None:
        meanings.add(str(int(size[1]) * _BYTES[size[2]]))
    if time is not None:
        meanings.add(f"{int(time[1]) * _MICROSECONDS[time[2]]} µs")
    with contextlib.suppress(ValueError):
        meanings.add(f"{float(plain):g}" if "." in plain else str(int(plain)))
    return meanings


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
