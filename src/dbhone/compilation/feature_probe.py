"""Finds out what the compilers of this machine can do by compiling a small program."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from dbhone import process
from dbhone.command import Command
from dbhone.compilation.bolt import find_usable_bolt
from dbhone.compilation.profile_counts import BoltCounters, Counters, counters_of
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import Variant, parse_variant
from dbhone.errors import HoneError
from dbhone.session import Session

_PROGRAM = """\
#include <stdio.h>
static int twice(int n) { return n + n; }
int main(int argc, char **argv) { (void)argv; printf("%d\\n", twice(argc)); return 0; }
"""
_SECONDS = 60.0


def why_variant_fails(
    compiler: Compiler, name: str, session: Session, linker: str | None = None
) -> str | None:
    """Make a program as ``name`` and run it; return why that does not work, None if it does.

    The program is trained as well, if the variant is trained. A flag that the compiler ignores with
    a warning counts as one that it does not know.
    """
    try:
        variant = parse_variant(name)
        variant.check(compiler)
        _Probe(compiler, variant, session, linker).run()
    except HoneError as error:
        return error.message
    return None


class _Probe:
    """The small program in its own folder, pass after pass."""

    def __init__(
        self, compiler: Compiler, variant: Variant, session: Session, linker: str | None
    ) -> None:
        self.compiler = compiler
        self.variant = variant
        self.session = session
        self.folder = session.workdir("probe")
        self.linker = () if linker is None else (f"-fuse-ld={linker}",)
        self.profile = self.folder / "no-profile"

    def run(self) -> None:
        """Make and run it. Raises HoneError with the reason why it does not work."""
        (self.folder / "try.c").write_text(_PROGRAM, encoding="utf-8")
        for pass_ in self.variant.passes():
            counters = self._counters(pass_)
            counters.folder.mkdir()
            self._make(pass_, counters.folder)
            self._run("./try", env=counters.environment)
            if pass_.trains:
                self.profile = _trained(counters)

    def _counters(self, pass_: Pass) -> Counters:
        folder = self.folder / f"counters-{pass_.value}"
        if pass_.post_link:
            return BoltCounters(folder, self.session, find_usable_bolt(), 1)
        earlier = self.profile if pass_.takes_profile else None
        return counters_of(self.compiler, folder, self.session, earlier)

    def _make(self, pass_: Pass, counters: Path) -> None:
        flags = self.variant.flags(
            self.compiler, pass_, profile=str(self.profile), build_folder=str(self.folder)
        )
        if not pass_.post_link:
            compiler = str(self.compiler.path)
            self._run(compiler, "-Werror", *flags.compile, "-c", "try.c", "-o", "try.o")
            link = (*flags.link, *flags.primary_link, *self.linker)
            self._run(compiler, *link, "try.o", "-o", "try")
            shutil.copy2(self.folder / "try", self.folder / "linked")
            return
        places = (
            (f"-instrumentation-file={counters}/try",)
            if pass_.trains
            else (f"-data={self.profile}",)
        )
        bolt = str(find_usable_bolt().path)
        self._run(bolt, "linked", "-relocs=1", "-o", "try", *flags.post_link, *places)

    def _run(self, *argv: str, env: Mapping[str, str] = MappingProxyType({})) -> None:
        command = Command(
            argv=argv, cwd=self.folder, env={"LC_ALL": "C", **env}, isolated=True, timeout=_SECONDS
        )
        finished = process.run(command)
        if finished.ok:
            return
        if "libclang_rt.profile" in finished.text():
            raise HoneError(
                "clang's profiling runtime is missing (package libclang-rt-VERSION-dev)"
            )
        lines = finished.text().strip().splitlines()
        message = next(
            (line for line in lines if "error" in line.lower()), lines[-1] if lines else ""
        )
        raise HoneError(f"{Path(argv[0]).name} {finished.ending()}: {message[:200]}")


def _trained(counters: Counters) -> Path:
    if not counters.read().functions_executed:
        raise HoneError("the instrumented program wrote no profile")
    return counters.merge()
