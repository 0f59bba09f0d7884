"""``git:URL@REV``: a tag, branch or commit of a git repository, with its submodules.

A commit can be named by the way to it, such as ``main~2``, as git itself does; that takes the whole
history. The names of the repository's refs are queried first, so that a revision which does not
exist costs nothing. Only one commit is fetched where the server allows that. No hooks run, and git
asks no questions: a repository that needs a password must get it from git's credential helper.
"""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

from dbhone.command import Command
from dbhone.errors import HoneError, SourceError, UsageError, nearest_of_many
from dbhone.files import absolute_path
from dbhone.process import Finished, run
from dbhone.requirements import Requirement, require
from dbhone.source.fetch import (
    CHECK_NETWORK,
    QUERY_TIMEOUT,
    FetchJob,
    SourceReference,
    error_line,
    failure,
    perform,
    query,
)
from dbhone.source.kinds.base import SourceKind
from dbhone.untrusted_files import remove_tree, walk

_GIT = Requirement(name="git", package="git")
_SYNTAX = "git:URL@REV"
_HINT = f"write it as {_SYNTAX}, where REV is a tag, a branch or a commit, such as v1.2 or HEAD~1"
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_WHOLE_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NO_PATH = re.compile(r"[a-z+]+://[^/]*")
_USER = re.compile(r"(?:https?://[^/@]*|[a-z+]+://[^/@:]*:[^/@]*)@")
_BAD_REVISION = re.compile(r"[\s~^:?*\[\\]|\.\.|@\{|^-")
_WAY = re.compile(r"(?:~\d{0,6}|\^\d{0,3}|\^\{(?:commit)?\})*\Z")
"""From the commit that is named to another one: see gitrevisions(7)."""
_FOLDERS = ("refs/tags/", "refs/heads/", "refs/remotes/")
"""Where git looks for a name, in this order."""
_NAMED = "refs/hone/named"
_PROGRESS = re.compile(r"(Receiving objects|Resolving deltas|Updating files): +(\d+%)")
_REMEDY = re.compile(r"git config --global --add safe\.directory .+")
"""What git says to whoever reads a repository of another user."""
# git gives up a server that sends less than 1000 bytes a second for a minute.
_SETTINGS = {
    "protocol.ext.allow": "never",
    "core.hooksPath": "/dev/null",
    "core.autocrlf": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
    "advice.detachedHead": "false",
}


def _parse(text: str) -> SourceReference:
    location, at, revision = text.removeprefix("git:").rpartition("@")
    if not at or not location or not revision or _NO_PATH.fullmatch(location):
        raise UsageError(f"'{text}' does not say which revision", hint=_HINT)
    if location.startswith("-") or location.startswith("ext::"):
        raise UsageError(f"'{location}' cannot be a repository", hint=_HINT)
    if _USER.match(location):
        raise UsageError(
            "a password or token in a source reference would be written into reports",
            hint="leave it out, and give it to git's credential helper",
        )
    named, _ = _parted(revision)
    if not named or _BAD_REVISION.search(named):
        raise UsageError(f"'{revision}' cannot be a revision", hint=_HINT)
    return SourceReference(
        text=text, kind="git", location=_located(location, Path()), revision=revision
    )


def _parted(revision: str) -> tuple[str, str]:
    """Return the name in a revision, and the way from there: ``main`` and ``~2`` of ``main~2``."""
    way = _WAY.search(revision)
    assert way is not None, "an empty way is one"
    return revision[: way.start()], way[0]


def _absolute(text: str, folder: Path) -> str:
    location, at, revision = text.removeprefix("git:").rpartition("@")
    return f"git:{_located(location, folder)}{at}{revision}" if location else text


def _located(location: str, folder: Path) -> str:
    """Return a path in a folder as an absolute one, and any other location as it is."""
    if not is_local_repository(location):
        return location
    return str(absolute_path(location, folder))


def is_local_repository(location: str) -> bool:
    """Return whether git takes ``location`` for a path: see "GIT URLS" in git-fetch(1)."""
    if "://" in location or "::" in location:
        return False
    colon, slash = location.find(":"), location.find("/")
    return colon < 0 or 0 <= slash < colon


