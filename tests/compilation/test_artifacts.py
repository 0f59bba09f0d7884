"""What is kept of a build or of a ready-made server."""

from __future__ import annotations

import os
from pathlib import Path

from dbhone.compilation.artifacts import copy_readable, keep
from dbhone.dbms.base import Artifact
from tests.files import put


def test_links_stay_links_inside_and_become_files_from_outside(tmp_path: Path) -> None:
    made = tmp_path / "made"
    put(made / "lib" / "libz.so.1", "inside")
    (made / "lib" / "libz.so").symlink_to("libz.so.1")
    (tmp_path / "other.so").write_text("outside")
    (made / "lib" / "other.so").symlink_to(tmp_path / "other.so")
    copy_readable(made, tmp_path / "kept", tmp_path)
    kept = tmp_path / "kept" / "lib"
    assert (kept / "libz.so").readlink() == Path("libz.so.1")
    assert not (kept / "other.so").is_symlink()
    assert (kept / "other.so").read_text() == "outside"


def test_links_outside_lead_to_what_everybody_may_read(tmp_path: Path) -> None:
    put(tmp_path / "secret", "a key").chmod(0o600)
    (tmp_path / "folder").mkdir()
    made = tmp_path / "made"
    made.mkdir()
    for name, place in {
        "secret": tmp_path / "secret",
        "shadow": Path("/etc/shadow"),
        "folder": tmp_path / "folder",
        "device": Path("/dev/zero"),
        "hosts": Path("/etc/hosts"),
    }.items():
        (made / name).symlink_to(place)
    os.mkfifo(made / "fifo")
    copy_readable(made, tmp_path / "kept")
    kept = tmp_path / "kept"
    assert {path.name for path in kept.iterdir()} == {"hosts"}
    assert (kept / "hosts").read_bytes() == Path("/etc/hosts").read_bytes()


def test_an_artifact_is_made_where_the_build_is(tmp_path: Path) -> None:
    tree, objects = tmp_path / "tree", tmp_path / "objects"
    put(tmp_path / "private" / "key", "a key")
    for folder in (tree, objects):
        folder.mkdir()
    (objects / "program").symlink_to(tmp_path / "private" / "key")
    (objects / "folder").symlink_to(tmp_path / "private")
    (objects / "circle").symlink_to("circle")
    os.mkfifo(objects / "fifo")
    names = ("program", "folder", "fifo", "none", "circle")
    for name, whole in ((name, whole) for name in names for whole in (False, True)):
        artifact = Artifact(name="a", made=Path(name), kept=Path("a"), tree=whole)
        assert keep(artifact, objects, tree, tmp_path / "result") is None, name


def test_links_that_lead_nowhere_are_left_out(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "a").symlink_to("b")
    (made / "b").symlink_to("a")
    (made / "dangling").symlink_to("nowhere")
    copy_readable(made, tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []
