"""What a server refused while a captured workload was verified, in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dbhone.units import count_of
from dbhone.workload.replay_file import shortened
from dbhone.workload.workload_file import Template

REFUSAL = re.compile(r"^refused (\d+) (\S+) (.*)\n", re.MULTILINE)
"""A line with the number of a template, an error's code, and what the error says."""
_QUOTED = re.compile(r"""(["'])(.*?)\1""")
_NO_PARENT = frozenset({"23503", "1452"})
_MOST_TOLD = 3


def refusals_in_words(printed: str, templates: Sequence[Template]) -> str | None:
    """Return the most frequent errors in ``printed`` with their statements, None without any.

    What errors quote may be values: only words that stand in the template, too, are told.
    """
    counts: Counter[tuple[int, str]] = Counter()
    messages: dict[tuple[int, str], str] = {}
    for template, code, message in REFUSAL.findall(printed):
        kind = (int(template), code)
        counts[kind] += 1
        messages.setdefault(kind, message)
    if not counts:
        return None
    told = [
        f"{count} × {_told(code, messages[number, code], templates[number].text)}"
        for (number, code), count in counts.most_common(_MOST_TOLD)
    ]
    more = len(counts) - len(told)
    rest = f"; and {count_of(more, 'other kind')} of errors" if more else ""
    total = count_of(counts.total(), "statement")
    return f"{total} that the original executed: {'; '.join(told)}{rest}"


def _told(code: str, message: str, text: str) -> str:
    def known(quoted: re.Match[str]) -> str:
        name = quoted[2].rpartition(".")[2]
        is_known = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
        return quoted[0] if name and is_known else f"{quoted[1]}…{quoted[1]}"

    cause = (
        " (where the server makes keys, a row has another key than in the original, and what"
        " refers to it finds none)"
        if code in _NO_PARENT
        else ""
    )
    said = _QUOTED.sub(known, message)
    return f"error {code}, {said}{cause}, in: {shortened(' '.join(text.split()))}"
