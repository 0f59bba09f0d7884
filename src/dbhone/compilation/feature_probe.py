"""Finds out what the compilers of this machine can do by compiling a small program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.compilation.counters import Counters, counters_of
from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.errors import HoneError
from dbhone.home import Session

_PROGRAM = """\
#include <stdio.h>
static int twice(int n) { return n + n; }
int main(int argc, char **argv) { (void)argv; printf("%d\\n", twice(argc)); return 0; }
"""
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureProbe:
    """Whether something works, and if not, why."""

    works: bool
    reason: str


def try_variant(compiler: Compiler, name: str, session: Session) -> FeatureProbe:
    """Compile and run a program as ``name``; for a profile-guided variant train it as well."""
    try:
        variant = parse_variant(name)
        variant.check(compiler)
        folder = session.workdir("probe")
        (folder / "try.c").write_text(_PROGRAM, encoding="utf-8")
        counters = counters_of(compiler, folder / "counters")
        counters.folder.mkdir()
        for pass_ in variant.passes():
            profile = _trained(counters) if pass_ is Pass.USE else counters.folder
            flags = variant.flags(compiler, pass_, profile=str(profile), build_folder=str(folder))
            argv = (str(compiler.path), *flags.compile, "-c", "try.c", "-o", "try.o")
            _run(argv, folder, {})
            _run((str(compiler.path), *flags.link, "try.o", "-o", "try"), folder, {})
            _run((str(folder / "try"),), folder, counters.environment)
    except HoneError as error:
        return FeatureProbe(works=False, reason=error.message)
    return FeatureProbe(works=True, reason="")


def _trained(counters: Counters) -> Path:
    if not counters.read().functions_executed:
        raise HoneError("the instrumented program wrote no profile")
    return counters.merge()


def _run(argv: tuple[str, ...], folder: Path, env: dict[str, str]) -> None:
    command = process.Command(
        argv=argv, cwd=folder, env={"LC_ALL": "C", **env}, isolated=True, timeout=_SECONDS
    )
    finished = process.run(command)
    if not finished.ok:
        if "libclang_rt.profile" in finished.text():
            raise HoneError(
                "clang's profiling runtime is missing (package libclang-rt-VERSION-dev)"
            )
        lines = finished.text().strip().splitlines()
        message = next((line for line in lines if "error" in line), lines[-1] if lines else "")
        raise HoneError(f"{Path(argv[0]).name} {finished.ending()}: {message[:200]}")
