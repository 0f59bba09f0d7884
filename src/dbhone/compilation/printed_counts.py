"""Reads the counts of functions in what gcov-dump, llvm-profdata and BOLT print.

Trained servers write the files that these programs read, under names of their own: nothing in them
is believed that no counter can hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dbhone.errors import ProfileError

_FDATA_WORDS = 8
"""The words of a line: whether each place has a name, its function and offset; two counts."""
_LONGEST_COUNT = 21
"""The digits of 64 bits, and a sign."""
_MOST_COUNTERS = 10_000_000
"""Of one function."""
_GCC_FILE = re.compile(r"(.*):data:magic ")
_GCC_FUNCTION = re.compile(r"FUNCTION ident=(\d{1,20})")
_GCC_ARCS = re.compile(r"COUNTERS arcs (\d{1,20}) counts")
_GCC_ROW = re.compile(r":\s+\d+: ([\d\s-]+)$")
_CLANG_FUNCTION = re.compile(r"^  (\S.*):$")
_CLANG_COUNTS = re.compile(r"^    Block counts: \[(.*)\]$")

Functions = Iterator[tuple[str, list[int]]]
"""Functions by a name that is unique and stays the same, with their counters."""


def gcc_functions(lines: Iterable[str]) -> Functions:
    """Yield the functions in what gcov-dump prints, with their counts.

    Servers write the files that it reads, under names of their own: a file may claim more counters
    than there is memory. Raises ProfileError for that.
    """
    file, name, left = "", "", 0
    counts: list[int] = []
    for line in lines:
        if left:
            row = _GCC_ROW.search(line)
            counts += _counts(row.group(1).split()) if row else ()
            left -= 1
            if not left:
                yield name, counts
        elif (function := _GCC_FUNCTION.search(line)) is not None:
            name = f"{file}:{function.group(1)}"
        elif (arcs := _GCC_ARCS.search(line)) is not None:
            number = int(arcs.group(1))
            if number > _MOST_COUNTERS:
                raise ProfileError(f"the profile is damaged: a function has {number:,} counters")
            counts = []
            left = -(-number // 8)  # a line of gcov-dump has up to eight of them
            if line.endswith("(all zero)"):
                left = 0
                yield name, [0] * number
        elif (opened := _GCC_FILE.match(line)) is not None:
            file = opened.group(1)


def clang_functions(lines: Iterable[str]) -> Functions:
    """Yield the functions in what llvm-profdata prints, with their counts."""
    name = ""
    for line in lines:
        if (counts := _CLANG_COUNTS.match(line)) is not None:
            yield name, _counts(word for word in counts.group(1).split(",") if word.strip())
        elif (function := _CLANG_FUNCTION.match(line)) is not None:
            name = function.group(1)


def bolt_branches(lines: Iterable[bytes]) -> Iterator[tuple[str, int]]:
    """Yield the branches and calls in a file of BOLT's: the function, and how often."""
    for line in lines:
        words = line.split()
        if len(words) == _FDATA_WORDS and words[0] == b"1" and words[-1].isdigit():
            (count,) = _counts([words[-1].decode()])
            yield words[1].decode("utf-8", "replace"), count


def _counts(words: Iterable[str]) -> list[int]:
    """Return counts; raise ProfileError for what no counter holds."""
    found = list(words)
    if any(len(word) > _LONGEST_COUNT for word in found):
        raise ProfileError("the profile is damaged: a count has more digits than any counter")
    try:
        return [int(word) for word in found]
    except ValueError as error:
        raise ProfileError(f"the profile is damaged: {error}") from error
