"""Builds, made for real with a real compiler from a very small source."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dbhone.compilation import builder, compliance
from dbhone.compilation.manifest import FILE, Build, all_builds, read_build
from dbhone.compilation.toolchain import Compiler
from dbhone.dbms.base import BuildRequest, Recipe
from dbhone.errors import BuildError, MachineError, ToolError, UsageError
from dbhone.files import digest_of_tree
from dbhone.home import Home
from dbhone.process import can_enclose, why_not_enclosed
from dbhone.requirements import Requirement, RequirementKind
from dbhone.session import Session, open_session
from dbhone.source.tree import SourceTree
from dbhone.untrusted_files import remove_tree
from tests.compilation.tiny import MAIN, WORK, Tiny, make_spec, make_tree, output_of


def test_a_build_runs_and_knows_what_went_into_it(tree: SourceTree, session: Session) -> None:
    build = builder.make(make_spec(tree, "o3"), session, print)
    manifest = build.manifest
    assert output_of(build)
    assert build.folder == session.home.builds / manifest.digest
    assert (manifest.variant, manifest.version, manifest.source_digest) == (
        "o3",
        "1.0",
        tree.digest,
    )
    assert manifest.compile_flags == ("-O3", "-DNDEBUG")
    assert manifest.compile_commands == 2
    assert build.binary_bytes == build.path("program").stat().st_size
    assert "main.c" in build.log.read_text()


def test_each_compile_command_is_recorded_with_its_time(tree: SourceTree, session: Session) -> None:
    build = builder.make(make_spec(tree), session, print)
    commands = build.commands()
    assert [each.output for each in commands] == ["main.o", "work.o", "tiny"]
    assert [each.compiles for each in commands] == [True, True, False]
    assert all(each.seconds > 0 and each.cpu > 0 and each.memory > 0 for each in commands)


def test_the_same_inputs_are_never_built_twice(tree: SourceTree, session: Session) -> None:
    steps: list[str] = []
    first = builder.make(make_spec(tree), session, steps.append)
    assert steps
    steps.clear()
    assert builder.make(make_spec(tree), session, steps.append).folder == first.folder
    assert not steps


@pytest.mark.parametrize(
    ("cores", "gib", "needs_cxx", "jobs"),
    [(64, 8, True, 8), (4, 8, True, 4), (4, 0.9, True, 1), (64, 8, False, 64)],
)
def test_as_many_compilers_run_at_once_as_cores_and_memory_allow(
    tree: SourceTree,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    gib: float,
    needs_cxx: bool,
    jobs: int,
) -> None:
    class Watched(Tiny):
        def recipe(self, request: BuildRequest) -> Recipe:
            requested.append(request.jobs)
            return super().recipe(request)

    requested: list[int] = []
    monkeypatch.setattr(builder, "usable_cores", lambda: cores)
    monkeypatch.setattr(builder, "usable_memory", lambda: int(gib * 2**30))
    builder.make(make_spec(tree, dbms=Watched(needs_cxx=needs_cxx)), session, print)
    assert requested[-1] == jobs


@pytest.mark.parametrize(("jobs", "linked"), [(1, "1"), (2, "2"), (1000, "4")])
def test_link_time_optimisation_gets_as_many_jobs_as_the_build_but_no_more_than_cores(
    tree: SourceTree,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    jobs: int,
    linked: str,
) -> None:
    monkeypatch.setattr(builder, "usable_cores", lambda: 4)
    spec = make_spec(tree, dbms=Tiny(configure=("printenv", "DBHONE_LINK_JOBS")))
    build = builder.make(spec, session, print, jobs=jobs)
    assert build.log.read_text().splitlines()[1] == linked


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_is_optimised_at_link_time_does_not_depend_on_the_jobs(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setattr(builder, "usable_cores", lambda: 4)
    builds = [
        builder.make(
            make_spec(tree, "lto", compiler=compiler, copy_number=number), session, print, jobs=jobs
        )
        for number, jobs in enumerate((1, 4))
    ]
    one, four = (build.manifest.files["program"].sha256 for build in builds)
    assert one == four


def test_whatever_differs_in_the_inputs_makes_another_build(
    tree: SourceTree, tmp_path: Path
) -> None:
    other = make_tree(tmp_path / "other", work=WORK.replace("% 3", "% 5"))
    digests = {
        make_spec(tree).digest(),
        make_spec(tree, "o3").digest(),
        make_spec(tree, "native").digest(),
        make_spec(tree, copy_number=1).digest(),
        make_spec(other).digest(),
    }
    assert len(digests) == 5


def test_where_things_are_does_not_matter_to_a_digest(tmp_path: Path) -> None:
    here = make_spec(make_tree(tmp_path / "here"), "lto").digest()
    assert make_spec(make_tree(tmp_path / "there"), "lto").digest() == here


def test_a_control_is_built_once_more(tree: SourceTree, session: Session) -> None:
    first = builder.make(make_spec(tree), session, print)
    second = builder.make(make_spec(tree, copy_number=1), session, print)
    assert first.folder != second.folder
    assert second.manifest.inputs.copy_number == 1


def test_a_compile_error_is_reported_with_its_log(tmp_path: Path, session: Session) -> None:
    tree = make_tree(tmp_path / "source", work="int work(int n) { return n +; }\n")
    with pytest.raises(BuildError, match=r"work\.c:1:\d+: error: expected expression") as caught:
        builder.make(make_spec(tree), session, print)
    assert caught.value.log is not None
    assert "work.c" in caught.value.log.read_text()
    assert not all_builds(session.home)


def header(package: str, name: str = "no/such/header.h") -> Requirement:
    return Requirement(name=name, package=package, kind=RequirementKind.HEADER)


def test_a_failed_configure_is_reported_with_the_packages_that_it_may_want(
    tree: SourceTree, session: Session
) -> None:
    words = ("sh", "-c", "printf 'CMake Error at a.cmake:7 (message):\\n  no zlib.h\\n'; exit 1")
    spec = make_spec(
        tree,
        dbms=Tiny(
            configure=words,
            requirements=(
                *(header("libaio-dev"), header("zlib1g-dev")),
                header("libc6-dev", "stdio.h"),
            ),
        ),
    )
    with pytest.raises(BuildError, match=r"failed: a\.cmake:7: no zlib\.h") as caught:
        builder.make(spec, session, print)
    assert caught.value.hint is not None
    assert "if a library is missing, install it: " in caught.value.hint
    assert "libaio-dev zlib1g-dev" in caught.value.hint
    assert "libc6-dev" not in caught.value.hint


def test_a_header_that_is_missing_is_reported_with_the_packages_that_it_may_be_in(
    tmp_path: Path, session: Session
) -> None:
    spec = make_spec(
        make_tree(tmp_path / "source", work="#include <boost/no/such.hpp>\n"),
        dbms=Tiny(requirements=(header("libboost-dev"),)),
    )
    with pytest.raises(BuildError, match=r"boost/no/such\.hpp") as caught:
        builder.make(spec, session, print)
    assert caught.value.hint is not None
    assert "libboost-dev" in caught.value.hint


def test_a_full_disk_is_reported_as_such(tmp_path: Path, session: Session) -> None:
    tree = make_tree(tmp_path / "source", work='#error "No space left on device"\n')
    with pytest.raises(MachineError, match="no space left on the disk"):
        builder.make(make_spec(tree), session, print)


def test_flags_that_did_not_arrive_are_an_error(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree, dbms=Tiny(forget_flags=True))
    with pytest.raises(BuildError, match="-O2 did not reach 2 of 2 compile commands"):
        builder.make(spec, session, print)


def test_flags_that_the_build_overrides_are_an_error(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree, "o3", dbms=Tiny(own_flags=("-O2", "-O1")))
    with pytest.raises(BuildError, match="-O1 overrides -O3 in 2 of 2 compile commands"):
        builder.make(spec, session, print)
    spec = make_spec(spec.tree, "o3", dbms=Tiny(own_flags=("-O3", "-g")))
    assert builder.make(spec, session, print).manifest.compile_commands == 2


def test_a_tree_may_compile_a_few_files_in_its_own_way(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compliance, "_OWN_WAY", 1.0)  # of two files a few are all
    spec = make_spec(tree, dbms=Tiny(own_flags=("-O1",)))
    assert builder.make(spec, session, print).manifest.compile_commands == 2


def test_a_build_that_makes_nothing_is_an_error(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree, dbms=Tiny(make_nothing=True))
    with pytest.raises(BuildError, match="made no tiny"):
        builder.make(spec, session, print)


def test_a_missing_program_is_reported_before_anything_is_built(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tiny, "required_programs", lambda *_: ("no-such-make", "no-such-lex"))
    with pytest.raises(ToolError, match="needs no-such-make and no-such-lex"):
        builder.make(make_spec(tree), session, print)
    assert not session.scratch.exists()


def test_the_users_flags_do_not_leak_into_a_build(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setenv("C_INCLUDE_PATH", "/nowhere")
    build = builder.make(make_spec(tree), session, print)
    assert all("-O0" not in each.argv for each in build.commands())


def test_cxx_is_compiled_by_the_partner_of_the_compiler(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree, "o3", dbms=Tiny(needs_cxx=True))
    build = builder.make(spec, session, print)
    made = {each.output: each for each in build.commands()}
    assert "-O3" in made["more.o"].argv
    assert build.manifest.compile_commands == 3


def test_a_missing_cxx_compiler_is_an_error_only_where_it_is_needed(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compiler, "find_cxx", lambda _: None)
    with pytest.raises(ToolError, match=r"building Tiny needs g\+\+, the C\+\+ compiler") as caught:
        builder.make(make_spec(tree, dbms=Tiny(needs_cxx=True)), session, print)
    assert (caught.value.hint or "").endswith("recommends g++")
    builder.make(make_spec(tree), session, print)


def test_a_folder_is_kept_whole(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree, dbms=Tiny(keep_folder=True))
    build = builder.make(spec, session, print)
    folder = build.path("folder")
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    assert found == {"bin/also", "bin/tiny", "share/main.c", "share/version"}
    assert (folder / "bin/also").readlink() == Path("tiny")
    assert (folder / "share/programs").readlink() == Path("../bin")
    assert not (folder / "share/main.c").is_symlink()
    assert subprocess.run([folder / "bin/also"], check=True, capture_output=True).stdout
    kept = build.manifest.files["folder"]
    assert kept.sha256 == digest_of_tree(folder)
    assert kept.bytes > build.binary_bytes


def test_another_account_can_use_what_a_build_keeps(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree, dbms=Tiny(keep_folder=True))
    folder = builder.make(spec, session, print).folder
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        assert mode & 0o004
        if path.is_dir() or path.name == "tiny":
            assert mode & 0o001


def test_a_build_whose_folder_is_gone_is_no_build(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree, dbms=Tiny(keep_folder=True))
    build = builder.make(spec, session, print)
    remove_tree(build.path("folder"))
    assert read_build(build.folder) is None


def test_a_home_whose_name_upsets_builds_is_refused(tree: SourceTree, tmp_path: Path) -> None:
    with (
        open_session(Home(tmp_path / "half $price; new")) as session,
        pytest.raises(MachineError, match=r"contains   \$ ;, which breaks build systems"),
    ):
        builder.make(make_spec(tree), session, print)


def test_a_damaged_build_is_no_build_and_is_made_anew(tree: SourceTree, session: Session) -> None:
    spec = make_spec(tree)
    build = builder.make(spec, session, print)
    build.path("program").chmod(0o700)
    build.path("program").parent.chmod(0o700)
    build.path("program").write_bytes(b"half")
    assert read_build(build.folder) is None
    anew = builder.make(spec, session, print)
    assert anew.path("program").stat().st_size > 1000


@pytest.mark.parametrize("variant", ['"rel+gone"', '"rel+rel"', '"rel+"', "5", "null", "[]"])
def test_a_build_whose_variant_is_unknown_is_no_build(
    tree: SourceTree, session: Session, variant: str
) -> None:
    build = builder.make(make_spec(tree), session, print)
    manifest = build.folder / FILE
    text = manifest.read_text()
    changed = text.replace('"variant": "rel"', f'"variant": {variant}')
    assert changed != text
    manifest.unlink()
    manifest.write_text(changed)
    assert all_builds(session.home) == ()


def test_options_are_refused_by_a_dbms_that_has_none(tree: SourceTree) -> None:
    spec = make_spec(tree, options=("-DX=1",))
    with pytest.raises(UsageError, match=r"takes no build options: '-DX=1'"):
        spec.digest()


def test_options_make_another_build_and_are_recorded(tree: SourceTree, session: Session) -> None:
    dbms = Tiny()
    dbms.takes_options = True
    asked = make_spec(tree, dbms=dbms, options=("-DX=1",))
    assert asked.digest() != make_spec(tree, dbms=dbms).digest()
    build = builder.make(asked, session, print)
    assert build.manifest.inputs.options == ("-DX=1",)
    assert build.shown_flags[-1] == "-DX=1"


def test_a_flag_for_the_compiler_and_the_linker_is_reported_once(
    tree: SourceTree, session: Session
) -> None:
    build = builder.make(make_spec(tree), session, print)
    flags = {"compile_flags": ("-O2", "-flto"), "link_flags": ("-flto", "-s")}
    told = Build(build.folder, build.manifest.model_copy(update=flags)).shown_flags
    assert told == ("-O2", "-flto", "-s")


def test_a_folder_of_libraries_that_is_none_is_reported(
    tree: SourceTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBHONE_LIBRARIES", str(tmp_path / "nowhere"))
    says = r"DBHONE_LIBRARIES names .*nowhere, which is not a folder"
    with pytest.raises(MachineError, match=says):
        make_spec(tree).digest()


@pytest.mark.skipif(not can_enclose(), reason=str(why_not_enclosed()))
def test_a_build_script_reaches_nothing_outside_of_its_folder(
    tree: SourceTree, tmp_path: Path, session: Session
) -> None:
    """It writes to the home, reads keys, calls a neighbour, signals hone and opens connections."""
    (tmp_path / "key").write_text("a key")
    marked = tmp_path / "marked"
    attack = f"""
        touch {marked} {session.home.root}/x {session.home.builds}/x ~/.dbhone-was-here
        cat {tmp_path}/key ~/.ssh/* /etc/shadow
        kill -9 {os.getpid()}
        echo x > /proc/sys/kernel/core_pattern
        echo x > /dev/tcp/127.0.0.1/22
        ln -s {tmp_path}/key stolen
        echo > {tmp_path}/source/main.c
        cat /proc/net/dev | wc -l
        mkfifo waiting
        chmod 4755 waiting
    """
    steps = ("bash", "-c", attack + "\nexit 0")
    spec = make_spec(tree, dbms=Tiny(configure=steps))
    pattern = Path("/proc/sys/kernel/core_pattern").read_text()
    build = builder.make(spec, session, print)
    assert not marked.exists()
    assert not (session.home.root / "x").exists()
    assert not (session.home.builds / "x").exists()
    assert not (Path.home() / ".dbhone-was-here").exists()
    assert Path("/proc/sys/kernel/core_pattern").read_text() == pattern
    assert "a key" not in build.log.read_text()
    assert (tmp_path / "source" / "main.c").read_text() == MAIN


@pytest.mark.skipif(not can_enclose(), reason=str(why_not_enclosed()))
def test_records_that_a_build_forged_are_an_error(tree: SourceTree, session: Session) -> None:
    script = "find / -name commands.jsonl 2>/dev/null | while read file; do echo no >> $file; done"
    forging = ("sh", "-c", script)
    spec = make_spec(tree, dbms=Tiny(configure=forging))
    with pytest.raises(BuildError, match="wrote to hone's record of its compile commands"):
        builder.make(spec, session, print)
