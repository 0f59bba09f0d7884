"""Drawers: a file in one is a plug-in."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dbhone import registry
from dbhone.compilation.transforms.base import DRAWER, Transform
from dbhone.errors import HoneError, UnknownName


@pytest.fixture
def drawer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a package that only this test has: the registry remembers drawers."""
    folder = tmp_path / f"drawer_{tmp_path.name}"
    (folder / "family").mkdir(parents=True)
    for file, text in {
        "__init__.py": "",
        "base.py": "",
        "_helper.py": "",
        "one_word.py": "PLUGIN = 'plugin'",
        "hollow.py": "",
        "broken.py": "import no_such_module",
        "plain.toml": "",
        "family/member.toml": "",
    }.items():
        (folder / file).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder.name


def add_entry_points(monkeypatch: pytest.MonkeyPatch, drawer: str, **values: str) -> None:
    points = [EntryPoint(name=name, value=value, group=drawer) for name, value in values.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == drawer else [])


def test_a_file_is_a_plugin_by_its_name(drawer: str) -> None:
    assert registry.names(drawer) == ("broken", "hollow", "one-word")
    assert registry.load(drawer, "one-word", str, what="thing") == "plugin"


def test_a_file_without_its_plugin_fails_loudly(drawer: str) -> None:
    with pytest.raises(HoneError, match=r"\.hollow has no PLUGIN of type str"):
        registry.load(drawer, "hollow", str, what="thing")


def test_a_file_that_cannot_be_imported_is_named(drawer: str) -> None:
    with pytest.raises(HoneError, match=r"\.broken cannot be loaded: .*no_such_module"):
        registry.load_all(drawer, str, what="thing")


def test_an_entry_point_is_a_plugin(drawer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add_entry_points(monkeypatch, drawer, other="string:ascii_lowercase")
    assert "other" in registry.names(drawer)
    assert registry.load(drawer, "other", str, what="thing").startswith("abc")


def test_an_entry_point_with_the_name_of_a_file_is_an_error_that_names_both(
    drawer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry_points(monkeypatch, drawer, hollow="string:digits")
    with pytest.raises(HoneError, match=r"\.hollow and string:digits of .* the same"):
        registry.names(drawer)


def test_toml_files_are_found_below_folders(drawer: str) -> None:
    assert list(registry.toml_files(drawer)) == ["family:member", "plain"]


@pytest.mark.parametrize("name", ["guest", "family:guest"])
def test_an_entry_point_names_the_package_of_a_toml_file(
    drawer: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "another" / "family").mkdir(parents=True)
    (tmp_path / "another" / "__init__.py").write_text("")
    file = tmp_path.joinpath("another", *name.split(":")).with_suffix(".toml")
    file.write_text("")
    monkeypatch.delitem(sys.modules, "another", raising=False)
    add_entry_points(monkeypatch, drawer, **{name: "another"})
    assert registry.toml_files(drawer)[name] == file


def test_an_entry_point_without_its_toml_file_is_named(
    drawer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_entry_points(monkeypatch, drawer, guest="no_such_package")
    with pytest.raises(HoneError, match=r"the plug-in no_such_package of .* cannot be loaded"):
        registry.toml_files(drawer)
    add_entry_points(monkeypatch, drawer, guest=drawer)
    with pytest.raises(HoneError, match=r"the plug-in drawer_.* of .*guest\.toml is missing"):
        registry.toml_files(drawer)


def test_an_unknown_name_tells_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no transform 'ltoo'") as caught:
        registry.load(DRAWER, "ltoo", Transform, what="transform")
    assert caught.value.hint == "did you mean 'lto'?"
