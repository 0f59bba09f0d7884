"""Fixes that are carried over to other releases: upstream's by name, and patches of the user's.

The fixes are declared in ``fixes.toml``. A fix of upstream's is taken from the user's clone of
upstream's repository, which DBHONE_CLONE names. Tests that a commit brings along are left out,
because trees often come without theirs. A fix that does not apply cleanly is an error: nothing is
applied in part.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from dbhone import process
from dbhone.command import Command
from dbhone.errors import MachineError, SourceError, UnknownName, UsageError
from dbhone.files import absolute_path, digest_of_file, expanded_path
from dbhone.home import Home
from dbhone.requirements import Requirement, require
from dbhone.session import Session
from dbhone.versions import VersionRange

CLONE_VARIABLE = "DBHONE_CLONE"
_FILE = "fixes.toml"
_PATCH_SUFFIXES = (".patch", ".diff")
_TESTS = "mysql-test/*"
_GIT = Requirement(name="git", package="git")
_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """Commits of upstream's that the trees of some versions can take."""

    name: str
    title: str
    dbms: frozenset[str]
    span: VersionRange
    why: str
    source: str
    commits: tuple[str, ...]

    def check_fits(self, dbms: str, version: str) -> None:
        """Raise UsageError if it is not for trees of this version."""
        if dbms not in self.dbms:
            raise UsageError(
                f"the fix '{self.name}' is for {' and '.join(sorted(self.dbms))}, not for {dbms}"
            )
        if not self.span.holds(version):
            raise UsageError(
                f"the fix '{self.name}' is for versions from {self.span}, not for {version}",
                hint="leave it out of this subject's 'fixes'",
            )


@cache
def all_fixes() -> dict[str, Fix]:
    """Return the fixes by name, in the file's order."""
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    return {
        entry["name"]: Fix(
            name=entry["name"],
            title=entry["title"],
            dbms=frozenset(entry["dbms"]),
            span=VersionRange(since=entry["since"], until=entry["until"]),
            why=entry["why"],
            source=entry["source"],
            commits=tuple(entry["commits"]),
        )
        for entry in tomllib.loads(text)["fix"]
    }


def is_patch(fix: str) -> bool:
    """Return whether ``fix`` is the path of a user's patch rather than the name of a fix."""
    return fix.endswith(_PATCH_SUFFIXES) or "/" in fix


def check_fix(fix: str) -> str:
    """Return ``fix``, a fix's name or a patch's path. Raises UnknownName for an unknown name."""
    if not is_patch(fix) and fix not in all_fixes():
        raise UnknownName("fix", fix, all_fixes())
    return fix


def fix_inputs(fix: str, *, dbms: str, version: str) -> tuple[str, ...]:
    """Return what identifies a fix in a digest: its commits, or the digest of the patch.

    Raises UsageError if it is not for this version, or if there is no such patch to read.
    """
    if is_patch(fix):
        return (digest_of_file(_patch_file(fix)),)
    named = all_fixes()[fix]
    named.check_fits(dbms, version)
    return named.commits


def apply_fix(fix: str, root: Path, session: Session) -> None:
    """Apply a fix to the tree ``root``, which is changed.

    Raises MachineError where there is no clone to take it from, and SourceError with the log for
    a fix that the clone lacks or that does not apply.
    """
    if is_patch(fix):
        _apply_patch(fix, _patch_file(fix).resolve(), root, session.home)
        return
    for commit in all_fixes()[fix].commits:
        file = session.workdir("fix") / "commit.patch"
        file.write_bytes(_patch_from_clone(fix, commit, session.home))
        _apply_patch(fix, file, root, session.home)


def _patch_file(fix: str) -> Path:
    """Return a patch. Raises UsageError if it is none that can be read."""
    path = expanded_path(fix)
    try:
        if not path.is_file():
            raise UsageError(f"there is no patch {path}")
        path.open("rb").close()
    except OSError as error:
        raise UsageError(f"cannot read the patch {path}: {error.strerror}") from error
    return path


def _patch_from_clone(fix: str, commit: str, home: Home) -> bytes:
    clone_path = os.environ.get(CLONE_VARIABLE)
    short = commit[:12]
    if not clone_path:
        raise MachineError(
            f"the fix '{fix}' is upstream's commit {short}, which hone takes from your clone",
            hint=f"clone upstream's repository and set {CLONE_VARIABLE} to the clone",
        )
    clone = absolute_path(clone_path)
    arguments = ("format-patch", "-1", "--stdout", "--no-signature", commit)
    # The clone itself, not a repository around it.
    only_here = {"GIT_CEILING_DIRECTORIES": str(clone.parent)}
    finished = _git(arguments, clone, only_here) if clone.is_dir() else None
    if finished is None or not finished.ok:
        log = None if finished is None else _write_log(finished, home, fix)
        raise SourceError(
            f"{clone} has no commit {short}, which is the fix '{fix}'",
            hint=f"set {CLONE_VARIABLE} to a whole clone of upstream's repository, and fetch it",
            log=log,
        )
    return finished.output


def _apply_patch(fix: str, patch: Path, root: Path, home: Home) -> None:
    arguments = ("apply", "--whitespace=nowarn", f"--exclude={_TESTS}", str(patch))
    # A stranger's tree may look like a repository, whose settings name programs that git runs.
    no_repository = {"GIT_DIR": str(root.with_name("no-repository"))}
    finished = _git(arguments, root, no_repository)
    if not finished.ok:
        raise SourceError(
            f"the fix '{fix}' does not apply to this tree",
            hint='give a patch for this version: fixes = ["./FILE.patch"]',
            log=_write_log(finished, home, fix),
        )


def _git(arguments: tuple[str, ...], folder: Path, environment: dict[str, str]) -> process.Finished:
    """Run git in a folder. The ``environment`` says where it looks for a repository."""
    require((_GIT,), "applying a fix")
    command = Command(
        argv=(_GIT.name, *arguments),
        cwd=folder,
        env={"LC_ALL": "C", **environment},
        isolated=True,
        timeout=_TIMEOUT,
    )
    return process.run(command)


def _write_log(finished: process.Finished, home: Home, fix: str) -> Path:
    log = home.logs / f"fix-{Path(fix).stem}.log"
    log.write_bytes(finished.output)
    return log
