"""Code on transparent huge pages."""

from types import MappingProxyType

from dbhone.compilation.transforms.base import FlagContext, Flags, Slot, Transform

_HUGE_PAGE = 2 * 1024 * 1024


class Thp(Transform):
    """Segments at the boundaries of huge pages, so that the kernel can map code by them.

    The kernel does that for files that are only read if it was built for it, and by itself only
    where transparent huge pages are ``always`` on. Elsewhere the build would be a larger file and
    nothing else, so it is refused.
    """

    name = "thp"
    summary = "code aligned for transparent huge pages, where the kernel has them for files"
    order = 60
    slot = Slot.ALIGNMENT
    kernel_options = ("CONFIG_READ_ONLY_THP_FOR_FS",)
    kernel_settings = MappingProxyType({"sys/kernel/mm/transparent_hugepage/enabled": "[always]"})

    def flags(self, context: FlagContext) -> Flags:
        """Return the linker's page sizes."""
        del context
        sizes = (f"-Wl,-z,{which}-page-size={_HUGE_PAGE:#x}" for which in ("max", "common"))
        return Flags(primary_link=(*sizes, "-Wl,-z,separate-code"))


PLUGIN = Thp()
