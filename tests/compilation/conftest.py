from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.compilation.toolchain import installed
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import make_tree


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    """The source of the tiny system."""
    return make_tree(tmp_path / "source")


@pytest.fixture(params=["gcc", "clang"])
def compiler(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if not installed(name):
        pytest.skip(f"{name} is not installed")
    return name
