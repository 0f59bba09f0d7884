"""What hone concludes from what other programs print of their errors."""

from __future__ import annotations

import pytest

from dbhone.errors import database_says_disk_full


@pytest.mark.parametrize(
    ("printed", "is_full"),
    [
        ("PANIC:  could not write to file: No space left on device", True),
        ("database or disk is full", True),
        ("[ERROR] Disk is full writing './binlog.000001'", True),
        (
            "ERROR:  could not resize shared memory segment to 9 bytes: No space left on device",
            False,
        ),
        ("ERROR:  deadlock detected", False),
    ],
)
def test_only_a_full_disk_is_taken_for_one(printed: str, *, is_full: bool) -> None:
    assert database_says_disk_full(printed) is is_full
