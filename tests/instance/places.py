"""Where the files of an instance lie that no server uses."""

from __future__ import annotations

from pathlib import Path

from dbhone.dbms.base_server import InstanceDir


def place_below(root: Path) -> InstanceDir:
    """Return an instance's place in a folder; nothing of it is made."""
    return InstanceDir(
        data=root / "data",
        settings=root / "settings",
        sockets=root / "run",
        scratch=root / "tmp",
        log=root / "log",
    )


def place_in(root: Path) -> InstanceDir:
    (root / "run").mkdir()
    return place_below(root)
