"""How far compiling is said to have come."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.compilation.progress import advance


@pytest.mark.parametrize(
    ("printed", "recorded", "said"),
    [
        ("", 0, ""),
        ("checking for gcc... yes\n", 0, ""),
        ("[1/2363] Building C object a.o\n[468/2363] Building C object b.o\n", 3, "468 of 2,363"),
        ("[  6%] Building C object a.o\n[ 45%] Linking b\nb.c: warning\n", 3, "45%"),
        ("gcc -c a.c\ngcc -c b.c\n", 1200, "1,200 files"),
        ("a list: [7/9] in a line\n", 0, ""),
        ("[80/80] Linking a\n$ ninja -C objects mysqld\n", 0, ""),
    ],
)
def test_the_build_systems_own_count_is_reported_and_else_what_was_recorded(
    tmp_path: Path, printed: str, recorded: int, said: str
) -> None:
    log, commands = tmp_path / "build.log", tmp_path / "commands.jsonl"
    log.write_text(printed)
    if recorded:
        commands.write_text("{}\n" * recorded)
    assert advance(log, commands) == said


def test_the_last_count_of_a_long_log_is_reported(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("".join(f"[{number}/9000] {'x' * 99}\n" for number in range(1, 9001)))
    assert advance(log, tmp_path / "none") == "9,000 of 9,000"
