"""An image for containers: the package on the distribution's base system, as an OCI layout.

mmdebstrap makes the base of the machine's own package sources, whose signatures apt verifies: the
essential packages, and those that have the libraries that the server is linked with. With the same
versions of them it is the same to the byte.
"""

from __future__ import annotations

import io
import platform
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.dbms.base import load_dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.errors import PackageError, ToolError, UsageError
from dbhone.instance.programs import installation_of, keep_log
from dbhone.package.archive import pack
from dbhone.package.forms.base import ImageForm
from dbhone.package.image import (
    ACCOUNT,
    ARCHITECTURES,
    DATA,
    Image,
    account_layer,
    layout,
    prefix_of,
)
from dbhone.package.packing import Draft, Package
from dbhone.requirements import Requirement, require
from dbhone.session import Session
from dbhone.untrusted_files import remove_tree

_MAKER = "mmdebstrap"
_SOURCES = ("sources.list", "sources.list.d/*.list", "sources.list.d/*.sources")
_TIMEOUT = 1800.0
_STATUS = "var/lib/dpkg/status"
_STANDARD = re.compile(rf"(?:/usr)?/lib(?:64|/{platform.machine()}-linux-gnu)?/[^/]+")


class Oci(ImageForm):
    """An OCI image layout in a tar, compressed by Zstandard, for podman, docker and skopeo."""

    name = "oci"
    suffix = ".oci.tar.zst"

    def image(self, draft: Draft, session: Session) -> Image:
        """Return the base of the distribution's packages, and how the server starts on ``/data``.

        Raises UsageError for a DBMS that is not a server or a processor that images have no name
        for, and ToolError without mmdebstrap.
        """
        dbms = load_dbms(draft.build.manifest.dbms)
        if not isinstance(dbms, ServerDbms):
            raise UsageError(
                f"{dbms.title} is not a server that a container could run: it is part of programs",
                hint="hone package --form tar",
            )
        if draft.content.machine not in ARCHITECTURES:
            raise UsageError(f"hone makes no images for the processor {draft.content.machine}")
        base = _base(_packages_of(draft.content.libraries), draft.moment, session)
        return Image(
            base=base,
            account=account_layer(base, dbms.name, draft.moment),
            config=_config(dbms, draft),
            machine=draft.content.machine,
            packages=tuple(_installed(base)),
        )

    def render(self, package: Package) -> bytes:
        """Return the layout with the package in it."""
        image = package.image
        assert image is not None, "this form has an image"
        files = layout(image, package.entries, package.name, package.moment)
        return pack(files, "", package.moment)


def _config(dbms: ServerDbms, draft: Draft) -> dict[str, object]:
    """Return how the image's server is started, and what it is, for whoever looks at it."""
    installation = installation_of(dbms, draft.build)
    served = dbms.serve(installation, Path(DATA))
    here, there = str(installation.prefix), prefix_of(draft.name)

    def inside(text: str) -> str:
        return text.replace(here, there)

    environment = {
        "PATH": f"{there}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        # The essential packages have this locale and C. With C, initdb makes SQL_ASCII databases.
        "LANG": "C.UTF-8",
        **served.env,
    }
    manifest = draft.build.manifest
    return {
        "Entrypoint": [inside(word) for word in served.argv],
        "Env": [f"{name}={inside(value)}" for name, value in environment.items()],
        "Labels": {
            "org.opencontainers.image.licenses": draft.content.licence.name,
            "org.opencontainers.image.title": f"{dbms.title} {manifest.version}"
            f" ({manifest.variant})",
            "org.opencontainers.image.version": manifest.version,
        },
        "StopSignal": dbms.stop_signal.name,
        "User": f"{ACCOUNT}:{ACCOUNT}",
        "Volumes": {DATA: {}},
        "WorkingDir": DATA,
    }


def _packages_of(libraries: tuple[str, ...]) -> list[str]:
    """Return the distribution's packages that have these libraries."""
    argv = ("dpkg-query", "--search", *(f"*/{name}" for name in libraries))
    found = process.run(Command(argv=argv, cwd=Path("/"), env={"LC_ALL": "C"}))
    named = _owners(found.text())
    missing = [name for name in libraries if name not in named]
    if missing:
        raise PackageError(
            f"no package of this distribution has {missing[0]}, which the server needs",
            hint="an image has the distribution's libraries only; build with those",
        )
    return sorted(set(named.values()))


def _owners(printed: str) -> dict[str, str]:
    """Return the package that has each file, by its name, of what dpkg-query prints.

    Packages for other processors have files of the same names in other folders. What it says of a
    file that no package has is no path.
    """
    split = (line.partition(": ") for line in printed.splitlines())
    lines = [line for line in split if line[2].startswith("/")]
    owners: dict[str, str] = {}
    for package, _, path in sorted(lines, key=lambda line: not _STANDARD.fullmatch(line[2])):
        owners.setdefault(Path(path).name, package.partition(":")[0])
    return owners


def _base(packages: list[str], moment: int, session: Session) -> bytes:
    """Return the tar of a system with these packages. Raises ToolError with the log."""
    require((Requirement(name=_MAKER, package=_MAKER),), "making an image")
    codename = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    sources = [str(path) for pattern in _SOURCES for path in sorted(Path("/etc/apt").glob(pattern))]
    folder = session.workdir("image")
    tar, log = folder / "base.tar", folder / "log"
    command = Command(
        argv=(
            *(_MAKER, "--variant=essential", "--format=tar", f"--include={','.join(packages)}"),
            *(codename, str(tar), *sources),
        ),
        cwd=folder,
        env={"SOURCE_DATE_EPOCH": str(moment), "TMPDIR": str(folder), "LC_ALL": "C"},
        log=log,
        timeout=_TIMEOUT,
    )
    finished = process.run(command)
    if not finished.ok:
        kept = keep_log(log, session.home, _MAKER)
        raise ToolError(f"{_MAKER} {finished.ending()}", log=kept)
    base = tar.read_bytes()
    remove_tree(folder)
    return base


def _installed(base: bytes) -> Iterator[str]:
    """Yield the packages of a base, each with its version."""
    with tarfile.open(fileobj=io.BytesIO(base), mode="r:") as tar:
        member = next(info for info in tar if info.name.removeprefix("./") == _STATUS)
        file = tar.extractfile(member)
        assert file is not None
        status = file.read().decode()
    for paragraph in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line)
        if "Package" in fields:
            yield f"{fields['Package']} {fields['Version']}"


PLUGIN = Oci()
