"""How a package is printed that was made elsewhere: what it is, and what its proof says."""

from __future__ import annotations

import os
from pathlib import Path

from dbhone.cli.context import Context
from dbhone.cli.lines import headed
from dbhone.errors import PackageError, UsageError
from dbhone.package.archive import MOST_BYTES
from dbhone.package.checking import Checked, Stated, check_package
from dbhone.package.proof import read_public_key
from dbhone.package.repetition import Gain
from dbhone.units import count_of, listed, percent
from dbhone.verification.outcome import Outcome


def check_and_show(context: Context, path: Path, key: Path | None) -> tuple[bytes, Checked]:
    """Check a package file and print what it says; return its bytes and what was found.

    The public ``key`` in a file is the one that must have signed it. Raises UsageError if a file
    cannot be read, PackageError if the package is not what it claims to be.
    """
    data = _read(path)
    trusted = None if key is None else read_public_key(key)
    try:
        checked = check_package(data, trusted)
    except PackageError as error:
        raise PackageError(f"{path}: {error.message}", hint=error.hint) from error
    _show(context, checked, trusted=trusted is not None)
    return data, checked


def gain_in_words(gain: Gain) -> str:
    """Return a gain with its interval."""
    low, high = percent(gain.low - 1), percent(gain.high - 1)
    return f"{percent(gain.ratio - 1)} ({low} to {high})"


def second_build_in_words(differing: tuple[str, ...] | None) -> str:
    """Return what a second build showed; ``differing`` is None if there was none."""
    if differing is None:
        return "reproducibility was not checked"
    if not differing:
        return "a second build of the same inputs has the same files, byte for byte"
    return f"a second build of the same inputs differs in: {listed(differing)}"


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise UsageError(f"{path} is too large to be a package of hone's")
            return file.read()
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", hint="'hone package' makes packages"
        ) from error


def _show(context: Context, checked: Checked, *, trusted: bool) -> None:
    stated = checked.stated
    intact = f"{checked.name}, {count_of(checked.files, 'file')}, all intact"
    context.out.print(headed("package  ", intact))
    context.show_line(headed("signature", _signature(checked, trusted=trusted)))
    context.show_line(headed("build    ", _built(stated)))
    context.show_line(headed("twice    ", second_build_in_words(stated.differing)))
    if stated.made.lacks:
        context.show_line(headed("lacks    ", "; ".join(stated.made.lacks), "bold yellow"))
    context.show_line(headed("verified ", _verified(stated.outcome)))
    context.show_line(headed("measured ", _measured(checked)))
    if checked.found is not None and not checked.measured:
        text = "hone's own build of this source and variant was measured, not these packages"
        context.show_line(headed("note     ", text, "bold yellow"))
    for reason in (checked.why_not_here, checked.why_perhaps_not_here):
        if reason is not None:
            context.show_line(headed("note     ", reason, "bold yellow"))


def _signature(checked: Checked, *, trusted: bool) -> str:
    if checked.key is None:
        return "none: the package is unsigned"
    if trusted:
        return f"by the key that you named, {checked.key[:16]}"
    return f"by the key {checked.key[:16]}, which --key compares with one that you know"


def _built(stated: Stated) -> str:
    asked, made = stated.asked, stated.made
    flags = " ".join((*made.compile_flags, *made.link_flags))
    return f"{asked.dbms} {asked.version}, {asked.variant}: {flags}"


def _verified(outcome: Outcome) -> str:
    lists = ", ".join(f"{each.name} ({each.proving} of {each.tests})" for each in outcome.lists)
    is_own_base = outcome.base == outcome.build
    base = "it is its own base, and passes" if is_own_base else "passes what its base passes"
    return f"grade {outcome.grade.value}: {base} of {lists}"


def _measured(checked: Checked) -> str:
    if checked.found is None:
        return "nothing: the package has no samples"
    texts = [f"{gain.steps} {gain_in_words(gain)}, {gain.verdict}" for gain in checked.gains]
    blocks = count_of(checked.found["blocks"], "block")
    said = "; ".join(texts) or "too few blocks for an interval"
    return f"{checked.subject} over its base, recomputed from {blocks}: {said}"
