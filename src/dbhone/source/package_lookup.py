"""Which package of the distribution brings a shared library: ``libraries.toml``, then apt-file."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from dbhone.process import output_of

_KNOWN = Path(__file__).with_name("libraries.toml")
_POLICY = re.compile(r"^(\S+):\n.*\n +Candidate: (?!\(none\))", re.MULTILINE)
# Other packages have a file of the same name in a folder of their own.
_SHARED = re.compile(r"(\S+): (?:/usr)?/lib(?:64|/[^/]+)?/[^/]+")
_APT_FILE_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bringer:
    """What brings a library.

    ``package`` is one that this machine's package sources have, None if none is known; ``note``
    what is known of distributions that do not have it.
    """

    package: str | None
    note: str | None


def bringers_of(sonames: tuple[str, ...]) -> dict[str, Bringer]:
    """Return what brings each of some libraries, by the name that programs ask for."""
    known = _known()
    names = tuple(name for each in sonames if each in known for name in known[each].packages)
    offered = _offered(names)
    return {
        each: known[each].on(offered) if each in known else _by_apt_file(each) for each in sonames
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    packages: tuple[str, ...]
    note: str | None

    def on(self, offered: frozenset[str]) -> Bringer:
        package = next((each for each in self.packages if each in offered), None)
        return Bringer(package=package, note=self.note)


@functools.cache
def _known() -> dict[str, _Entry]:
    table = tomllib.loads(_KNOWN.read_text(encoding="utf-8"))
    return {
        soname: _Entry(packages=tuple(each["packages"]), note=each.get("note"))
        for soname, each in table.items()
    }


def _offered(names: tuple[str, ...]) -> frozenset[str]:
    """Return those of some packages that the machine's package sources have."""
    if not names:
        return frozenset()
    return frozenset(_POLICY.findall(output_of(("apt-cache", "policy", *names)) or ""))


def _by_apt_file(soname: str) -> Bringer:
    argv = ("apt-file", "search", "--regexp", f"/{re.escape(soname)}$")
    lines = (output_of(argv, timeout=_APT_FILE_SECONDS) or "").splitlines()
    found = next(filter(None, map(_SHARED.fullmatch, lines)), None)
    return Bringer(package=found[1] if found else None, note=None)
