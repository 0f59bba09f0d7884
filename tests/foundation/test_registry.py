"""Drawers: a file in one is a plugin."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dbhone import registry
from dbhone.compilation.transforms.base import DRAWER, Transform
from dbhone.errors import HoneError, UnknownName


@pytest.fixture
def drawer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "some_drawer"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text("")
    (folder / "_helper.py").write_text("")
    (folder / "one_word.py").write_text("PLUGIN = 'plugin'")
    (folder / "hollow.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [each for each in sys.modules if each.startswith("some_drawer")]:
        monkeypatch.delitem(sys.modules, name)
    registry.names.cache_clear()
    return "some_drawer"


def test_a_file_is_a_plugin_by_its_name(drawer: str) -> None:
    assert registry.names(drawer) == ("hollow", "one-word")
    assert registry.load(drawer, "one-word", str, what="thing") == "plugin"


def test_a_file_without_its_plugin_fails_loudly(drawer: str) -> None:
    with pytest.raises(HoneError, match=r"some_drawer\.hollow has no PLUGIN of type str"):
        registry.load_all(drawer, str, what="thing")


def test_an_unknown_name_tells_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no transform 'ltoo'") as caught:
        registry.load(DRAWER, "ltoo", Transform, what="transform")
    assert caught.value.hint == "did you mean 'lto'?"
