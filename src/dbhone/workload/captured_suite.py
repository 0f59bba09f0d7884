"""A captured workload as a suite: its earlier half and its later half are its sets.

One is for training, the other for testing: a build that learned the earlier half is judged by what
came after it. On request each kind of statement is a set, too, so that one can be trained on and
another tested.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbhone.measurement.record import Group
from dbhone.workload.replay_file import Half, parts_of, writes
from dbhone.workload.workload_file import SUFFIX, read_header

_SCRIPTS = Path(__file__).parent / "suites" / "replay" / "scripts"
_DRIVER = "replay"
_NOTE = "the report holds texts of captured queries, without their values"
_NOTE_ANONYMOUS = (
    "the report holds texts of captured queries, without their values, which were replaced before"
)
_SIZES = {
    "smoke": {"threads": [1], "seconds": 1, "cached": "64M", "os-cached": "8M"},
    "quick": {"threads": [4], "seconds": 4, "cached": "512M", "os-cached": "16M"},
    "full": {"threads": [8], "seconds": 60, "cached": "8G", "os-cached": "1G"},
}


def is_workload_file(name: str) -> bool:
    """Return whether a suite's name is that of a workload file."""
    return name.endswith(SUFFIX)


def sizes() -> tuple[str, ...]:
    """Return the names of the sizes of every captured workload, the smallest first."""
    return tuple(_SIZES)


def declared(path: Path) -> dict[str, Any]:
    """Return the workload as a suite's file would declare it. Raises UsageError for a wrong file.

    The whole transactions are a set's step without a key, and its other steps are their parts.
    """
    header = read_header(path)
    parts, _ = parts_of(header)
    texts = (template.text for template, _ in header.replayed())
    own = {
        "group": Group.WRITE if writes(texts) else Group.POINT,
        "kind": "read",
        "parts": {part.key: {"title": part.title, "group": part.group} for part in parts},
    }
    return {
        "title": f"captured workload of {header.began}",
        "driver": _DRIVER,
        "protocols": [header.protocol],
        "scripts": _SCRIPTS,
        "training": [Half.EARLIER.value],
        "note": _NOTE_ANONYMOUS if header.anonymised else _NOTE,
        "server_sizes": {
            name: {
                "workload": str(path),
                "threads": size["threads"],
                "seconds": {"read": size["seconds"], "write": size["seconds"]},
                "cache": {"cached": size["cached"], "os-cached": size["os-cached"]},
            }
            for name, size in _SIZES.items()
        },
        "sets": {
            "earlier.warm": {
                "title": "transactions of the earlier half, to fill caches",
                "half": Half.EARLIER,
                "warm_up": True,
                # So it takes nothing that the measured clients take: both begin at one place.
                "backwards": True,
                **{**own, "parts": {}},
            },
            **{
                half.value: {
                    "title": f"whole transactions of the {half} half",
                    "half": half,
                    **own,
                }
                for half in Half
            },
            **{
                part.key: {
                    "title": part.title,
                    "half": Half.EARLIER,
                    "part": number,
                    "part_of": Half.EARLIER.value,
                    "group": part.group,
                    "kind": "read",
                    "on_request": True,
                }
                for number, part in enumerate(parts)
            },
        },
    }
