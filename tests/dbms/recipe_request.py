"""What the tests of recipes ask for: the same places everywhere, so that golden files hold."""

from __future__ import annotations

from pathlib import Path

from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import Flags
from dbhone.dbms.base import BuildRequest, Dbms


def request_for(
    dbms: Dbms,
    tree: Path,
    compiler: Compiler,
    flags: Flags,
    *,
    shell: bool = True,
    packaging: str | None = None,
) -> BuildRequest:
    """Return the request for a build of ``tree`` with these flags."""
    return BuildRequest(
        tree=tree,
        version=dbms.version(tree),
        compiler=Path("/toolbin/cc"),
        host_compiler=compiler.path,
        cxx_compiler=Path("/toolbin/c++"),
        host_cxx_compiler=Path("/bin") / compiler.cxx_name,
        archiver=Path("/toolbin/ar"),
        ranlib=Path("/toolbin/ranlib"),
        nm=Path("/toolbin/nm"),
        compile_flags=flags.compile,
        link_flags=flags.link,
        primary_link_flags=flags.primary_link,
        jobs=2,
        shell=shell,
        packaging=packaging,
    )
