"""The files of a suite that a user wrote: its TOML file or script, and the scripts beside it.

A suite is a file and a folder of scripts, whoever wrote it: a shipped one lies in the package, a
user's beside the experiment. All its files together are one value, their texts by name. A run
keeps that value; what is executed is laid out from it, so a file that changes meanwhile changes
nothing.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dbhone.errors import UntrustedFileError, UsageError
from dbhone.files import digest_of, open_to_all, write_whole
from dbhone.home import Home, make_folder
from dbhone.untrusted_files import open_untrusted

TOML = ".toml"
SCRIPT = ".pgbench"
SCRIPTS = "scripts"
"""The folder of a suite's scripts unless its file names another."""
SHARED = Path(__file__).parent / "suites" / "sysbench" / SCRIPTS
"""The scripts that stand in where a user's suite has none of the name."""
_KINDS = (".lua", ".sql")
_LONGEST = 1 << 20
_MOST = 200
_NAME = re.compile(r"[\w-][\w. -]*(?:/[\w-][\w.-]*)*")
USED = re.compile(r'dofile\(here \.\. "([^"]+)"\)')
"""How a script names another that it uses."""


def is_suite_file(name: str) -> bool:
    """Return whether a suite's name is the path of a suite's file, or of a script for pgbench."""
    return name.endswith((TOML, SCRIPT))


def declared(path: Path) -> dict[str, Any]:
    """Return what a suite's file says, with the path of its folder of scripts.

    Raises UsageError for what is no TOML, and for scripts that are not in the file's folder.
    """
    try:
        keys = tomllib.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    folder = path.parent / str(keys.get("scripts", SCRIPTS))
    if not folder.resolve().is_relative_to(path.parent.resolve()):
        raise UsageError(
            f"{path}: scripts: {folder} is not in the folder of the suite's file",
            hint="copy the scripts beside it: all that a suite is made of is in its folder",
        )
    if not folder.is_dir():
        raise UsageError(
            f"{path}: scripts: there is no folder {folder}",
            hint='make it, or say where they are: scripts = "." is the folder of the file',
        )
    return {**keys, "scripts": folder}


def read_files(path: Path) -> dict[str, str]:
    """Return the texts of a suite's file and of its scripts by their names below its folder.

    Raises UsageError, which names the file, for what is missing or no text of ours to read.
    """
    if not path.is_file():
        raise UsageError(f"there is no file {path}", hint="paths begin at the experiment's folder")
    files = {path.name: _text(path)}
    if path.suffix != TOML:
        return files
    folder = declared(path)["scripts"]
    scripts = {script.name: script for script in sorted(folder.iterdir()) if _is_script(script)}
    if len(scripts) > _MOST:
        raise UsageError(
            f"{folder} has {len(scripts)} scripts, and a suite has at most {_MOST}",
            hint='give the suite a folder of its own: scripts = "mine"',
        )
    names = {script.stem for script in scripts.values()}
    if "load" in names and "verify" not in names:
        raise UsageError(
            f"{folder}: the suite loads tables of its own, and nothing verifies them",
            hint="write verify.sql, with queries that all servers must answer alike",
        )
    _check_hidden(scripts.values())
    for script in scripts.values():
        text = _text(script)
        _check_used(script, text, scripts)
        files[script.relative_to(path.parent).as_posix()] = text
    _check_names(files)
    return files


def _check_names(names: Iterable[str]) -> None:
    wrong = next((name for name in names if not _NAME.fullmatch(name)), None)
    if wrong is not None:
        raise UsageError(
            f"'{wrong}' is not a name that a suite's file may have",
            hint="rename it, of letters, digits, '_', '.' and '-', or put it elsewhere",
        )


def known_scripts(folder: Path) -> set[str]:
    """Return the names by which a suite may name scripts: with their ends, and without."""
    scripts = [path for place in (folder, SHARED) for path in place.iterdir() if _is_script(path)]
    return {name for path in scripts for name in (path.name, path.stem)}


def _is_script(path: Path) -> bool:
    return path.suffix in _KINDS


def lay_out(name: str, files: Mapping[str, str], home: Home) -> Path:
    """Write the files where clients may read them; return the path of the one called ``name``.

    The folder is named by what is in it. Raises UsageError for a name that leads elsewhere.
    """
    _check_names(files)
    if name not in files:
        raise UsageError(f"[files]: '{name}' is not the name of a file of this suite")
    folders = {Path(file).parent for file in files if file.endswith(_KINDS)}
    own = {Path(file).stem for file in files}
    shared = [script for script in sorted(SHARED.glob("*.lua")) if script.stem not in own]
    texts = {
        (folder / script.name).as_posix(): script.read_text(encoding="utf-8")
        for folder in folders
        for script in shared
    }
    texts |= files
    root = home.data / f"suite-{digest_of(texts)[:16]}"
    for file, text in texts.items():
        path = root / file
        if not path.exists():
            make_folder(home.data, shared=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
    open_to_all(root)
    return root / name


def label(name: str, files: Mapping[str, str]) -> str:
    """Return the name by which runs call a suite: a user's is named after what is in its files."""
    return f"{Path(name).name} {digest_of(dict(files))[:8]}" if files else name


def _text(path: Path) -> str:
    """Return a text of the user's. A link is refused: it leads out of the folder."""
    try:
        with open_untrusted(path) as file:
            data = file.read(_LONGEST + 1)
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a text file in UTF-8") from None
    except UntrustedFileError as error:
        raise UsageError(error.message, hint="put the file itself there") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {os.strerror(error.errno or 0)}") from None
    if len(data) > _LONGEST or "\0" in text:
        raise UsageError(
            f"{path} is not a script: it has more than {_LONGEST} bytes, or a zero byte"
        )
    return text


def _check_used(script: Path, text: str, beside: Mapping[str, Path]) -> None:
    for name in USED.findall(text):
        if name not in beside and ("/" in name or not (SHARED / name).is_file()):
            raise UsageError(
                f"{script} uses {name}, which is neither beside it nor a script of sysbench:micro",
                hint="a script uses those of its own folder, and sysbench:micro's by their names",
            )


def _check_hidden(scripts: Iterable[Path]) -> None:
    """Refuse a file of SQL that would stand in for what the shared scripts use as Lua."""
    shared = (script.read_text(encoding="utf-8") for script in SHARED.glob("*.lua"))
    used = {name for text in shared for name in USED.findall(text)}
    for script in scripts:
        if script.suffix == ".sql" and f"{script.stem}.lua" in used:
            raise UsageError(
                f"{script} has the name of {script.stem}.lua, which hone's own scripts use",
                hint="rename it",
            )
