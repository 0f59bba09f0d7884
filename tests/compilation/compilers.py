"""Compilers that tests only name: nothing runs them."""

from __future__ import annotations

from pathlib import Path

from dbhone.compilation.toolchain import Compiler
from dbhone.compilation.transforms.base import CompilerFamily

GCC = Compiler(
    family=CompilerFamily.GCC, path=Path("/bin/gcc"), version="12.2.0", identity="gcc 12.2.0"
)
CLANG = Compiler(
    family=CompilerFamily.CLANG, path=Path("/bin/clang"), version="14.0.6", identity="clang"
)
