"""What the tests of recipes ask for: the same places everywhere, so that golden files hold."""

from __future__ import annotations

from pathlib import Path

from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.dbms.base import BuildRequest, Dbms, Recipe
from tests.compilation.compilers import GCC


def request_for(
    dbms: Dbms,
    tree: Path,
    variant: str = "rel",
    pass_: Pass = Pass.PLAIN,
    *,
    compiler: Compiler = GCC,
    packaging: str | None = None,
) -> BuildRequest:
    """Return the request for one pass of a variant; the profile's place is its placeholder."""
    flags = parse_variant(variant).flags(compiler, pass_)
    return BuildRequest(
        tree=tree,
        version=dbms.version(tree),
        compiler_family=compiler.family.value,
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
        shell=pass_ is not Pass.INSTRUMENT,
        guidance=flags.guidance,
        packaging=packaging,
    )


def as_written(recipe: Recipe, tree: Path, between: str = " ") -> str:
    """Return a recipe as golden files have it, with ``between`` the words of a step."""
    lines = [between.join((f"{step.phase.value}:", *step.argv)) for step in recipe.steps]
    lines += [f"keep {each.name}: {each.made} -> {each.kept}" for each in recipe.artifacts]
    return "\n".join(lines).replace(str(tree), "TREE") + "\n"
