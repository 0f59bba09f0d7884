"""What a postgresql.conf says, read as the server itself would take it."""

from __future__ import annotations

import re

from dbhone.dbms.base_settings import ASK_THE_SERVER, LOOSE, Origin, RequestedSetting
from dbhone.errors import SettingsError

_LINE = re.compile(
    r"""(?P<name>[a-z_][\w$.]*) (?:\s*=\s*|\s+)
        (?: E?'(?P<quoted>(?:[^'\\\n]|''|\\.)*)' | (?P<bare>[^\s'\#=][^\s'\#]*) )
        \s* (?:\#.*)?""",
    re.VERBOSE | re.IGNORECASE,
)
"""A setting; a server that is asked for its settings quotes a backslash as SQL does: ``E'…'``."""
_INCLUDES = frozenset({"include", "include_dir", "include_if_exists"})
_ESCAPED = re.compile(r"''|\\(.)")


def read_conf(text: str) -> tuple[RequestedSetting, ...]:
    """Return the settings of a postgresql.conf; of one that stands twice the last counts.

    An extension's own setting, which has a dot, may be missing: the server learns it only from
    the extension. Raises SettingsError for a line that is none of its, for an included file, and
    for a file that sets nothing.
    """
    values: dict[str, str] = {}
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise SettingsError(f"line {number}: '{line}' is not a setting of a postgresql.conf")
        name = match["name"].lower()
        if name in _INCLUDES:
            raise SettingsError(
                f"line {number}: '{line}' includes another file, which hone does not follow",
                hint=ASK_THE_SERVER,
            )
        quoted = match["quoted"]
        values[name] = match["bare"] if quoted is None else _unquoted(quoted)
    if not values:
        raise SettingsError("in all its lines there is no setting", hint=ASK_THE_SERVER)
    return tuple(
        RequestedSetting(
            name=f"{LOOSE}{name}" if "." in name else name, value=value, origin=Origin.FILE
        )
        for name, value in values.items()
    )


def _unquoted(text: str) -> str:
    return _ESCAPED.sub(lambda match: match[1] or "'", text)
