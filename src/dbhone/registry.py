"""Finds plug-ins, in the package and in other installed distributions.

A drawer is a folder of the package; a file in it is a plug-in, and the file's name is its name. A
plug-in module has one constant, ``PLUGIN``, of the type that the drawer's ``base.py`` declares.
Files whose names start with ``base`` declare what plug-ins promise; those whose names start with an
underscore are helpers.

Another distribution adds a plug-in by an entry point whose group is the drawer's name::

    [project.entry-points."dbhone.dbms"]
    mydb = "my_package.mydb:PLUGIN"

A plug-in that cannot be imported is an error that names it, never a plug-in that is silently
missing. Two plug-ins of one name are an error, too.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from dbhone.errors import HoneError, UnknownName

T = TypeVar("T")


@cache
def names(drawer: str) -> tuple[str, ...]:
    """Return the names of the plug-ins in ``drawer``, a package such as ``dbhone.dbms``."""
    return tuple(sorted((*_own(drawer), *others(drawer))))


def load(drawer: str, name: str, kind: type[T], *, what: str) -> T:
    """Return the plug-in ``name`` of ``drawer``.

    Raises UnknownName (saying that there is no such ``what``) when there is none of that name,
    and HoneError when what is found is no plug-in of type ``kind``.
    """
    if name not in names(drawer):
        raise UnknownName(what, name, names(drawer))
    entry_point = others(drawer).get(name)
    if entry_point is None:
        place = f"{drawer}.{name.replace('-', '_')}"
        plugin = getattr(importlib.import_module(place), "PLUGIN", None)
    else:
        place = _place(entry_point)
        plugin = _loaded(entry_point)
    if not isinstance(plugin, kind):
        raise HoneError(f"{place} has no PLUGIN of type {kind.__name__}")
    return plugin


def load_all(drawer: str, kind: type[T], *, what: str) -> dict[str, T]:
    """Return all plug-ins of ``drawer``, by name."""
    return {name: load(drawer, name, kind, what=what) for name in names(drawer)}


@cache
def others(drawer: str) -> dict[str, EntryPoint]:
    """Return the entry points that other distributions have for a drawer, by name.

    Raises HoneError for a name that is taken.
    """
    found: dict[str, EntryPoint] = {}
    for entry_point in entry_points(group=drawer):
        name = entry_point.name
        if name in _own(drawer):
            raise HoneError(f"{_place(entry_point)} has the name of hone's own '{name}'")
        if name in found and found[name].value != entry_point.value:
            both = f"{_place(found[name])} and {_place(entry_point)}"
            raise HoneError(f"{both} have the same name: '{name}'", hint="uninstall one of them")
        found[name] = entry_point
    return found


@cache
def _own(drawer: str) -> tuple[str, ...]:
    package = importlib.import_module(drawer)
    modules = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(name.replace("_", "-") for name in modules if not name.startswith(("base", "_")))


def _loaded(entry_point: EntryPoint) -> object:
    try:
        loaded: object = entry_point.load()
    except Exception as error:
        raise HoneError(
            f"the plug-in {_place(entry_point)} cannot be loaded: {error}",
            hint="mend it, or uninstall it",
        ) from error
    return getattr(loaded, "PLUGIN", loaded)


def _place(entry_point: EntryPoint) -> str:
    distribution = entry_point.dist.name if entry_point.dist else "an unknown distribution"
    return f"{entry_point.value} of {distribution}"
