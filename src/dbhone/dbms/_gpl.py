"""The licence of the servers of MySQL's kind, of which every build is a derived work."""

from __future__ import annotations

from dbhone.dbms.base import Licence


def gpl_2(*files: str) -> Licence:
    """Return the GNU General Public Licence, version 2, for a tree that has it in these files."""
    return Licence(
        name="GPL-2.0-only",
        files=files,
        duty="The GNU General Public Licence, version 2, asks whoever passes the programs on to"
        " pass on the complete source, too, or to offer it in writing for three years.",
    )
