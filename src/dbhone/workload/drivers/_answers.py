"""What drivers print when they verify a server: a line for each answer, and a mark at the end."""

from __future__ import annotations

import hashlib
import re

from dbhone.errors import DriverError

_BANNER = re.compile(r"sysbench \d\S+ \(using \w+ LuaJIT .*\)")
_ANSWER = re.compile(r"answer \S+ .+|sound \S+")
_VERIFIED = "verified"


def read_answers(printed: str, driver: str) -> dict[str, str]:
    """Return the digest of what was answered to each question.

    A question is named by the first two words of a line. What stands in several lines of a name is
    one answer. Raises DriverError if a check found damage.
    """
    lines = [line for line in printed.splitlines() if line.strip()]
    damage = next((line for line in lines if line.startswith("damage ")), None)
    if damage is not None:
        raise DriverError(f"the server's tables are damaged: {damage.removeprefix('damage ')}")
    if lines and _BANNER.fullmatch(lines[0]):
        del lines[0]
    answers = lines[:-1]
    if not answers or lines[-1] != _VERIFIED:
        raise DriverError(f"{driver} ended before it had verified all answers")
    by_question: dict[str, list[str]] = {}
    for line in answers:
        if _ANSWER.fullmatch(line) is None:
            raise DriverError(f"{driver} printed an unexpected line: {line[:120]!r}")
        question = " ".join(line.split()[:2])
        by_question.setdefault(question, []).append(line)
    return {
        question: hashlib.sha256("\n".join(lines).encode()).hexdigest()
        for question, lines in by_question.items()
    }
