"""PostgreSQL built by Debian's own rules, as binary packages.

The rules configure it, then the server alone is made with the variant's flags after those of the
package, and then the rules make the rest and pack it. debhelper's stamp file tells them then that
all is built, as it does after a build by themselves. So libpq and the clients stay as they are, and
so does what ``pg_config`` and the server tell those who build extensions: a profile's flags in
DEB_CFLAGS_APPEND would be in all of them.
"""

from __future__ import annotations

import re
from pathlib import Path

from dbhone.dbms._postgresql_make import server_variables
from dbhone.dbms._postgresql_service import series_of
from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Phase, Recipe
from dbhone.dbms.base_service import MARK
from dbhone.errors import SourceError

_PACKAGE, _PACKAGES, _UNPACKED = Path("package"), Path("packages"), Path("unpacked")
_KEPT = Path("install")
_ENTRY = re.compile(r"^(?P<source>\S+) \((?P<version>[^\s()]+)\) (?P<suite>[^;]+);")
_SIGNED = re.compile(r"^ -- .*>  (?P<date>.+)$", re.MULTILINE)
_STAMP = "debian/debhelper-build-stamp"
_SUFFIX = f"{MARK}1"
_HELPERS = (("dh_update_autotools_config",), ("dh_autoreconf",))
"""What debhelper does before the rules configure."""


def deb_recipe(request: BuildRequest, unmovable: tuple[str, ...]) -> Recipe:
    """Return the steps that make the binary packages, and unpack them to be tried."""
    server = Path("lib", "postgresql", series_of(request.version), "bin", "postgres")
    return Recipe(
        steps=(
            *_source(request),
            *_server(request),
            *_packages(request),
        ),
        artifacts=(
            Artifact(name="install", made=_UNPACKED / "usr", kept=_KEPT, tree=True),
            Artifact(name="server", made=_UNPACKED / "usr" / server, kept=_KEPT / server),
            Artifact(name="packages", made=_PACKAGES, kept=_PACKAGES, tree=True),
        ),
        primary="server",
        unmovable=unmovable,
    )


def _source(request: BuildRequest) -> tuple[BuildStep, ...]:
    entry = _changelog_entry(request.tree)
    lines = (
        ("cp", "-r", "--preserve=mode,timestamps", str(request.tree), str(_PACKAGE)),
        ("chmod", "-R", "u+w", str(_PACKAGE)),
        ("sed", "-i", f"1i {entry}", str(_PACKAGE / "debian" / "changelog")),
    )
    return tuple(BuildStep(phase=Phase.CONFIGURE, argv=line) for line in lines)


def _changelog_entry(tree: Path) -> str:
    """Return an entry with a version of its own, of the date of the one before it."""
    text = (tree / "debian" / "changelog").read_text(encoding="utf-8", errors="replace")
    head, signed = _ENTRY.match(text), _SIGNED.search(text)
    if head is None or signed is None:
        raise SourceError("debian/changelog does not begin with an entry")
    lines = (
        f"{head['source']} ({head['version']}{_SUFFIX}) {head['suite']}; urgency=medium",
        "",
        "  * Rebuilt by hone: the server has other flags of the compiler.",
        "",
        f" -- dbhone <dbhone@localhost>  {signed['date']}",
        "",
    )
    return r"\n".join(lines)


def _server(request: BuildRequest) -> tuple[BuildStep, ...]:
    source = _PACKAGE / "build" / "src"
    make = ("make", f"-j{request.jobs}", "-C")
    shared = ("common", "port")
    # dtrace compiles data only, by flags of its own, and takes CC of the environment.
    optimised = server_variables(request, f"DTRACE=env CC={request.host_compiler} dtrace")
    configure = (*_HELPERS, ("debian/rules", "override_dh_auto_configure"))
    tools = (
        (*make, str(source / "backend"), "generated-headers"),
        *((*make, str(source / folder)) for folder in shared),
        # The server's own copies of the shared code were made along with those for others. One of
        # them holds the compiler and the flags that the server tells of: those of the package.
        (
            *("find", *(str(source / folder) for folder in shared)),
            *("-name", "*_srv.*", "!", "-name", "config_info_srv.o", "-delete"),
        ),
    )
    return (
        *(BuildStep(phase=Phase.CONFIGURE, argv=_in_package(request, line)) for line in configure),
        *(BuildStep(phase=Phase.TOOLS, argv=line) for line in tools),
        BuildStep(phase=Phase.COMPILE, argv=(*make, str(source / "backend"), *optimised)),
    )


def _in_package(request: BuildRequest, line: tuple[str, ...]) -> tuple[str, ...]:
    options = f"DEB_BUILD_OPTIONS=nocheck noautodbgsym parallel={request.jobs}"
    return ("env", f"--chdir={_PACKAGE}", options, *line)


def _packages(request: BuildRequest) -> tuple[BuildStep, ...]:
    build = ("debian/rules", f"-j{request.jobs}", "override_dh_auto_build-arch")
    stamp = ("sed", "-n", f"s/^Package: //w {_STAMP}", "debian/control")
    pack = ("dpkg-buildpackage", "--no-sign", "--no-pre-clean", "--rules-target=binary-arch")
    packages = ("find", ".", "-maxdepth", "1", "-name", "*.deb", "-exec")
    lines = (
        *(_in_package(request, line) for line in (build, stamp, pack)),
        ("mkdir", str(_PACKAGES), str(_UNPACKED)),
        (*packages, "dpkg-deb", "-x", "{}", str(_UNPACKED), ";"),
        (*packages, "mv", "{}", str(_PACKAGES), ";"),
    )
    return tuple(BuildStep(phase=Phase.TOOLS, argv=line) for line in lines)
