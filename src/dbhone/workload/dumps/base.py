"""What dumps of a user's database say, and how they are restored: one file for each protocol."""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dbhone import registry
from dbhone.dbms.base_protocol import Endpoint
from dbhone.errors import DriverError, UsageError

DRAWER = "dbhone.workload.dumps"
_BEGINNING = 1 << 20
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7z")
"""How files by gzip, zstd, bzip2 and xz begin."""
_HINT = "dump the database whole, as its owner sees it, and try the dump on an empty database"


@dataclass(frozen=True, slots=True)
class DumpProgram:
    """A program that dumps databases of a DBMS and of others that speak its protocol.

    ``suffix`` is that of its files.
    """

    dbms: str
    command: tuple[str, ...]
    suffix: str

    def line(self, database: str, file: Path, *, host: str | None = None) -> str:
        """Return the shell's line that dumps a database into a file."""
        program, *options = self.command
        where = ("-h", host) if host is not None else ()
        words = (program, *where, *options, database)
        return f"{shlex.join(words)} > {shlex.quote(str(file))}"


class Dumps(ABC):
    """The dumps of servers that speak a protocol."""

    programs: ClassVar[tuple[DumpProgram, ...]]
    """The programs that make them."""
    errors: ClassVar[tuple[re.Pattern[str], ...]]
    """What a program that restores them prints of an error; the group is the server's words."""
    hints: ClassVar[Mapping[re.Pattern[str], str]]
    """What to do about errors, by what they say."""

    def check(self, dump: Path) -> None:
        """Look at the beginning, before anything is built.

        Raises UsageError for a file that hone cannot restore.
        """
        head = head_of(dump)
        if not head.strip():
            raise UsageError(f"the dump {dump} is empty")
        if b"\0" in head or head.startswith(_PACKED):
            makers = " or ".join(program.command[0] for program in self.programs)
            raise UsageError(
                f"{dump} is not a dump that hone can restore",
                hint=f"give what {makers} makes, unpacked: SQL, or PostgreSQL's custom format"
                " (-Fc)",
            )

    def database(self, dump: Path) -> str | None:
        """Return the database that a dump says it is of, None if it says none. Raises UsageError.

        Where a database sees no other, its name does not matter, and is None.
        """
        del dump
        return None

    def other_locale(self, dump: Path) -> str | None:
        """Return the locale of the dumped database if that matters and is not C.

        Raises UsageError if the dump cannot be read, ToolError for a program that is missing.
        """
        del dump
        return None

    def extensions(self, dump: Path) -> tuple[str, ...]:
        """Return the extensions that a dump creates; none where that cannot be read.

        Raises UsageError if the dump cannot be read.
        """
        del dump
        return ()

    @abstractmethod
    def statements_before(self, dump: Path, database: str | None) -> tuple[str, ...]:
        """Return what a server must be told before the dump is restored on it.

        That makes the roles and accounts that the dump names, and the ``database`` into which one
        is restored that does not say which it is of. Raises UsageError, ToolError.
        """

    @abstractmethod
    def load_command(self, endpoint: Endpoint, dump: Path, database: str | None) -> tuple[str, ...]:
        """Return the command that restores a dump on the server, and stops at the first error.

        The program reads the dump from its standard input, which hone opens: the account that it
        runs as need not be able to. A dump that does not say which database it is of is restored
        into the ``database``. Raises UsageError, and ToolError for a program that is missing.
        """

    def error_in(self, printed: str) -> DriverError | None:
        """Return the first error of a program that restores, None if it prints none."""
        found = next(filter(None, (error.search(printed) for error in self.errors)), None)
        if found is None:
            return None
        said = found[1][:300]
        hint = next((hint for about, hint in self.hints.items() if about.search(said)), _HINT)
        return DriverError(f"the dump has an error: {said}", hint=hint)


def load_dumps(protocol: str) -> Dumps:
    """Return the dumps of servers that speak a protocol. Raises UnknownName."""
    return registry.load(DRAWER, protocol, Dumps, what="kind of dumps")


def dump_program(dbms: str, protocol: str) -> DumpProgram:
    """Return the program that dumps databases of a DBMS: its own, or that of its protocol.

    Raises UsageError for a protocol of which hone knows none.
    """
    if protocol not in registry.names(DRAWER):
        raise UsageError(f"hone knows no program that dumps databases of {dbms}")
    programs = load_dumps(protocol).programs
    return next((program for program in programs if program.dbms == dbms), programs[-1])


def error_of_dump(printed: str) -> DriverError | None:
    """Return the first error of a program that restores any dump, None if it prints none."""
    every = registry.load_all(DRAWER, Dumps, what="kind of dumps").values()
    return next(filter(None, (dumps.error_in(printed) for dumps in every)), None)


def head_of(dump: Path) -> bytes:
    """Return the first MiB of a dump. Raises UsageError if it cannot be read."""
    try:
        with dump.open("rb") as file:
            return file.read(_BEGINNING)
    except OSError as error:
        raise UsageError(f"cannot read the dump {dump}: {error.strerror}") from error


def lines_of(dump: Path) -> Iterator[str]:
    """Yield the lines of a dump in SQL."""
    with dump.open(encoding="utf-8", errors="replace") as file:
        yield from file