def _fetch(job: FetchJob) -> str:
    location, revision = job.reference.location, job.reference.revision
    assert revision is not None
    job.notify(f"asking {location} for {revision}")
    _git(job, "init", "--quiet", "--template=")
    _git(job, "remote", "add", "origin", location)
    named, way = _parted(revision)
    ref = _resolve(named, _refs(job), job)
    job.notify(f"fetching {revision} from {location}")
    _fetch_commit(job, ref, way)
    _git(job, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    _fetch_submodules(job)
    head = _argv(location, "rev-parse", "--verify", "HEAD")
    commit = query(job, head, env=_environment(job))
    if not commit.ok:
        raise failure(job, "reading the commit", commit)
    _remove_git(job.into)
    return f"git:{location}@{commit.text().strip()}"


def _tags(repository: str) -> tuple[str, ...]:
    location = _parse(f"{repository}@HEAD").location
    require((_GIT,), f"reading {repository}")
    command = Command(
        argv=_argv(location, "ls-remote", "--tags", "--refs", "--", location),
        cwd=Path("/"),
        env={"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"},
        timeout=QUERY_TIMEOUT,
    )
    finished = run(command)
    if not finished.ok:
        reason = error_line(finished.text()) or f"git {finished.ending()}"
        raise SourceError(
            f"{location} has no tags to be read: {reason}", hint=_advice(location, finished)
        )
    names = (line.partition("\trefs/tags/")[2] for line in finished.text().splitlines())
    return tuple(name for name in names if name and not _BAD_REVISION.search(name))


def _argv(location: str, *arguments: str) -> tuple[str, ...]:
    settings = dict(_SETTINGS)
    if location.startswith(("/", "file:")):
        # Submodules of a repository on this machine may lie on this machine too.
        settings["protocol.file.allow"] = "always"
    return (
        "git",
        *(option for key, value in settings.items() for option in ("-c", f"{key}={value}")),
        *arguments,
    )


def _environment(job: FetchJob) -> dict[str, str]:
    """Return variables that forbid questions, and name the repository.

    hone may run in a hook of another repository, which sets these variables, too.
    """
    return {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_DIR": str(job.into / ".git"),
        "GIT_WORK_TREE": str(job.into),
        "GIT_INDEX_FILE": str(job.into / ".git" / "index"),
    }


def _run(job: FetchJob, *arguments: str) -> Finished:
    argv = _argv(job.reference.location, *arguments)
    return perform(job, argv, cwd=job.into, env=_environment(job), progress=_progress)


def _progress(line: str) -> str | None:
    match = _PROGRESS.search(line)
    return f"{match[1].lower()}: {match[2]}" if match else None


def _git(job: FetchJob, *arguments: str) -> None:
    finished = _run(job, *arguments)
    if not finished.ok:
        raise failure(job, f"'git {arguments[0]}' of {job.reference.location}", finished)


def _refs(job: FetchJob) -> tuple[str, ...]:
    """Return the full names of all refs that the repository has."""
    location = job.reference.location
    finished = query(job, _argv(location, "ls-remote", "origin"), env=_environment(job))
    if not finished.ok:
        doing = f"reading the repository {location}"
        raise failure(job, doing, finished, hint=_advice(location, finished))
    return tuple(line.partition("\t")[2] for line in finished.text().splitlines())


def _advice(location: str, finished: Finished) -> str:
    """Return what to do about a repository that git did not read.

    A repository elsewhere could have its reader run anything.
    """
    remedy = _REMEDY.search(finished.text()) if is_local_repository(location) else None
    return CHECK_NETWORK if remedy is None else f"if you trust its owner: {remedy[0]}"


def _resolve(revision: str, refs: tuple[str, ...], job: FetchJob) -> str:
    """Return the ref or commit to fetch. Raises SourceError if the repository does not have it."""
    for folder in ("", *_FOLDERS):
        if folder + revision in refs:
            return folder + revision
    if _COMMIT.fullmatch(revision):
        return revision
    raise _unknown(revision, refs, job)


def _unknown(revision: str, refs: tuple[str, ...], job: FetchJob) -> HoneError:
    short = {
        reduce(str.removeprefix, _FOLDERS, ref)
        for ref in refs
        if not ref.endswith("^{}") and not ref.startswith("refs/pull/")
    }
    return SourceError(
        f"{job.reference.location} has no tag, branch or commit '{revision}'",
        hint=nearest_of_many(revision, short),
    )


def _fetch_commit(job: FetchJob, ref: str, way: str) -> None:
    """Fetch the commit to which the way from a ref leads to FETCH_HEAD.

    It comes without its history if there is no way to go and the server sends it so.
    """
    is_name = ref.startswith(("refs/", "HEAD"))
    alone = not way and (is_name or _WHOLE_COMMIT.fullmatch(ref))
    if alone and _run(job, "fetch", "--progress", "--depth=1", "--no-tags", "origin", ref).ok:
        return
    job.notify(f"fetching the whole history of {job.reference.location}")
    wanted = ["+refs/heads/*:refs/remotes/origin/*", *([f"+{ref}:{_NAMED}"] if is_name else [])]
    _git(job, "fetch", "--progress", "--tags", "origin", *wanted)
    start = _NAMED if is_name else ref
    parse = _argv(job.reference.location, "rev-parse", "--verify", f"{start}{way}^{{commit}}")
    commit = query(job, parse, env=_environment(job))
    if not commit.ok:
        revision = job.reference.revision
        raise SourceError(
            f"{job.reference.location} has no commit '{revision}'",
            hint=f"'git log' there shows its commits; write one as {_SYNTAX}",
        )
    _git(job, "fetch", "--quiet", ".", commit.text().strip())


def _fetch_submodules(job: FetchJob) -> None:
    if not (job.into / ".gitmodules").is_file():
        return
    job.notify("fetching submodules")
    update = ("submodule", "update", "--progress", "--init", "--recursive")
    if not _run(job, *update, "--depth=1").ok:
        _git(job, *update)


def _remove_git(root: Path) -> None:
    for folder, folders, names in walk(root):
        if ".git" in folders:
            folders.remove(".git")
            remove_tree(folder / ".git")
        elif ".git" in names:
            (folder / ".git").unlink()


PLUGIN = SourceKind(
    requirements=(_GIT,),
    syntax=_SYNTAX,
    parse=_parse,
    fetch=_fetch,
    tags=_tags,
    absolute=_absolute,
)
