"""Finds plugins. A drawer is a folder; a file in it is a plugin; the file's name is its name.

A plugin module has one constant, ``PLUGIN``, of the type that the drawer's ``base.py``
declares. A plugin file that cannot be imported is an error that names the file, never
a plugin that is silently missing. Files whose names start with ``base`` declare what plugins
promise; those whose names start with an underscore are helpers.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TypeVar

from dbhone.errors import HoneError, UnknownName

T = TypeVar("T")


@cache
def names(drawer: str) -> tuple[str, ...]:
    """Return the names of the plugins in ``drawer``, a package such as ``dbhone.dbms``."""
    package = importlib.import_module(drawer)
    found = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(
        sorted(name.replace("_", "-") for name in found if not name.startswith(("base", "_")))
    )


def load(drawer: str, name: str, kind: type[T], *, what: str) -> T:
    """Return the plugin ``name`` of ``drawer``.

    Raises UnknownName (saying that there is no such ``what``) when there is no such file,
    and HoneError when the file does not hold a ``PLUGIN`` of type ``kind``.
    """
    if name not in names(drawer):
        raise UnknownName(what, name, names(drawer))
    path = f"{drawer}.{name.replace('-', '_')}"
    plugin = getattr(importlib.import_module(path), "PLUGIN", None)
    if not isinstance(plugin, kind):
        raise HoneError(f"{path} has no PLUGIN of type {kind.__name__}")
    return plugin


def load_all(drawer: str, kind: type[T], *, what: str) -> dict[str, T]:
    """Return all plugins of ``drawer``, by name."""
    return {name: load(drawer, name, kind, what=what) for name in names(drawer)}
