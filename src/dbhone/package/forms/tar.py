"""A folder that may lie anywhere, as a tar that is the same to the byte whenever it is made."""

from __future__ import annotations

from dbhone.package.archive import pack
from dbhone.package.forms.base import Form
from dbhone.package.packing import Package


class Tar(Form):
    """tar, compressed by Zstandard."""

    name = "tar"
    suffix = ".tar.zst"

    def render(self, package: Package) -> bytes:
        """Return the archive."""
        return pack(package.entries, package.name, package.moment)


PLUGIN = Tar()
