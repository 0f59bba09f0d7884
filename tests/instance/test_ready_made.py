"""Ready-made servers become builds: real ones of this machine, in trees of their own."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dbhone.compilation.manifest import Build
from dbhone.errors import SourceError
from dbhone.files import freeze, make_writable
from dbhone.instance import ready_made
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import acquired
from tests.files import put
from tests.instance import lives


@pytest.fixture
def program() -> Path:
    """Return the program of a distribution's server."""
    found = lives.Mariadb().installation(lives.MARIADB)
    if found is None:
        pytest.skip("no MariaDB is installed")
    return found.server


def a_tree(root: Path, program: Path) -> SourceTree:
    """Return a tree as a package registry brings it: a folder with bin and share in it."""
    prefix = root / "package" / "server"
    put(prefix / "share" / "english" / "errmsg.sys", "x")
    shutil.copy(program, put(prefix / "bin" / "mysqld"))
    freeze(root)
    return acquired(root)


def test_a_server_is_adopted_with_the_version_that_it_tells(
    tmp_path: Path, open_session_home: Session, program: Path
) -> None:
    tree = a_tree(tmp_path / "tree", program)
    assert ready_made.find(open_session_home.home, tree) is None
    build = ready_made.adopt(tree, open_session_home)
    manifest = build.manifest
    assert (manifest.dbms, manifest.variant, manifest.compiler) == ("mariadb", *["ready-made"] * 2)
    assert manifest.version.count(".") == 2
    assert build.path("server") == build.folder / "install" / "bin" / "mysqld"
    assert (build.path("install") / "share" / "english" / "errmsg.sys").is_file()
    found = ready_made.find(open_session_home.home, tree)
    assert found is not None
    assert found.digest == build.digest


def test_a_damaged_adoption_is_replaced(
    tmp_path: Path, open_session_home: Session, program: Path
) -> None:
    tree = a_tree(tmp_path / "tree", program)
    damaged = ready_made.adopt(tree, open_session_home).path("server")
    make_writable(damaged.parent)
    damaged.unlink()
    assert ready_made.find(open_session_home.home, tree) is None
    assert ready_made.adopt(tree, open_session_home).path("server").is_file()


def test_what_compiled_a_server_is_told_if_its_file_says_so(
    tmp_path: Path, open_session_home: Session, program: Path
) -> None:
    adopted = ready_made.adopt(a_tree(tmp_path / "tree", program), open_session_home)
    like = Build(tmp_path / "like", adopted.manifest)
    source = put(tmp_path / "source.c", "int main(void) { return 0; }\n")
    subprocess.run(("gcc", str(source), "-o", str(put(like.path("server")))), check=True)
    assert re.fullmatch(r"gcc \d+(\.\d+)+", like.shown_compiler)
    like.path("server").write_bytes(b"")
    assert like.shown_compiler == "ready-made"


def test_a_tree_without_a_server_is_refused(tmp_path: Path, open_session_home: Session) -> None:
    tree = a_tree(tmp_path / "tree", Path(__file__))
    with pytest.raises(SourceError, match="there is no server in dir:"):
        ready_made.adopt(tree, open_session_home)


def test_a_program_that_only_has_the_name_of_a_server_is_refused(
    tmp_path: Path, open_session_home: Session
) -> None:
    program = shutil.which("true")
    assert program is not None
    tree = a_tree(tmp_path / "tree", Path(program))
    with pytest.raises(SourceError, match="mysqld is not a server that hone knows: asked for its"):
        ready_made.adopt(tree, open_session_home)
    assert not list(open_session_home.home.builds.iterdir())
