"""What a sandbox shows of programs, wherever they are installed, and what it does not."""

from __future__ import annotations

import pwd
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbhone.home import Home
from dbhone.program_folders import program_folders, searched_folders


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder of the user, who has hone's home in the usual place."""
    folder = tmp_path / "user"
    (folder / ".local" / "share" / "dbhone").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def home(user: Path) -> Home:
    return Home(user / ".local" / "share" / "dbhone")


def installed(program: Path, *files: str) -> Path:
    """Install a program, with files below its prefix."""
    for path in (program, *(program.parent.parent / name for name in files)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    program.chmod(0o755)
    return program


def test_a_program_brings_its_prefix(tmp_path: Path, home: Home) -> None:
    program = installed(tmp_path / "compiler" / "bin" / "gcc", "share/x", "etc/x")
    assert program_folders([program], home) == (tmp_path / "compiler",)


def test_the_systems_programs_bring_nothing(home: Home) -> None:
    assert program_folders(["/usr/bin/env", "/no/such/program"], home) == ()


@pytest.mark.parametrize(
    ("program", "seen"),
    [
        ("/opt/bin/gcc", (Path("/opt"),)),
        ("/opt/gcc", (Path("/opt"),)),
        ("/tmp/bin/gcc", (Path("/tmp/bin"),)),
        ("/bin/gcc", ()),
        ("/sbin/gcc", ()),
    ],
)
def test_a_prefix_directly_below_the_root_is_seen_unless_sandboxes_have_their_own(
    program: str, seen: tuple[Path, ...], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", str)
    assert program_folders([program], home) == seen


def test_of_the_users_home_folder_only_bin_is_seen(user: Path, home: Home) -> None:
    program = installed(user / "bin" / "gcc", "lib/x")
    assert program_folders([program], home) == (user / "bin",)


@pytest.mark.parametrize(
    ("prefix", "program", "files", "seen"),
    [
        (".local", "meson", ["lib/python3.11/site-packages/x", "share/keyrings/x"], ["bin", "lib"]),
        (".cargo", "sccache", ["credentials.toml", "registry/x"], ["bin"]),
        ("tools", "cmake", ["share/cmake-3.30/x", "share/doc/x"], ["bin", "share/cmake-3.30"]),
        ("tools", "gcc", ["x86_64-linux-gnu/ld", "etc/x"], ["bin", "x86_64-linux-gnu"]),
        (".venv", "meson", ["pyvenv.cfg", "lib/x", "secret"], ["bin", "lib", "pyvenv.cfg"]),
        ("go", "go", ["pkg/tool/x", "src/x"], ["."]),
        ("jdk", "java", ["lib/modules", "conf/x"], ["."]),
    ],
)
def test_of_a_prefix_in_the_users_home_folder_the_parts_for_programs_are_seen(
    user: Path, home: Home, prefix: str, program: str, files: list[str], seen: list[str]
) -> None:
    path = installed(user / prefix / "bin" / program, *files)
    assert program_folders([path], home) == tuple(user / prefix / part for part in seen)


def test_it_is_so_when_a_link_leads_to_the_users_home_folder(
    tmp_path: Path, user: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(user)
    installed(user / ".cargo" / "bin" / "x", "credentials.toml")
    for known_as in (link, user):
        monkeypatch.setenv("HOME", str(known_as))
        found = program_folders([link / ".cargo" / "bin" / "x"], home)
        assert found == (link / ".cargo" / "bin", user / ".cargo" / "bin")


def test_of_a_prefix_with_hones_home_the_parts_for_programs_are_seen(
    tmp_path: Path, user: Path
) -> None:
    prefix = tmp_path / "disk"
    program = installed(prefix / "bin" / "gcc", "lib/gcc/x", "other/x")
    for folder, seen in (("dbhone", ("bin", "lib")), ("lib/dbhone", ("bin",))):
        (prefix / folder).mkdir()
        found = program_folders([program], Home(prefix / folder))
        assert found == tuple(prefix / part for part in seen)


def test_a_program_directly_in_the_home_folder_is_seen_alone(user: Path, home: Home) -> None:
    program = installed(user / "gcc")
    assert program_folders([program], home) == (program,)


class TestHomeOfAnotherUser:
    """What sudo finds by the PATH of whoever called it."""

    @pytest.fixture
    def other(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "other"
        folder.mkdir()
        owner = SimpleNamespace(pw_dir=str(folder))
        monkeypatch.setattr(pwd, "getpwuid", lambda _: owner)
        return folder

    @pytest.mark.parametrize(
        ("program", "files", "seen"),
        [
            ("bin/gcc", ["secret"], ["bin"]),
            (".local/bin/meson", ["lib/x", "share/keyrings/x"], [".local/bin", ".local/lib"]),
            ("gcc", [], ["gcc"]),
            (".linuxbrew/bin/gcc", ["Cellar/gcc/x", "opt/x"], [".linuxbrew"]),
        ],
    )
    def test_shows_what_belongs_to_programs(
        self, other: Path, home: Home, program: str, files: list[str], seen: list[str]
    ) -> None:
        path = installed(other / program, *files)
        assert program_folders([path], home) == tuple(other / part for part in seen)

    def test_is_shown_by_no_folder_of_path(
        self, other: Path, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", f"{other}:{other / 'bin'}")
        assert searched_folders(home) == (other / "bin",)


def test_what_a_link_leads_to_is_seen_too(tmp_path: Path, user: Path, home: Home) -> None:
    program = installed(tmp_path / "gcc-14" / "bin" / "gcc")
    link = user / ".local" / "bin" / "gcc"
    link.parent.mkdir()
    link.symlink_to(program)
    assert program_folders([link], home) == (link.parent, tmp_path / "gcc-14")


def test_the_python_of_a_virtual_environment_is_seen_too(user: Path, home: Home) -> None:
    share = user / ".local" / "share"
    python = installed(share / "python" / "3.12.7" / "bin" / "python3.12", "lib/x")
    (share / "python" / "3.12").symlink_to("3.12.7")
    program = installed(share / "tools" / "meson" / "bin" / "meson", "pyvenv.cfg")
    program.with_name("python").symlink_to(share / "python" / "3.12" / "bin" / "python3.12")
    seen = (
        *(program.parent, share / "tools" / "meson" / "pyvenv.cfg"),
        *(share / "python" / "3.12" / part for part in ("bin", "lib")),
        *(python.parent, python.parent.parent / "lib"),
    )
    assert program_folders([program], home) == seen


def test_no_folder_of_path_shows_a_home_folder(
    tmp_path: Path, user: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = tmp_path / "apart"
    folders = (user / ".local" / "bin", user, user / ".local", home.root, apart, tmp_path)
    monkeypatch.setenv("PATH", ":".join(map(str, ("", *folders, "/"))))
    assert searched_folders(home) == (user / ".local" / "bin", apart)
