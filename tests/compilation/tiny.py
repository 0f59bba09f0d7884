"""A database system so small that it builds in a second: two C files and no data."""

from __future__ import annotations

import dataclasses
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.spec import BuildSpec
from dbhone.compilation.toolchain import find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.dbms.base import Artifact, BuildRequest, BuildStep, Dbms, Phase, Recipe
from dbhone.files import digest_of_tree
from dbhone.requirements import Requirement
from dbhone.source.tree import SourceTree

MAIN = """\
#include <stdio.h>
int work(int n);
int main(int argc, char **argv) { (void)argv; printf("%d\\n", work(argc * 1000)); return 0; }
"""
WORK = """\
int unused(int n) { return n * 7; }
int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i % 3; return n < 0 ? unused(n) : s; }
"""
HELPER = "int main(int argc, char **argv) { return argc > 2 ? argv[1][0] : 0; }\n"
MORE = "template <class T> T more(T n) { return n + n; }\nint use() { return more(2); }\n"


@dataclass
class Tiny(Dbms):
    """Compiles main.c and work.c, links them, keeps the program."""

    name: str = "tiny"
    title: str = "Tiny"
    reference: str = "dir:tiny"
    build_seconds: float = 1.0
    text_bytes: int = 1000
    forget_flags: bool = False
    own_flags: tuple[str, ...] = ()
    make_nothing: bool = False
    needs_cxx: bool = False
    keep_folder: bool = False
    requirements: tuple[Requirement, ...] = ()
    configure: tuple[str, ...] = ()
    generate: bool = False
    make_helper: bool = False
    hide_link: bool = False

    def version(self, tree: Path) -> str:
        return (tree / "VERSION").read_text().strip()

    def recipe(self, request: BuildRequest) -> Recipe:
        flags = () if self.forget_flags else (*request.compile_flags, *self.own_flags)
        compiler = str(request.compiler)
        steps = [
            BuildStep(
                phase=Phase.COMPILE,
                argv=(compiler, *flags, "-c", str(request.tree / f"{name}.c"), "-o", f"{name}.o"),
            )
            for name in (("main",) if self.generate else ("main", "work"))
        ]
        if self.generate:
            steps.append(_generated(request, flags))
        if self.make_helper:
            source = str(request.tree / "helper.c")
            argv = (compiler, *flags, source, "-o", "helper")
            steps.append(BuildStep(phase=Phase.COMPILE, argv=argv))
        if self.configure:
            steps.insert(0, BuildStep(phase=Phase.CONFIGURE, argv=self.configure))
        if self.needs_cxx:
            steps.append(_more(request, flags))
        objects = ("main.o", "generated.o" if self.generate else "work.o")
        flags = (*request.link_flags, *request.primary_link_flags)
        linker = str(request.host_compiler) if self.hide_link else compiler
        link = (linker, *flags, *objects, "-o", "tiny")
        if not self.make_nothing:
            steps.append(BuildStep(phase=Phase.TOOLS, argv=link))
        kept = [Artifact(name="program", made=Path("tiny"), kept=Path("bin/tiny"))]
        if self.keep_folder:
            steps += _folder(request)
            kept.append(Artifact(name="folder", made=Path("made"), kept=Path("all"), tree=True))
        return Recipe(steps=tuple(steps), artifacts=tuple(kept), primary="program")


def _generated(request: BuildRequest, flags: tuple[str, ...]) -> BuildStep:
    """Compile a source that the build makes, and name it by its whole path as CMake does."""
    script = 'cp "$0" generated.c; exec "$@" -c "$PWD/generated.c" -o generated.o'
    argv = ("sh", "-c", script, str(request.tree / "work.c"), str(request.compiler), *flags)
    return BuildStep(phase=Phase.COMPILE, argv=argv)


def _more(request: BuildRequest, flags: tuple[str, ...]) -> BuildStep:
    words = (*flags, "-c", str(request.tree / "more.cc"), "-o", "more.o")
    return BuildStep(phase=Phase.COMPILE, argv=(str(request.cxx_compiler), *words))


def _folder(request: BuildRequest) -> list[BuildStep]:
    """Make a folder with a program, a file and links: one inside, two that lead out of it."""
    lines = (
        ("mkdir", "-p", "made/bin", "made/share"),
        ("cp", "tiny", "made/bin/tiny"),
        ("install", "-m", "600", str(request.tree / "VERSION"), "made/share/version"),
        ("ln", "-s", "tiny", "made/bin/also"),
        ("ln", "-s", "../bin", "made/share/programs"),
        ("ln", "-s", str(request.tree / "main.c"), "made/share/main.c"),
        ("ln", "-s", "/no/such/file", "made/share/nowhere"),
    )
    return [BuildStep(phase=Phase.TOOLS, argv=line) for line in lines]


def make_tree(root: Path, *, work: str = WORK) -> SourceTree:
    """Write the source; return it as an acquired tree."""
    root.mkdir()
    files = {
        "VERSION": "1.0\n",
        "main.c": MAIN,
        "work.c": work,
        "helper.c": HELPER,
        "more.cc": MORE,
    }
    for name, content in files.items():
        (root / name).write_text(content)
    return acquired(root)


def acquired(root: Path) -> SourceTree:
    """Return a folder as a tree that was acquired, where it is."""
    return SourceTree(
        reference=f"dir:{root}",
        resolved=f"dir:{root}",
        digest=digest_of_tree(root),
        path=root,
        fetched_at=datetime.now(UTC),
    )


def output_of(build: Build) -> bytes:
    """Return what the program of a build prints."""
    return subprocess.run([build.path("program")], check=True, capture_output=True).stdout


_INPUTS = BuildInputs.model_fields.keys() - {"dbms"}


def make_spec(tree: SourceTree, variant: str = "rel", **changes: Any) -> BuildSpec:
    """Return the spec of a build of the tiny system: plain, by gcc, unless ``changes`` say so."""
    compiler = changes.pop("compiler", "gcc")
    named = {key: changes.pop(key) for key in _INPUTS if key in changes}
    inputs = BuildInputs(
        **{"dbms": "tiny", "source": tree.reference, "variant": variant, "compiler": compiler}
        | named
    )
    spec = BuildSpec(
        inputs=inputs,
        dbms=Tiny(),
        tree=tree,
        pass_=Pass.PLAIN,
        compiler=find_compiler(compiler),
    )
    return dataclasses.replace(spec, **changes)
