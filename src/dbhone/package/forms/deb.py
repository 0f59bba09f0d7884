"""The distribution's own binary packages, rebuilt, and their proof, as one tar."""

from __future__ import annotations

from dbhone.package.forms.base import Form


class Deb(Form):
    """Binary packages of Debian and its like, for dpkg."""

    name = "deb"
    suffix = ".deb.tar.zst"
    packaging = "deb"


PLUGIN = Deb()
