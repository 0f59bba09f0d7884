"""Data directories: made by the server's own programs, saved once loaded, and copied.

Saved data is a folder that is never changed, and copied for each instance.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from dbhone import process
from dbhone.account import check_reachable, own, take_back
from dbhone.command import Command
from dbhone.dbms.base_server import Installation, InstanceDir, Program, ServerDbms, Settings
from dbhone.errors import MachineError, ServerError, UsageError, disk_full
from dbhone.files import digest_of, publish, sync_file_system
from dbhone.home import Home
from dbhone.instance.data_in_use import check_unused
from dbhone.instance.programs import check_space, keep_log, read_log, run_program, title_of
from dbhone.session import Session
from dbhone.untrusted_files import remove_tree, walk

_INITIALISE_TIMEOUT = 900.0
_TAKE_OVER_TIMEOUT = 4 * 3600.0
"""Seconds: a server recovers from the log of a snapshot first, with small buffers."""
_FORMAT = 3
"""Counts up when data that was saved before must not be used any more."""
_CONTENT = "data"
_NONE: Settings = MappingProxyType({})


def key(dbms: str, version: str, what: object) -> str:
    """Return the name under which data is saved; ``what`` describes how it was loaded."""
    return f"{dbms}-{version}-{digest_of([_FORMAT, dbms, version, what])[:16]}"


def find(home: Home, name: str) -> Path | None:
    """Return the data that is saved under this name, None if there is none."""
    path = home.data / name
    return path if (path / _CONTENT).is_dir() else None


def save(session: Session, name: str, folder: Path) -> Path:
    """Keep the data directory ``folder`` of a server that has stopped; it is moved, not copied.

    If another hone has saved the same data meanwhile, that stays.
    """
    held = hold(session, folder)
    final = session.home.data / name
    with _reporting_full_disk("saving the loaded data"):
        publish(held, final)
    return final


def hold(session: Session, folder: Path) -> Path:
    """Keep the data directory of a server that has stopped, for the session; it is moved.

    It belongs to hone from then on: the server's account goes to others.
    """
    draft = session.workdir("saved")
    with _reporting_full_disk("saving the loaded data"):
        folder.rename(draft / _CONTENT)
        take_back(draft)
    return draft


def restore(saved: Path, place: InstanceDir) -> None:
    """Fill the empty data directory of ``place`` with a copy that belongs to its tenant.

    The copy is on the disk afterwards: to write it later would disturb what is measured.
    """
    with _reporting_full_disk("copying the loaded data"):
        _copy_folder(saved / _CONTENT, place.data)
        own(place.data, place.tenant.account)
        sync_file_system(place.data)


def _copy_folder(source: Path, target: Path) -> None:
    """Copy all below ``source`` into ``target``, by cp(1): it shares blocks where it can.

    Links stay links, holes stay holes. Raises OSError for a full disk, else MachineError.
    """
    # Whom a copy belongs to is decided afterwards.
    what = ("--archive", "--no-preserve=ownership")
    options = (*what, "--reflink=auto", "--sparse=auto")
    finished = process.run(
        Command(
            argv=("cp", *options, "--", f"{source}/.", str(target)),
            cwd=target,
            env={"LC_ALL": "C"},
            isolated=True,
        )
    )
    if finished.ok:
        return
    message = (finished.text().strip() or finished.ending()).splitlines()[-1]
    for number in (errno.ENOSPC, errno.EDQUOT):
        if os.strerror(number) in message:
            raise OSError(number, os.strerror(number), str(target))
    raise MachineError(f"cannot copy the loaded data: {message}")


def make(
    dbms: ServerDbms,
    installation: Installation,
    place: InstanceDir,
    session: Session,
    settings: Settings = _NONE,
) -> None:
    """Make an empty data directory with the server's own programs, by its data settings.

    Raises ServerError, with the log kept, if they fail.
    """
    check_reachable(installation.server.parent, place.tenant.account)
    for program in dbms.initialise(installation, place, settings):
        _run(program, "make a data directory", dbms, installation, place, session)


def copy_from(
    folder: Path,
    dbms: ServerDbms,
    installation: Installation,
    place: InstanceDir,
    session: Session,
    settings: Settings = _NONE,
) -> None:
    """Fill the empty data directory of ``place`` with a copy of a user's, and make it hone's.

    The server that made it must have been stopped; ``settings`` are the data settings that it had.
    Raises UsageError for a folder that is none, that a server uses, or that has links: they lead to
    files that are not copied. Raises ServerError as ``make`` does.
    """
    check_reachable(installation.server.parent, place.tenant.account)
    takeover = dbms.take_over(installation, place, settings)
    if not (folder / takeover.marker).is_file():
        raise UsageError(
            f"{folder} is not a data directory of {dbms.title}: it has no {takeover.marker}",
            hint="give the folder that the server has in its setting data_directory or datadir",
        )
    check_unused(folder)
    check_copyable(folder)
    with _reporting_full_disk("copying the data directory"):
        _copy_folder(folder, place.data)
    for path in [path for path in place.data.iterdir() if _is_socket(path)]:
        path.unlink()
    for name, text in takeover.files.items():
        (place.data / name).unlink(missing_ok=True)
        if text is not None:
            (place.data / name).write_text(text, encoding="utf-8")
    for path in [place.data / name for name in takeover.emptied]:
        if path.is_dir():
            remove_tree(path)
            path.mkdir(mode=0o700)
    _remove_logs(place.data, takeover.logs)
    own(place.data, place.tenant.account)
    doing = f"take over a copy of {folder}"
    _run(*(takeover.program, doing, dbms, installation, place, session), timeout=_TAKE_OVER_TIMEOUT)


def _remove_logs(folder: Path, patterns: tuple[str, ...]) -> None:
    """Remove logs from a copy, of which every server gets a copy in turn.

    With an index of logs, ``NAME.index``, go the logs ``NAME.000001`` and so on.
    """
    found = [path for pattern in patterns for path in folder.glob(pattern)]
    indexed = {path.stem for path in found if path.suffix == ".index"}
    numbered = [path for path in folder.iterdir() if path.suffix.removeprefix(".").isdecimal()]
    for path in (*found, *(path for path in numbered if path.stem in indexed)):
        path.unlink()


def check_copyable(folder: Path) -> None:
    """Raise UsageError if a data directory has more than files and folders, or cannot be read.

    It may have the server's sockets, or links to them, as those of RHEL's packages do.
    """
    try:
        for path in (found / name for found, _, names in walk(folder) for name in names):
            at_top = path.parent == folder
            if not stat.S_ISREG(path.lstat().st_mode) and not (at_top and _is_socket(path)):
                raise UsageError(
                    f"{path} is a link or a special file: its contents would not be copied",
                    hint="tablespaces and logs elsewhere cannot be copied; give a dump",
                )
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}") from error


def _is_socket(path: Path) -> bool:
    """Return whether a path is a socket, or a link that is called like one."""
    mode = path.lstat().st_mode
    return stat.S_ISSOCK(mode) or (stat.S_ISLNK(mode) and path.suffix == ".sock")


def _run(
    program: Program,
    doing: str,
    dbms: ServerDbms,
    installation: Installation,
    place: InstanceDir,
    session: Session,
    *,
    timeout: float = _INITIALISE_TIMEOUT,
) -> None:
    log = place.log.with_name("initialise.log")
    finished = run_program(program, installation, place, timeout=timeout, log=log)
    if finished.ok:
        return
    text = read_log(log)
    kept = keep_log(log, session.home, f"{dbms.name}-initialise")
    check_space(text, place, kept)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else finished.ending()
    if finished.timed_out:
        last = f"it {finished.ending()}; last it said: {last}"
    elif error := dbms.error_in_log(text):
        last = error
    reason = place.tenant.exceeded() or last
    raise ServerError(f"{title_of(dbms, installation)} could not {doing}: {reason}", log=kept)


@contextlib.contextmanager
def _reporting_full_disk(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = disk_full(error, doing)
        if full is None:
            raise
        raise full from error
