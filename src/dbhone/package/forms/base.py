"""What a form of packages promises."""

from __future__ import annotations

from dbhone.home import Session
from dbhone.package.archive import pack
from dbhone.package.image import Image
from dbhone.package.packing import Draft, Package

DRAWER = "dbhone.package.forms"


class Form:
    """A kind of file that a package is written as: a tar, unless it says otherwise.

    With ``packaging`` the distribution's rules make what is in it, instead of hone's recipe. With
    ``has_image`` the package stands in an image for containers.
    """

    name: str
    suffix: str
    packaging: str | None = None
    has_image: bool = False

    def image(self, draft: Draft, session: Session) -> Image:
        """Return what the image has besides the package."""
        raise NotImplementedError(self.name, draft, session)

    def render(self, package: Package) -> bytes:
        """Return the file."""
        return pack(package.entries, package.name, package.moment)
