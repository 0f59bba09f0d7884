"""The finished builds of a home: they are found by what they are made of, and kept once made."""

from __future__ import annotations

import shutil
from pathlib import Path

from dbhone.account import take_back
from dbhone.compilation.manifest import Build, Manifest, read_build, write_manifest
from dbhone.compilation.places import counters_folder, usual_folder_seen
from dbhone.errors import BuildError
from dbhone.files import freeze, open_to_all, publish
from dbhone.home import Home
from dbhone.session import Session


def find(home: Home, digest: str) -> Build | None:
    """Return the finished build with this digest, None if there is none.

    An instrumented build that was made at another place is none: a profile of it would not fit
    what is compiled here. BOLT's writes its counters to one place.
    """
    build = read_build(home.builds / digest)
    if build is None or not build.manifest.pass_.trains:
        return build
    manifest = build.manifest
    here = (
        counters_folder(home, digest)
        if manifest.pass_.post_link
        else usual_folder_seen(home, manifest.source_digest)
    )
    return build if manifest.folder == str(here) else None


def keep_build(result: Path, manifest: Manifest, session: Session) -> Build:
    """Let the finished folder ``result`` appear among the builds, and return the build."""
    write_manifest(result, manifest)
    take_back(result)
    open_to_all(result)
    freeze(result)
    result.chmod(0o755)  # a folder must be writable to be renamed by its owner
    final = session.home.builds / manifest.digest
    if final.exists():  # a damaged one: find() has refused it
        shutil.move(final, session.workdir("damaged"))
    publish(result, final)
    build = read_build(final)
    if build is None:
        raise BuildError(f"the build in {final} is damaged", hint="check the disk")
    return build
