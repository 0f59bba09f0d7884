"""Programs of a distribution that only write down what they are told."""

from __future__ import annotations

from pathlib import Path


def fake_program(folder: Path, name: str, script: str) -> None:
    """Write a program that runs a script of the shell."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
