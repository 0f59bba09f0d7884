"""What may stand before the verb of a statement: hints, and settings for this statement only."""

from __future__ import annotations

import re

_HINT = r"/\*\+(?:[^*]|\*(?!/))*\*/"
_SETTINGS = r"set\s+statement\s.*?\sfor\s"
"""MariaDB's ``SET STATEMENT max_statement_time = 1 FOR SELECT …``."""
_BEFORE_VERB = re.compile(rf"(?:\s+|{_HINT}|{_SETTINGS})*", re.IGNORECASE | re.DOTALL)


def from_verb(text: str) -> str:
    """Return a statement from its verb on, or from the parenthesis before it."""
    before = _BEFORE_VERB.match(text)
    return text[before.end() :] if before is not None else text
