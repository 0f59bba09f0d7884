"""Layouts: the same objects, linked in other orders of their functions."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbhone.compilation import builder, layouts
from dbhone.compilation.compile_commands import CompileCommand
from dbhone.compilation.layouts import find_link, keep_layout, provide_lto_wrapper
from dbhone.compilation.manifest import LAYOUTS, LOG, Build
from dbhone.compilation.timings import timings
from dbhone.errors import BuildError, VariantError
from dbhone.files import is_open_to_all
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import Tiny, make_spec, make_tree, output_of
from tests.files import put_program

FUNCTIONS = 24
WORK = (
    "\n".join(
        f"__attribute__((noinline)) int f{number}(int n)"
        f" {{ volatile int x = n; return x + {number}; }}"
        for number in range(FUNCTIONS)
    )
    + "\nint work(int n) { return "
    + " + ".join(f"f{number}(n)" for number in range(FUNCTIONS))
    + "; }\n"
)
COMPILERS = [
    pytest.param(
        compiler,
        marks=pytest.mark.skipif(
            not all(map(shutil.which, (compiler, linker))), reason=f"needs {compiler} and {linker}"
        ),
    )
    for compiler, linker in (("gcc", "ld.mold"), ("clang", "ld.lld"))
]


def order_of(build: Build) -> list[str]:
    """Return the functions of ``work.c`` in the order of their addresses."""
    argv = ("nm", "--numeric-sort", str(build.path("program")))
    printed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    names = (line.split()[-1].partition(".")[0] for line in printed.splitlines())
    return [name for name in names if name in {f"f{number}" for number in range(FUNCTIONS)}]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("variant", ["rel", "lto"])
def test_each_layout_has_the_same_functions_in_an_order_of_its_own(
    tmp_path: Path, session: Session, variant: str, compiler: str
) -> None:
    tree = make_tree(tmp_path / "source", work=WORK)
    spec = make_spec(tree, variant, compiler=compiler, layouts=2)
    build = builder.make(spec, session, print)
    orders = [order_of(one) for one in (build, *build.layouts)]
    assert len(build.layouts) == 2
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(order) == sorted(orders[0]) and len(order) == FUNCTIONS for order in orders)
    assert len({output_of(one) for one in (build, *build.layouts)}) == 1


@pytest.mark.parametrize("compiler", COMPILERS[1:])
def test_functions_whose_calls_a_profile_counted_keep_the_order_that_lld_gives_them(
    tmp_path: Path, session: Session, compiler: str
) -> None:
    called = [f"f{number}" for number in (9, 3, 17, 5, 21, 12)]
    counts = [f'__asm__(".cg_profile {one}, {two}, 1000");' for one, two in pairwise(called)]
    tree = make_tree(tmp_path / "source", work=WORK + "\n".join(counts))
    build = builder.make(make_spec(tree, compiler=compiler, layouts=2), session, print)
    orders = [order_of(layout) for layout in build.layouts]
    assert orders[0] != orders[1]
    assert len({tuple(name for name in order if name in called) for order in orders}) == 1


@pytest.mark.parametrize("compiler", COMPILERS[:1])
def test_linking_layouts_is_no_time_of_the_build(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    clock = [0.0]
    monkeypatch.setattr(builder, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def tell(what: str) -> None:
        clock[0] += 100.0 * what.startswith("linking layout")

    spec = make_spec(tree, compiler=compiler, layouts=2)
    build = builder.make(spec, session, tell)
    assert (build.manifest.seconds, clock) == (0.0, [200.0])
    assert build.manifest.phase_seconds["layouts"] > 0
    times = timings(build)
    assert {name for name, _ in times.slowest} == {"main.o", "work.o", "tiny"}
    assert {each.output for each in build.commands()} > {"main.o", "work.o", "tiny"}


@pytest.mark.parametrize("compiler", COMPILERS[:1])
def test_a_layout_takes_the_space_of_what_is_linked_only(
    tree: SourceTree, session: Session, compiler: str
) -> None:
    spec = make_spec(tree, compiler=compiler, layouts=1, dbms=Tiny(keep_folder=True))
    build = builder.make(spec, session, print)
    (layout,) = build.layouts
    kept = Path("all/share/version")
    assert (build.folder / kept).samefile(layout.folder / kept)
    assert not build.path("program").samefile(layout.path("program"))


@pytest.mark.parametrize("links", [True, False])
def test_a_layout_is_kept_where_the_file_system_has_no_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    result, made = tmp_path / "result", put_program(tmp_path / "made", "echo other")
    (result / "share").mkdir(parents=True)
    (result / "share" / "version").write_text("1")
    (result / LOG).touch()
    put_program(result / "program", "echo first")
    if not links:
        monkeypatch.setattr(os, "link", refused)
    for number in (1, 2):
        keep_layout(result, number, Path("program"), made)
    layout = result / LAYOUTS / "2"
    assert sorted(path.name for path in layout.iterdir()) == ["program", "share"]
    assert (layout / "program").read_text() == made.read_text()
    assert os.access(layout / "program", os.X_OK)
    kept = layout / "share" / "version"
    assert kept.read_text() == "1"
    assert kept.samefile(result / "share" / "version") is links


def test_link_time_optimisation_is_done_once_for_all_layouts(tmp_path: Path) -> None:
    folder, objects = tmp_path / "lto", tmp_path / "objects"
    provide_lto_wrapper(folder)
    objects.mkdir()
    own = put_program(
        tmp_path / "own",
        f'echo called >> {tmp_path}/calls; for n in 1 2; do printf "%s" "$1$n" > {objects}/$n.o;'
        f" echo {objects}/$n.o; done",
    )
    gcc = put_program(tmp_path / "gcc", f"echo {own}")
    environment = {**os.environ, "DBHONE_FOLDER": str(tmp_path), "COLLECT_GCC": str(gcc)}
    for _ in range(3):
        printed = subprocess.run(
            (folder / "lto-wrapper", "given"), env=environment, capture_output=True, check=True
        ).stdout.decode()
        made = [Path(line) for line in printed.splitlines()]
        assert [each.read_text() for each in made] == ["given1", "given2"]
        for each in made:
            each.unlink()  # as gcc's plugin does
    assert (tmp_path / "calls").read_text() == "called\n"


def test_link_time_optimisation_that_fails_fails_the_link(tmp_path: Path) -> None:
    folder = tmp_path / "lto"
    provide_lto_wrapper(folder)
    gcc = put_program(tmp_path / "gcc", f"echo {put_program(tmp_path / 'own', 'exit 3')}")
    environment = {**os.environ, "DBHONE_FOLDER": str(tmp_path), "COLLECT_GCC": str(gcc)}
    for _ in range(2):
        failed = subprocess.run((folder / "lto-wrapper",), env=environment, check=False)
        assert failed.returncode == 3


@pytest.fixture
def strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("strict_umask")
def test_gccs_account_may_call_hones_program_whatever_the_umask(tmp_path: Path) -> None:
    folder = tmp_path / "lto"
    provide_lto_wrapper(folder)
    assert is_open_to_all(folder)
    assert is_open_to_all(folder / "lto-wrapper")


@pytest.mark.parametrize("compiler", COMPILERS[:1])
def test_a_gcc_that_would_optimise_for_each_layout_anew_is_refused(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch, compiler: str
) -> None:
    monkeypatch.setattr(layouts, "provide_lto_wrapper", Path.mkdir)  # an empty folder
    spec = make_spec(tree, "lto", compiler=compiler, layouts=2)
    with pytest.raises(BuildError, match="would be done again for every layout"):
        builder.make(spec, session, print)


def test_a_second_copy_of_a_build_has_other_layouts(tmp_path: Path, session: Session) -> None:
    tree = make_tree(tmp_path / "source", work=WORK)
    orders = [
        order_of(layout)
        for copy in (0, 1)
        for layout in builder.make(
            make_spec(tree, layouts=1, copy_number=copy), session, print
        ).layouts
    ]
    assert orders[0] != orders[1]


def test_a_build_with_layouts_is_another_build(tree: SourceTree) -> None:
    digests = {make_spec(tree, layouts=number).digest() for number in (0, 2, 3)}
    assert len(digests) == 3


def test_what_is_trained_has_no_layouts_so_that_it_is_shared(tree: SourceTree) -> None:
    with_layouts, without = (make_spec(tree, "pgo", layouts=number).inputs for number in (2, 0))
    assert with_layouts.trained == without.trained == without


def test_a_linker_that_keeps_the_order_is_refused(tree: SourceTree) -> None:
    spec = make_spec(tree, layouts=2, linker="bfd")
    with pytest.raises(VariantError, match="bfd cannot link functions in a random order") as error:
        spec.check()
    assert error.value.hint == "for 'layouts' take mold or lld, or leave 'linker' out"


@pytest.mark.parametrize("compiler", COMPILERS[:1])
def test_a_build_that_hides_how_it_links_is_refused(
    tree: SourceTree, session: Session, compiler: str
) -> None:
    spec = make_spec(tree, compiler=compiler, layouts=1, dbms=Tiny(hide_link=True))
    with pytest.raises(BuildError, match="the build does not say how it linked tiny"):
        builder.make(spec, session, print)


def test_the_last_link_of_a_file_counts_and_a_link_leads_to_it(tmp_path: Path) -> None:
    def call(*argv: str, status: int = 0) -> CompileCommand:
        return CompileCommand(
            phase="compile",
            began=0.0,
            seconds=0.0,
            cpu=0.0,
            memory=0,
            status=status,
            program="gcc",
            argv=argv,
        )

    wanted = call("x.o", "-o", "lib/libx.so.1.2")
    commands = [
        call("-c", "x.c", "-o", "libx.so.1.2"),
        call("old.o", "-o", "libx.so.1.2"),
        wanted,
        call("x.o", "-o", "libx.so.1.2", status=1),
        call("x.o", "-o", "other"),
    ]
    (tmp_path / "libx.so").symlink_to("libx.so.1.2")
    assert find_link(commands, tmp_path / "libx.so") == wanted
    assert find_link(commands, tmp_path / "liby.so") is None
