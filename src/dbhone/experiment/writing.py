"""Experiment files that hone writes: TOML of tables whose values stand on one line each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def file_text(
    comment: str, head: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]
) -> str:
    """Return a file's text: a comment, what stands before all tables, and the tables."""
    parts = [f"# {comment}", _lines(head)]
    parts += [f"[{_key(name)}]\n{_lines(values)}" for name, values in tables.items() if values]
    return "\n\n".join(parts) + "\n"


def _lines(values: Mapping[str, Any]) -> str:
    return "\n".join(f"{_key(name)} = {_value(value)}" for name, value in values.items())


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "a").isalpha() else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_value(each)}" for name, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_value, value))}]"
    # What JSON writes as a string, a number or a truth is one in TOML, too.
    return json.dumps(value, ensure_ascii=False)
