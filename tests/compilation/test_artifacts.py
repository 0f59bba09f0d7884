"""What is kept of a build or of a ready-made server."""

from __future__ import annotations

from pathlib import Path

from dbhone.compilation.artifacts import copy_tree


def test_links_stay_links_inside_and_become_files_from_outside(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / "lib").mkdir(parents=True)
    (made / "lib" / "libz.so.1").write_text("inside")
    (made / "lib" / "libz.so").symlink_to("libz.so.1")
    (tmp_path / "other.so").write_text("outside")
    (made / "lib" / "other.so").symlink_to(tmp_path / "other.so")
    copy_tree(made, tmp_path / "kept")
    kept = tmp_path / "kept" / "lib"
    assert (kept / "libz.so").readlink() == Path("libz.so.1")
    assert not (kept / "other.so").is_symlink()
    assert (kept / "other.so").read_text() == "outside"


def test_links_that_lead_nowhere_are_left_out(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "a").symlink_to("b")
    (made / "b").symlink_to("a")
    (made / "dangling").symlink_to("nowhere")
    copy_tree(made, tmp_path / "kept")
    assert list((tmp_path / "kept").iterdir()) == []
