"""Makes a tree with fixes out of a tree without: another tree, with a digest of its own.

A fix of upstream's is taken from the user's clone of upstream's repository, which DBHONE_CLONE
names; tests that a commit brings along are left out, because trees often come without theirs. A fix
that does not apply as it is, is an error: nothing is applied in part.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dbhone import process
from dbhone.errors import MachineError, SourceError, ToolError
from dbhone.files import digest_of_file
from dbhone.home import Home, Session
from dbhone.source.fixes import all_fixes, is_file, patch_file
from dbhone.source.tree import SourceTree, derive, derived

CLONE_VARIABLE = "DBHONE_CLONE"
_TESTS = "mysql-test/*"
_TIMEOUT = 300.0

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFixes:
    """What is wanted: fixes by their names, and patches by their files."""

    words: tuple[str, ...]
    dbms: str
    version: str


def fixed(tree: SourceTree, wanted: WantedFixes, session: Session, notify: Notify) -> SourceTree:
    """Return the tree with the fixes, made now or kept from before.

    Raises UsageError for a fix that is not for this version, MachineError without a clone to take
    it from, SourceError with the log for one that the clone lacks or that does not apply.
    """
    inputs = _inputs(wanted)
    found = derived(tree, inputs, session.home)
    if found is not None:
        return found

    def change(root: Path) -> None:
        for word in wanted.words:
            notify(f"applying {word}")
            _apply(word, root, session)

    return derive(tree, inputs, session, change, label=" with " + ", ".join(wanted.words))


def _inputs(wanted: WantedFixes) -> tuple[str, ...]:
    """Return what tells one tree with fixes from another: commits and the digests of patches."""
    inputs: list[str] = []
    for word in wanted.words:
        if is_file(word):
            inputs.append(digest_of_file(patch_file(word)))
        else:
            fix = all_fixes()[word]
            fix.check_fits(wanted.dbms, wanted.version)
            inputs += fix.commits
    return tuple(inputs)


def _apply(word: str, root: Path, session: Session) -> None:
    if is_file(word):
        _patch(word, patch_file(word).resolve(), root, session.home)
        return
    for commit in all_fixes()[word].commits:
        file = session.workdir("fix") / "commit.patch"
        file.write_bytes(_from_clone(word, commit, session.home))
        _patch(word, file, root, session.home)


def _from_clone(word: str, commit: str, home: Home) -> bytes:
    named = os.environ.get(CLONE_VARIABLE)
    short = commit[:12]
    if not named:
        raise MachineError(
            f"the fix '{word}' is upstream's commit {short}, which is taken from a clone of yours",
            hint=f"clone upstream's repository and set {CLONE_VARIABLE} to the clone",
        )
    clone = Path(named).expanduser().absolute()
    words = ("format-patch", "-1", "--stdout", "--no-signature", commit)
    finished = _git(words, clone) if clone.is_dir() else None
    if finished is None or not finished.ok:
        log = None if finished is None else _keep(finished, home, word)
        raise SourceError(
            f"{clone} has no commit {short}, which the fix '{word}' is",
            hint=f"set {CLONE_VARIABLE} to a whole clone of upstream's repository, and fetch it",
            log=log,
        )
    return finished.output


def _patch(word: str, file: Path, root: Path, home: Home) -> None:
    words = ("apply", "--whitespace=nowarn", f"--exclude={_TESTS}", str(file))
    finished = _git(words, root)
    if not finished.ok:
        raise SourceError(
            f"the fix '{word}' does not apply to this tree",
            hint='give a patch for this version: fixes = ["./FILE.patch"]',
            log=_keep(finished, home, word),
        )


def _git(words: tuple[str, ...], folder: Path) -> process.Finished:
    """Run git in a folder; a repository that the folder happens to lie in is not heeded."""
    git = shutil.which("git")
    if git is None:
        raise ToolError("fixes need git, which is missing", hint="install it: apt-get install git")
    env = {"LC_ALL": "C", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = process.Command(
        argv=(git, *words), cwd=folder, env=env, isolated=True, timeout=_TIMEOUT
    )
    return process.run(command)


def _keep(finished: process.Finished, home: Home, word: str) -> Path:
    log = home.logs / f"fix-{Path(word).stem}.log"
    log.write_bytes(finished.output)
    return log
