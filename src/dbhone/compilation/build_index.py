"""Lists the finished builds, and removes some to free space."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dbhone.compilation.manifest import Build, read_build
from dbhone.files import tree_size
from dbhone.home import Home
from dbhone.untrusted_files import remove_tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The number of folders that were removed, and their bytes."""

    folders: int
    bytes: int


def all_builds(home: Home) -> tuple[Build, ...]:
    """Return all finished builds, oldest first."""
    if not home.builds.is_dir():
        return ()
    builds = filter(None, map(read_build, home.builds.iterdir()))
    return tuple(sorted(builds, key=lambda build: build.manifest.built_at))


def prune(home: Home, keep: Collection[str]) -> Pruned:
    """Remove the builds whose digest is not in ``keep``, and all damaged builds."""
    folders = freed = 0
    for folder in sorted(home.builds.iterdir()):
        if folder.name in keep and read_build(folder) is not None:
            continue
        freed += tree_size(folder)
        folders += 1
        remove_tree(folder)
    return Pruned(folders=folders, bytes=freed)
