"""A folder that may lie anywhere, as a tar that is the same to the byte whenever it is made."""

from __future__ import annotations

from dbhone.package.forms.base import Form


class Tar(Form):
    """tar, compressed by Zstandard."""

    name = "tar"
    suffix = ".tar.zst"


PLUGIN = Tar()
