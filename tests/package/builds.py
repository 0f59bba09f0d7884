"""Builds of servers whose programs are tiny ELF files, and the trees with their licences."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build, KeptFile
from dbhone.compilation.variant import parse_variant
from dbhone.home import Home
from dbhone.source.tree import publish_tree
from tests.compilation.plain_build import plain_build
from tests.files import put
from tests.source.make_elf import elf


def put_tree(home: Home, *files: str, links: dict[str, Path] | None = None) -> str:
    """Keep a source tree with these files, and links to others, in a home; return its digest."""
    draft = home.root / "draft"
    for name in files:
        put(draft / "tree" / name, name)
    for name, target in (links or {}).items():
        (draft / "tree" / name).symlink_to(target)
    return publish_tree(draft, home, reference="dir:tree", resolved="dir:tree").digest


def server_build(
    folder: Path,
    source_digest: str,
    *,
    dbms: str = "mysql",
    packaging: Literal["deb"] | None = None,
    program: bytes | None = None,
) -> Build:
    """Return a build whose server is an ELF file, unless other bytes are given.

    One by a distribution's rules has a package besides, and installs the server from it.
    """
    root = folder / "build"
    path = root / ("install/usr/bin/server" if packaging else "bin/server")
    put(path, elf("libc.so.6") if program is None else program).chmod(0o755)
    files = {"server": KeptFile.of(path, root)}
    if packaging:
        put(root / "packages" / "server.deb", b"!<arch>")
        files |= {name: KeptFile.of(root / name, root) for name in ("install", "packages")}
    inputs = BuildInputs(
        dbms=dbms, source="dir:tree", variant=parse_variant("o3"), packaging=packaging
    )
    return plain_build(
        root,
        inputs,
        digest="1" * 64,
        version="8.0.39",
        source_digest=source_digest,
        compile_flags=("-O3",),
        files=files,
    )
