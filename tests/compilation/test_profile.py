"""Profiles: the whole loop on a very small program, and all that must be refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbhone import process
from dbhone.compilation import builder, kept_builds, profile
from dbhone.compilation.inputs import BuildInputs
from dbhone.compilation.manifest import Build
from dbhone.compilation.profile import Profile
from dbhone.compilation.profile_counts import Counters, counters_of, counters_of_build
from dbhone.compilation.toolchain import find_compiler, installed
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.errors import ProfileError
from dbhone.home import Home
from dbhone.process import can_enclose
from dbhone.session import Session, open_session
from dbhone.source.tree import SourceTree
from tests.compilation.plain_build import plain_build
from tests.compilation.tiny import WORK, Tiny, make_spec, make_tree, output_of
from tests.compilation.trainings import collect, instrumented, train
from tests.files import put


def test_a_trained_build_uses_its_profile(
    tree: SourceTree, session: Session, compiler: str
) -> None:
    kept = train(tree, session, compiler)
    assert (kept.facts.functions_executed, kept.facts.functions) == (2, 3)
    for variant in ("pgo", "lto+pgo"):
        spec = make_spec(tree, variant, compiler=compiler, pass_=Pass.USE, profile=kept)
        build = builder.make(spec, session, print)
        use = build.manifest.profile
        assert use is not None
        assert (use.units, use.units_without_profile) == (2, 0)
        assert use.coverage == pytest.approx(2 / 3)
        assert output_of(build)


def test_a_source_that_the_build_generates_keeps_its_profile(
    tmp_path: Path, session: Session, compiler: str
) -> None:
    tree = make_tree(tmp_path / "source", work=f"static {WORK}")
    dbms = Tiny(generate=True)
    spec = make_spec(tree, "pgo", compiler=compiler, pass_=Pass.INSTRUMENT, dbms=dbms)
    kept = train(tree, session, compiler, builder.make(spec, session, print))
    spec = make_spec(tree, "pgo", compiler=compiler, pass_=Pass.USE, profile=kept, dbms=dbms)
    use = builder.make(spec, session, print).manifest.profile
    assert use is not None
    assert use.units_without_profile == 0


def test_an_instrumented_build_of_another_place_is_made_again(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = instrumented(tree, session, "gcc")
    enclosed = can_enclose()
    monkeypatch.setattr(process, "can_enclose", lambda: not enclosed)
    assert kept_builds.find(session.home, build.digest) is None


@pytest.mark.skipif(not can_enclose(), reason="this machine cannot make sandboxes")
def test_a_home_that_is_moved_keeps_its_profiles(
    tree: SourceTree, tmp_path: Path, session: Session
) -> None:
    build = instrumented(tree, session, "gcc")
    session.home.root.rename(tmp_path / "moved")
    with open_session(Home(tmp_path / "moved")) as later:
        assert kept_builds.find(later.home, build.digest) is not None
    (tmp_path / "moved").rename(session.home.root)


NEXT_RELEASE = f"""\
/* The next release begins with two more lines,
   and one function of it is another. */
