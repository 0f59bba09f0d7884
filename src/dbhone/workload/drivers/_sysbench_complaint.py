"""Why sysbench failed, by what it printed: its own words, and what to do about the known ones.

The words are those of the client libraries that it is linked with: MariaDB's in Debian, MySQL's
elsewhere, and PostgreSQL's libpq.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbhone.errors import DriverError

_COMPLAINT = re.compile(r"(?:FATAL|ALERT|PANIC): (.*)")
_VAGUE = re.compile(r"unable to connect to MySQL server|.* function failed: .*connection creation")
"""What stands before or after the line that says why."""
_LONGEST = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    sign: re.Pattern[str]
    message: str
    hint: str


_KNOWN = (
    _Known(
        sign=re.compile(r".*it is already loaded.*"),
        message="sysbench's client library loaded the plugin for the server's authentication"
        " twice at once",
        hint="it happens at random, in some versions of MariaDB's library: run the same again,"
        " or install a newer libmariadb3",
    ),
    _Known(
        sign=re.compile(r".*(?:[Pp]lugin \S+ (?:could not|cannot) be loaded|error 2059\b).*"),
        message="sysbench's client library lacks the plugin for the server's authentication",
        hint="install what brings the file for the library that sysbench is linked with (see"
        " ldd; Debian: apt-get install libmariadb3)",
    ),
    _Known(
        sign=re.compile(
            r".*(?:does not support authentication protocol|old \(pre-4\.1\.1\) authentication"
            r"|SCRAM authentication requires|authentication method \d+ not supported).*"
        ),
        message="sysbench's client library and the server have no authentication in common",
        hint="use a sysbench that is linked with a newer client library",
    ),
    _Known(
        sign=re.compile(
            r".*(?:Access denied for user|error 1524\b|no pg_hba\.conf entry|pg_hba\.conf rejects"
            r"|(?:password|peer|ident) authentication failed|role \".*\" does not exist).*",
            re.IGNORECASE,
        ),
        message="the server refuses hone's own account",
        hint="hone makes the account together with the data: take settings of authentication,"
        " of accounts and of init_file out of the experiment",
    ),
    _Known(
        sign=re.compile(
            r".*(?:[Tt]oo many connections|too many clients already|slots are reserved).*"
        ),
        message="the server has no connection left for a client",
        hint="raise max_connections in [config], or take fewer threads",
    ),
)


def complaint(printed: str) -> DriverError | None:
    """Return what went wrong by sysbench's own account, None if it complains of nothing."""
    lines = [found.group() for found in _COMPLAINT.finditer(printed)]
    if not lines:
        return None
    for known in _KNOWN:
        line = next((each for each in lines if known.sign.fullmatch(each)), None)
        if line is not None:
            return DriverError(f"{known.message}: {line[:_LONGEST]}", hint=known.hint)
    telling = [each for each in lines if not _VAGUE.match(each.partition(": ")[2])]
    return DriverError(f"sysbench failed: {(telling or lines)[0][:_LONGEST]}")
