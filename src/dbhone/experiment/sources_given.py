"""Takes an experiment's sources from where the command line says, not from where its file does."""

from __future__ import annotations

from collections.abc import Sequence

import tomlkit
from tomlkit.exceptions import ParseError

from dbhone.errors import UnknownName, UsageError
from dbhone.files import absolute_path

SYNTAX = "[NAME=]SOURCE"
_TABLE = "sources"
_FOLDER = "dir:"


def with_sources(text: str, given: Sequence[str]) -> str:
    """Return an experiment file's text with other sources; all else stays as it is written.

    Each word is ``NAME=SOURCE``, or only ``SOURCE`` where the file has but one. A relative folder
    is one beside the user, not beside the file. Raises UsageError for a word that names no source
    of the file. A text that is no TOML, or has no sources, is returned as it is: whoever parses
    it says what is wrong.
    """
    if not given:
        return text
    try:
        document = tomlkit.parse(text)
    except ParseError:
        return text
    sources = document.get(_TABLE)
    if not isinstance(sources, tomlkit.items.Table) or not sources:
        return text
    for word in given:
        name, reference = _parted(word, tuple(sources))
        sources[name] = _from_here(reference)
    return tomlkit.dumps(document)


def _parted(word: str, known: tuple[str, ...]) -> tuple[str, str]:
    """Return name and reference; a reference, too, may have a ``=``, but only behind a colon."""
    name, sign, reference = word.partition("=")
    if sign and ":" not in name:
        if name not in known:
            raise UnknownName("source", name, known)
        return name, reference
    if len(known) > 1:
        names = ", ".join(known)
        raise UsageError(
            f"'{word}' does not say which source it is instead of: there are {names}",
            hint=f"write {known[0]}={word}",
        )
    return known[0], word


def _from_here(reference: str) -> str:
    folder = reference.removeprefix(_FOLDER)
    return reference if folder == reference else f"{_FOLDER}{absolute_path(folder)}"
