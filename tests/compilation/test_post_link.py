"""Post-link optimisation: BOLT's whole loop on a very small program, and what it refuses."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from dbhone.compilation import bolt as bolts
from dbhone.compilation import builder, post_link, profile
from dbhone.compilation.bolt import BoltTool, find_bolt, find_usable_bolt
from dbhone.compilation.manifest import Build
from dbhone.compilation.places import counters_name
from dbhone.compilation.post_link import PostLinkSpec
from dbhone.compilation.profile import Profile
from dbhone.compilation.profile_counts import counters_of_build
from dbhone.compilation.toolchain import find_compiler
from dbhone.compilation.transforms.base import Pass
from dbhone.compilation.variant import parse_variant
from dbhone.errors import (
    BuildError,
    MachineError,
    NoSpaceError,
    ProfileError,
    ToolError,
    UntrustedFileError,
)
from dbhone.session import Session
from dbhone.source.tree import SourceTree
from tests.compilation.tiny import make_spec, make_tree, output_of
from tests.files import put, put_program

pytestmark = pytest.mark.skipif(find_bolt() is None, reason="BOLT is not installed")
LOOPING = """\
int unused(int n) { return n * 7; }
int work(int n) {
  int s = 0;
  for (int i = 0; i < n; i++) {
    if (i % 7 == 3) s -= i; else if (i % 3) s += i % 5; else s ^= i;
    if (s == -1) s = unused(s);
  }
  return s;
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    return make_tree(tmp_path / "source", work=LOOPING)


def spec_of(linked: Build, pass_: Pass, kept: Profile | None = None) -> PostLinkSpec:
    return PostLinkSpec(
        inputs=linked.manifest.inputs,
        compiler=find_compiler(linked.manifest.inputs.compiler),
        linked=linked,
        pass_=pass_,
        bolt=find_usable_bolt(),
        profile=kept,
    )


def linked_build(tree: SourceTree, session: Session, variant: str, compiler: str) -> Build:
    """Return what is linked, after a training of its own if the variant has one."""
    passes = make_spec(tree, variant, compiler=compiler).inputs.variant.passes()
    kept = None
    for pass_ in passes:
        if pass_.post_link:
            break
        spec = make_spec(tree, variant, compiler=compiler, pass_=pass_, profile=kept)
        build = builder.make(spec, session, print)
        if pass_.trains:
            folder = session.workdir("counters")
            kept = trained(build, session, folder)
    return build


def trained(build: Build, session: Session, folder: Path) -> Profile:
    compiler = find_compiler(build.manifest.inputs.compiler)
    counters = counters_of_build(build, compiler, folder, session)
    began = time.time()
    for _ in range(2):
        env = os.environ | counters.environment
        subprocess.run([build.path("program")], env=env, check=True, capture_output=True)
        counters.gather()
    return profile.collect(
        build, counters, ["main"], session, began=began, trained_on=("main",), seconds=1.0
    )


def instrumented(linked: Build, session: Session) -> Build:
    return post_link.make(spec_of(linked, Pass.POST_LINK_INSTRUMENT), session, print)


def optimised(linked: Build, session: Session) -> Build:
    build = instrumented(linked, session)
    with session.fixed_workdir(counters_name(build.digest)) as folder:
        kept = trained(build, session, folder)
    return post_link.make(spec_of(linked, Pass.POST_LINK_USE, kept), session, print)


@pytest.fixture
def linked(tree: SourceTree, session: Session) -> Build:
    return linked_build(tree, session, "bolt", "gcc")


@pytest.mark.parametrize("variant", ["rel+bolt", "pgo+bolt", "lto+pgo+bolt"])
def test_a_program_is_laid_out_anew_and_computes_the_same(
    tree: SourceTree, session: Session, compiler: str, variant: str
) -> None:
    linked = linked_build(tree, session, variant, compiler)
    build = optimised(linked, session)
    assert output_of(build) == output_of(linked)
    record = build.manifest.post_link
    assert record is not None
    assert record.tool == find_usable_bolt().label
    assert 0 < record.moved <= record.profiled <= record.functions
    assert 0 < record.taken_after < record.taken_before
    assert record.text_bytes > 0
    assert build.manifest.files["program"].sha256 != linked.manifest.files["program"].sha256
    assert build.manifest.seconds == pytest.approx(linked.manifest.seconds + record.seconds)
    assert len(build.manifest.trained) == (2 if "pgo" in variant else 1)
    assert "BOLT-INFO" in build.log.read_text()
    assert build.commands() == linked.commands()


def test_what_two_processes_counted_is_added_up(linked: Build, session: Session) -> None:
    build = instrumented(linked, session)
    with session.fixed_workdir(counters_name(build.digest)) as folder:
        counters = counters_of_build(build, find_compiler("gcc"), folder, session)
        seen = []
        for _ in range(2):
            output_of(build)
            counters.gather()
            seen.append(counters.read())
    assert seen[1].totals["work"] == 2 * seen[0].totals["work"] > 1000
    assert 0 < seen[0].functions_executed < seen[0].functions


def test_a_link_that_a_trained_program_leaves_leads_hone_nowhere(
    linked: Build, tmp_path: Path, session: Session
) -> None:
    build = instrumented(linked, session)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with session.fixed_workdir(counters_name(build.digest)) as folder:
        counters = counters_of_build(build, find_compiler("gcc"), folder, session)
        for _ in range(2):
            output_of(build)
            for name in ("gathered.draft", "merged.draft", "merged"):
                (folder / name).symlink_to(victim)
            counters.gather()
            assert list(folder.iterdir()) == []
        assert counters.read().totals["work"] > 0
        (folder / "gathered.fdata").symlink_to(victim)
        for act in (counters.gather, counters.read, counters.merge):
            with pytest.raises(UntrustedFileError, match=r"gathered\.fdata is a link"):
                act()
    assert victim.read_text() == "mine"


def test_the_same_inputs_make_the_same_build_once(linked: Build, session: Session) -> None:
    told: list[str] = []
    first = instrumented(linked, session)
    spec = spec_of(linked, Pass.POST_LINK_INSTRUMENT)
    assert post_link.make(spec, session, told.append).folder == first.folder
    assert not told
    newer = dataclasses.replace(spec, bolt=dataclasses.replace(spec.bolt, version="99.0.0"))
    assert newer.digest() != first.digest


def test_a_build_without_relocations_is_refused(tree: SourceTree, session: Session) -> None:
    plain = builder.make(make_spec(tree), session, print)
    as_bolt = make_spec(tree, "bolt").inputs
    spec = dataclasses.replace(spec_of(plain, Pass.POST_LINK_INSTRUMENT), inputs=as_bolt)
    with pytest.raises(BuildError, match="BOLT-ERROR: relocations against code are missing") as got:
        post_link.make(spec, session, print)
    assert got.value.log is not None
    assert "relocations" in got.value.log.read_text()


def test_a_build_that_was_not_trained_after_linking_is_refused(
    linked: Build, session: Session
) -> None:
    with pytest.raises(ProfileError, match="has not been trained after linking"):
        post_link.make(spec_of(linked, Pass.POST_LINK_USE), session, print)


def test_too_little_memory_is_told_before_anything_is_compiled(
    tree: SourceTree, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = SimpleNamespace(available=100_000, total=1 << 34)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(MachineError, match=r"BOLT needs about .* of memory here, and .* are free"):
        builder.make(make_spec(tree, "bolt"), session, print)


def test_an_instrumented_build_of_gccs_is_shared_with_builds_without_bolt(tree: SourceTree) -> None:
    alone = make_spec(tree, "pgo", pass_=Pass.INSTRUMENT)
    before = make_spec(tree, "pgo+bolt", pass_=Pass.INSTRUMENT)
    assert alone.digest() == before.digest()
    assert make_spec(tree).digest() != make_spec(tree, "bolt").digest()


def test_a_function_that_stops_bolt_is_known_by_its_message() -> None:
    says = (
        "BOLT-ERROR: unable to get new address corresponding to input address 0x3a1c2b in function"
        " ExecInterpExpr/1(*2). Consider adding this function to --skip-funcs=..."
    )
    assert bolts.stuck_function(says) == "ExecInterpExpr"
    assert bolts.stuck_function(says.replace("/1", ".lto_priv.0/1")) == "ExecInterpExpr"
    assert bolts.stuck_function("BOLT-ERROR: no such file") is None
    assert bolts.skipping(("ExecInterpExpr",)) == ("-skip-funcs=ExecInterpExpr([./].*)?",)
    assert bolts.skipping(()) == ()


def failing_bolt(path: Path, says: str) -> BoltTool:
    """Return a BOLT that stops at a function, and says this once it leaves the function alone."""
    stuck = "BOLT-ERROR: x in function work. Consider adding this function to --skip-funcs=..."
    script = f'case "$*" in *-skip-funcs*) echo "{says}" ;; *) echo "{stuck}" ;; esac; exit 1'
    return BoltTool(path=put_program(path, script), version="99.0.0")


def test_the_failure_after_a_skipped_function_has_its_own_cause(
    linked: Build, session: Session, tmp_path: Path
) -> None:
    bolt = failing_bolt(tmp_path / "bin" / "llvm-bolt", "BOLT-ERROR: something else")
    spec = dataclasses.replace(spec_of(linked, Pass.POST_LINK_INSTRUMENT), bolt=bolt)
    with pytest.raises(BuildError, match=r"failed: BOLT-ERROR: something else$") as got:
        post_link.make(spec, session, print)
    assert got.value.log is not None
    assert "in function work" in got.value.log.read_text()


def test_a_full_disk_is_reported_also_if_there_is_no_room_for_the_log(
    linked: Build, session: Session, tmp_path: Path
) -> None:
    bolt = failing_bolt(tmp_path / "bin" / "llvm-bolt", "No space left on device")
    spec = dataclasses.replace(spec_of(linked, Pass.POST_LINK_INSTRUMENT), bolt=bolt)
    session.home.logs.rename(tmp_path / "elsewhere")
    with pytest.raises(NoSpaceError, match="while laying out the code") as got:
        post_link.make(spec, session, print)
    assert got.value.log is None


def test_a_missing_bolt_is_told_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bolts, "find_bolt", lambda: None)
    with pytest.raises(ToolError, match="needs BOLT, which is not installed") as caught:
        parse_variant("bolt").check(find_compiler("gcc"))
    assert caught.value.hint is not None
    assert "hone setup bolt" in caught.value.hint


@pytest.mark.parametrize(
    ("known", "package"),
    [
        ("bolt-15\nbolt-9\nbolt-19\nbolt-19-dbg\nbolt-22\nbolt-lmm\n", "bolt-22"),
        ("bolt-15\nbolt-16\n", f"bolt-{bolts.OLDEST}"),
        (None, f"bolt-{bolts.OLDEST}"),
    ],
)
def test_a_machine_without_bolt_requires_the_newest_that_is_known(
    known: str | None, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bolts, "find_bolt", lambda: None)
    monkeypatch.setattr("dbhone.process.output_of", lambda _argv: known)
    (needed,) = bolts.requirements()
    assert needed.package == package


def test_a_machine_with_a_bolt_that_works_requires_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bolts, "find_bolt", lambda: Path("/opt/llvm-bolt"))
    monkeypatch.setattr("dbhone.process.output_of", lambda _argv: "LLVM version 19.1.7")
    assert bolts.requirements() == ()


def test_an_old_bolt_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = put_program(tmp_path / "llvm-bolt", "echo Debian LLVM version 15.0.6")
    monkeypatch.setattr(bolts, "find_bolt", lambda: old)
    with pytest.raises(ToolError, match="BOLT 15 is too old: hone needs 19 or newer"):
        find_usable_bolt()


def test_the_newest_bolt_is_found_whatever_other_folders_of_llvm_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9", "19", "22-old", "git"):
        put(tmp_path / f"llvm-{version}" / "bin" / "llvm-bolt")
    monkeypatch.setattr(bolts, "_LLVM", tmp_path)
    assert find_bolt() == tmp_path / "llvm-19" / "bin" / "llvm-bolt"


def test_a_training_without_counters_gathers_nothing(linked: Build, session: Session) -> None:
    build = instrumented(linked, session)
    folder = session.workdir("counters")
    counters = counters_of_build(build, find_compiler("gcc"), folder, session)
    counters.gather()
    assert counters.files() == ()
    assert counters.read().functions_executed == 0
