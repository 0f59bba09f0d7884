"""Files that tests write, with the folders above them."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, content: str | bytes = "") -> Path:
    """Write a file; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def put_program(path: Path, script: str = "") -> Path:
    """Write a program that runs a script of the shell; return its path."""
    put(path, f"#!/bin/sh\n{script}\n").chmod(0o755)
    return path
