"""The builds that there are, and making room."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dbhone.compilation.manifest import Build, read_build
from dbhone.files import remove_tree, tree_size
from dbhone.home import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was removed: how many folders, and how many bytes that freed."""

    folders: int
    bytes: int


def all_builds(home: Home) -> tuple[Build, ...]:
    """Return all finished builds, oldest first."""
    if not home.builds.is_dir():
        return ()
    found = (read_build(folder) for folder in home.builds.iterdir())
    builds = [build for build in found if build is not None]
    return tuple(sorted(builds, key=lambda build: build.manifest.built_at))


def prune(home: Home, keep: Collection[str]) -> Pruned:
    """Remove all builds but those whose digest is in ``keep``; damaged ones always."""
    folders = freed = 0
    for folder in sorted(home.builds.iterdir()):
        if folder.name in keep and read_build(folder) is not None:
            continue
        freed += tree_size(folder)
        folders += 1
        remove_tree(folder)
    return Pruned(folders=folders, bytes=freed)
