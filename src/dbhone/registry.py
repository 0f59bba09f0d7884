"""Finds plug-ins, in the package and in other installed distributions.

A drawer is a folder of the package; a file in it is a plug-in, and the file's name is its name. A
plug-in module has one constant, ``PLUGIN``, of the type that the drawer's ``base.py`` declares.
Files whose names start with ``base`` declare what plug-ins promise; those whose names start with an
underscore are helpers. In the drawers of suites, experiments and configs a plug-in is a TOML file.

Another distribution adds a plug-in by an entry point whose group is the drawer's name::

    [project.entry-points."dbhone.dbms"]
    mydb = "my_package.mydb:PLUGIN"

The entry point of a TOML file names the package in which the file lies. This one adds the suite
``my_package/suites/keys.toml``; the file of ``keys:micro`` would be ``suites/keys/micro.toml``::

    [project.entry-points."dbhone.workload.suites"]
    keys = "my_package.suites"

A plug-in that cannot be loaded is an error that names its file or its distribution; it is never
silently missing. Two plug-ins of one name are an error that names both.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files as resource_files
from pathlib import Path
from typing import TypeVar

from dbhone.errors import HoneError, UnknownName

T = TypeVar("T")
_FOLDER_SEPARATOR = ":"


def names(drawer: str) -> tuple[str, ...]:
    """Return the names of the plug-ins in ``drawer``, a package such as ``dbhone.dbms``.

    Raises HoneError if two plug-ins have the same name.
    """
    return tuple(sorted(_modules_and_entry_points(drawer)))


def load(drawer: str, name: str, kind: type[T], *, what: str) -> T:
    """Return the plug-in ``name`` of ``drawer``.

    Raises UnknownName (saying that there is no such ``what``) when there is none of that name,
    and HoneError when it cannot be loaded or is not a plug-in of type ``kind``.
    """
    origin = _modules_and_entry_points(drawer).get(name)
    if origin is None:
        raise UnknownName(what, name, names(drawer))
    place = origin if isinstance(origin, str) else _place(origin)
    loaded = _loaded(origin, place)
    plugin = getattr(loaded, "PLUGIN", loaded)
    if not isinstance(plugin, kind):
        raise HoneError(f"{place} has no PLUGIN of type {kind.__name__}")
    return plugin


def load_all(drawer: str, kind: type[T], *, what: str) -> dict[str, T]:
    """Return all plug-ins of ``drawer``, by name."""
    return {name: load(drawer, name, kind, what=what) for name in names(drawer)}


@cache
def toml_files(drawer: str) -> dict[str, Path]:
    """Return the TOML files of a drawer, hone's own and those of other distributions, by name.

    ``family/name.toml`` has the name ``family:name``. Raises HoneError for an entry point without
    its file, and if two files have the same name.
    """
    own = dict(sorted(_toml_files_below(_folder(drawer, drawer), "")))
    own_places = {name: str(path) for name, path in own.items()}
    others = {
        name: _toml_file(entry_point)
        for name, entry_point in _entry_points(drawer, own_places).items()
    }
    return own | others


@cache
def _modules_and_entry_points(drawer: str) -> dict[str, str | EntryPoint]:
    """Return the plug-ins of a drawer by name: hone's own as modules, others' as entry points."""
    package = importlib.import_module(drawer)
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    own = {
        module.replace("_", "-"): f"{drawer}.{module}"
        for module in modules
        if not module.startswith(("base", "_"))
    }
    return own | _entry_points(drawer, own)


def _entry_points(drawer: str, own_places: dict[str, str]) -> dict[str, EntryPoint]:
    """Return the entry points for a drawer, by name; ``own_places`` has hone's own plug-ins."""
    by_name: dict[str, EntryPoint] = {}
    places = dict(own_places)
    for entry_point in entry_points(group=drawer):
        name, place = entry_point.name, _place(entry_point)
        if places.setdefault(name, place) != place:
            raise HoneError(
                f"{places[name]} and {place} have the same name: '{name}'",
                hint="uninstall one of them",
            )
        by_name[name] = entry_point
    return by_name


def _loaded(origin: str | EntryPoint, place: str) -> object:
    """Return a module by its name, or what an entry point has."""
    try:
        return importlib.import_module(origin) if isinstance(origin, str) else origin.load()
    except Exception as error:
        raise _unloadable(place, error) from error


def _unloadable(place: str, error: Exception) -> HoneError:
    return HoneError(
        f"the plug-in {place} cannot be loaded: {error}", hint="fix it, or uninstall it"
    )


def _place(entry_point: EntryPoint) -> str:
    distribution = entry_point.dist.name if entry_point.dist else "an unknown distribution"
    return f"{entry_point.value} of {distribution}"


def _folder(package: str, place: str) -> Path:
    _loaded(package, place)
    return Path(str(resource_files(package)))


def _toml_files_below(folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if path.is_dir():
            yield from _toml_files_below(path, f"{prefix}{path.name}{_FOLDER_SEPARATOR}")
        elif path.suffix == ".toml":
            yield prefix + path.stem, path


def _toml_file(entry_point: EntryPoint) -> Path:
    place = _place(entry_point)
    words = entry_point.name.split(_FOLDER_SEPARATOR)
    path = _folder(entry_point.value, place).joinpath(*words[:-1], f"{words[-1]}.toml")
    if not path.is_file():
        raise _unloadable(place, FileNotFoundError(f"{path} is missing"))
    return path
