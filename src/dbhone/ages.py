"""Which of two versions is older."""

from __future__ import annotations

import re


def age(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return what sorts versions by age: numbers as numbers, and 8.0.0-rc before 8.0.0."""
    parts = re.findall(r"\d+|[A-Za-z]+", name)
    return (
        *((1, int(part), "") if part.isdigit() else (-1, 0, part) for part in parts),
        (0, 0, ""),
    )
