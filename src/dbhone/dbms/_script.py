"""The scripts of a source tree, out of which a recipe tells what the tree can do."""

from __future__ import annotations

from pathlib import Path


def text_of(script: Path) -> str:
    """Return a script's text, empty where the tree has no such script."""
    return script.read_text(encoding="utf-8", errors="replace") if script.is_file() else ""
