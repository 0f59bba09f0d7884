from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.compilation.manifest import Build
from dbhone.home import Home
from tests.package.builds import put_tree, server_build


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def build(tmp_path: Path, home: Home) -> Build:
    """A build of a server whose source has a licence."""
    return server_build(tmp_path, put_tree(home, "LICENSE"))