static {WORK.splitlines()[1].replace("work", "same")}
{WORK.splitlines()[0]}
int work(int n) {{ return n > 7 && n % 2 == 0 ? same(n) : same(n) + 1; }}
"""
RELEASE = f"""\
static {WORK.splitlines()[1].replace("work", "same")}
{WORK.splitlines()[0]}
int work(int n) {{ return same(n) + 1; }}
"""


@pytest.mark.skipif(not can_enclose(), reason="this machine cannot make sandboxes")
def test_a_build_may_take_the_profile_of_another_source(
    tmp_path: Path, session: Session, compiler: str
) -> None:
    earlier = make_tree(tmp_path / "earlier", work=RELEASE)
    kept = train(earlier, session, compiler)
    spec = make_spec(
        make_tree(tmp_path / "later", work=NEXT_RELEASE),
        "pgo",
        compiler=compiler,
        pass_=Pass.USE,
        profile=kept,
        profile_source=earlier.reference,
    )
    build = builder.make(spec, session, print)
    use = build.manifest.profile
    assert use is not None
    # The static function has moved, but is known by its file and name; the other has changed.
    assert (use.functions_changed, use.units_without_profile) == (1, 0)
    assert "not found in profile data" not in build.log.read_text()
    assert output_of(build)


def test_the_profile_is_part_of_the_builds_digest(tree: SourceTree, session: Session) -> None:
    kept = train(tree, session, "gcc")
    with_it = make_spec(tree, "pgo", pass_=Pass.USE, profile=kept).digest()
    assert with_it != make_spec(tree, "pgo", pass_=Pass.INSTRUMENT).digest()


def test_a_training_is_found_again(tree: SourceTree, session: Session, compiler: str) -> None:
    kept = train(tree, session, compiler)
    build = instrumented(tree, session, compiler)
    found = profile.find_profile(session.home, build, ["main"])
    assert found is not None
    assert found.digest == kept.digest
    assert profile.find_profile(session.home, build, ["cte"]) is None


def test_no_counters_are_an_error(tree: SourceTree, session: Session, compiler: str) -> None:
    build = instrumented(tree, session, compiler)
    empty = counters_of(find_compiler(compiler), session.workdir("counters"), session)
    with pytest.raises(ProfileError, match="the training left no profile"):
        collect(build, empty, session, began=0.0)


def test_counters_from_before_the_training_are_an_error(tree: SourceTree, session: Session) -> None:
    build = instrumented(tree, session, "gcc")
    counters = counters_of(find_compiler("gcc"), session.workdir("counters"), session)
    old = put(counters.folder / "old.gcda")
    os.utime(old, (1, 1))
    with pytest.raises(ProfileError, match="1 profile files are older than the training"):
        collect(build, counters, session, began=time.time())


def test_counters_that_count_nothing_are_an_error(tree: SourceTree, session: Session) -> None:
    build = instrumented(tree, session, "gcc")
    counters = counters_of(find_compiler("gcc"), session.workdir("counters"), session)
    put(counters.folder / "empty.gcda")
    with pytest.raises(ProfileError, match="executed no instrumented function"):
        collect(build, counters, session, began=0.0)


def test_a_profile_of_another_source_is_refused(
    tree: SourceTree, tmp_path: Path, session: Session
) -> None:
    kept = train(tree, session, "gcc")
    other = make_tree(tmp_path / "other", work=WORK + "int more;\n")
    spec = make_spec(other, "pgo", pass_=Pass.USE, profile=kept)
    with pytest.raises(ProfileError, match="belongs to another source"):
        builder.make(spec, session, print)


def test_a_program_that_a_build_makes_for_itself_may_have_a_main_of_its_own(
    tree: SourceTree, session: Session
) -> None:
    if not installed("clang"):
        pytest.skip("clang is not installed")
    kept = train(tree, session, "clang")
    spec = make_spec(
        tree, "pgo", compiler="clang", pass_=Pass.USE, profile=kept, dbms=Tiny(make_helper=True)
    )
    build = builder.make(spec, session, print)
    assert "(hash mismatch) main" in build.log.read_text()
    assert build.manifest.profile is not None
    assert build.manifest.profile.functions_changed == 0


def test_a_profile_guided_build_without_a_profile_is_refused(
    tree: SourceTree, session: Session
) -> None:
    spec = make_spec(tree, "pgo", pass_=Pass.USE)
    with pytest.raises(ProfileError, match="has not been trained"):
        builder.make(spec, session, print)


def test_a_profile_that_no_file_finds_is_an_error(tree: SourceTree, session: Session) -> None:
    kept = train(tree, session, "gcc")
    for path in kept.input_path.glob("*.gcda"):
        shutil.move(path, path.with_name(f"elsewhere-{path.name}"))
    with pytest.raises(ProfileError, match="found no profile for any of the files"):
        builder.make(make_spec(tree, "pgo", pass_=Pass.USE, profile=kept), session, print)


def test_a_context_sensitive_profile_is_counted_in_what_the_first_one_made(
    tree: SourceTree, session: Session
) -> None:
    if not installed("clang"):
        pytest.skip("clang is not installed")
    clang = find_compiler("clang")
    first = train(tree, session, "clang")
    again = make_spec(tree, "cspgo", compiler="clang", pass_=Pass.REINSTRUMENT, profile=first)
    build = builder.make(again, session, print)
    counters = counters_of_build(
        build, clang, session.workdir("counters"), session, first.input_path
    )
    began = time.time()
    env = os.environ | counters.environment
    subprocess.run([build.path("program")], env=env, check=True, capture_output=True)
    assert counters.read().functions_executed > 0
    second = collect(build, counters, session, began=began)
    assert second.digest != first.digest
    last = make_spec(tree, "cspgo", compiler="clang", pass_=Pass.USE, profile=second)
    finished = builder.make(last, session, print)
    assert finished.manifest.profile is not None
    assert finished.manifest.profile.units_without_profile == 0
    assert output_of(finished)


class SameCounters(Counters):
    """What every training leaves, whatever was trained."""

    suffix = ".gcda"

    @property
    def environment(self) -> dict[str, str]:
        return {}

    def merge(self) -> Path:
        return self.folder

    def functions(self) -> Iterator[tuple[str, list[int]]]:
        yield "work", [1]


def keep_same(source: str, session: Session, *, data: str = "counts") -> tuple[Build, Profile]:
    """Train a build of a source; return it, and the profile."""
    inputs = BuildInputs(dbms="tiny", source="dir:tree", variant=parse_variant("pgo"))
    build = plain_build(session.workdir("build"), inputs, source_digest=source, digest=source)
    counters = SameCounters(session.workdir("counters"), session)
    (counters.folder / "work.gcda").write_text(data)
    return build, collect(build, counters, session, began=0.0, workload=["main"])


def test_equal_profiles_of_two_sources_are_two(session: Session) -> None:
    both = [keep_same(source, session) for source in ("1", "2")]
    assert len({kept.digest for _, kept in both}) == 1
    for build, own in both:
        for found in (
            profile.find_profile(session.home, build, ["main"]),
            profile.find_used(session.home, build, own.trained()),
        ):
            assert found is not None
            assert found.facts.source_digest == build.manifest.source_digest
