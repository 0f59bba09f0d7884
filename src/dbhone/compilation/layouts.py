"""Layouts: one build, linked several times with its functions in other random orders.

Where the linker happens to put a function decides with which others it shares cache lines, pages
and entries of the branch predictor. That alone makes a step a little faster or slower (T. Mytkowicz
and others, "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009), as a
difference of two builds would. With several layouts of each build it becomes a part of the spread
that intervals are made of (C. Curtsinger and E. Berger, "Stabilizer", ASPLOS 2013).

What the linker puts into a random order are sections, of which each function is one: lld those of
code, mold those of data, too. A part of what a profile brings stays in all layouts. Functions that
a compiler marked as hot, as unlikely or as needed for starting only stay among themselves. lld
also keeps the order that it gives to the functions whose calls clang's profile has counted.

With link-time optimisation it is the linker that compiles, which takes minutes. It does so for the
first of the other layouts, and what came of it is linked in all of them. lld keeps that by itself;
where gcc's plugin does it, a program that it calls in the place of ``lto-wrapper`` does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from dbhone.compilation.compile_commands import COMMANDS, CompileCommand
from dbhone.compilation.manifest import LAYOUTS, LOG
from dbhone.compilation.transforms.base import CompilerFamily, Flags
from dbhone.files import copy_tree
from dbhone.requirements import Requirement
from dbhone.untrusted_files import open_untrusted

_SECTIONS = "-ffunction-sections"
"""The linker can only move what is a section of its own."""
_LTO_KEPT = "lto-of-layouts"
"""The folder of what came of link-time optimisation, below that of the build."""
_LTO_WRAPPER = f"""\
#!/bin/sh
# gcc's linker plugin calls this for link-time optimisation, and links the objects whose names it
# prints. The first time gcc's own program makes them; they are kept, since the plugin removes them.
set -eu
kept=$DBHONE_FOLDER/{_LTO_KEPT}
if [ ! -e "$kept/made" ]; then
    # gcc's own variables would lead back to this program.
    own=$(env -u COMPILER_PATH -u GCC_EXEC_PREFIX "$COLLECT_GCC" -print-prog-name=lto-wrapper)
    mkdir -p "$kept"
    "$own" "$@" > "$kept/names"
    number=0
    while IFS= read -r name; do
        number=$((number + 1))
        cp "$name" "$kept/$number"
    done < "$kept/names"
    mv "$kept/names" "$kept/made"
fi
number=0
while IFS= read -r name; do
    number=$((number + 1))
    [ -e "$name" ] || cp "$kept/$number" "$name"
    printf '%s\n' "$name"
done < "$kept/made"
"""
_KINDS_APART = "-Wl,-z,keep-text-section-prefix"
_SHUFFLE = {
    "mold": "-Wl,--shuffle-sections={seed}",
    "lld": "-Wl,--shuffle-sections=.text*={seed}",
}
_MOLD = Requirement(name="mold", package="mold")
_USUAL = {CompilerFamily.GCC: "mold", CompilerFamily.CLANG: "lld"}
"""lld cannot read gcc's objects for link-time optimisation."""
LINKERS = tuple(_SHUFFLE)
"""The linkers that can put functions into a random order."""


def usual_linker(family: CompilerFamily) -> str:
    """Return the linker that makes the layouts of builds by such a compiler."""
    return _USUAL[family]


def requirements(family: CompilerFamily) -> tuple[Requirement, ...]:
    """Return what must be installed besides the compiler and what belongs to it."""
    return (_MOLD,) if _USUAL[family] == _MOLD.name else ()


def flags() -> Flags:
    """Return what a build of several layouts is compiled and linked with."""
    return Flags(
        compile=(_SECTIONS,),
        # With link-time optimisation it is the linker that compiles.
        primary_link=(_SECTIONS, _KINDS_APART),
        proof=(_SECTIONS,),
    )


def find_link(commands: Sequence[CompileCommand], made: Path) -> CompileCommand | None:
    """Return the command that linked the file ``made``, by its name or the one it leads to."""
    names = {made.name, Path(os.path.realpath(made)).name}
    links = (command for command in reversed(commands) if command.links)
    return next((command for command in links if Path(command.output).name in names), None)


def provide_lto_wrapper(folder: Path) -> None:
    """Make the folder in which gcc finds our program in the place of its ``lto-wrapper``."""
    folder.mkdir()
    folder.chmod(0o755)  # whatever the umask, since gcc runs as another account
    program = folder / "lto-wrapper"
    program.write_text(_LTO_WRAPPER, encoding="utf-8")
    program.chmod(0o755)


def has_kept(objects: Path) -> bool:
    """Return whether our program has kept, in the folder of objects, what gcc optimised."""
    return (objects / _LTO_KEPT / "made").is_file()


def link_again(
    link: CompileCommand, linker: str, seed: int, output: Path, wrapper: Path
) -> tuple[str, ...]:
    """Return the arguments that link the same objects in the random order of ``seed``.

    ``wrapper`` is the folder that ``provide_lto_wrapper`` has made.
    """
    position = link.argv.index("-o") + 1
    before, after = link.argv[:position], link.argv[position + 1 :]
    kept = output.with_name(_LTO_KEPT)
    once = f"-Wl,--thinlto-cache-dir={kept}" if linker == "lld" else f"-B{wrapper}"
    return (*before, str(output), *after, once, _SHUFFLE[linker].format(seed=seed))


def keep_layout(result: Path, number: int, primary: Path, made: Path) -> None:
    """Add layout ``number`` to the finished folder of a build: the same files but for the primary.

    They are hard links, which need no space, where the file system has these.
    """
    folder = result / LAYOUTS / str(number)
    copy_tree(result, folder, copy=_link, left_out=(LAYOUTS, LOG, COMMANDS))
    target = folder / primary
    mode = target.stat().st_mode
    target.unlink()
    with open_untrusted(made) as linked, target.open("xb") as kept:
        shutil.copyfileobj(linked, kept)
    target.chmod(mode)


def _link(source: Path, target: Path) -> None:
    """Link a file, or copy it: not every file system has hard links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)
