"""What a package says of itself is true of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from dbhone.compilation.manifest import Build
from dbhone.compilation.variant import parse_variant
from dbhone.errors import UsageError
from dbhone.home import Home
from dbhone.package.archive import pack
from dbhone.package.checking import check_package
from dbhone.package.packing import EnclosedMeasurement, Package, make_package, passed_outcome
from dbhone.package.proof import PROVENANCE, read_proof
from dbhone.source.elf import read_glibc
from dbhone.verification.outcome import Failure
from dbhone.verification.outcome_store import OutcomeStore
from tests.package.builds import put_tree, server_build
from tests.package.packages import OUTCOME
from tests.report.sample_run import a_run, samples

PACKAGINGS: tuple[Literal["deb"] | None, ...] = ("deb", None)
OTHERS = "What was measured is another build of this source and variant"


def keep_outcome(build: Build, home: Home, **changes: Any) -> None:
    """Keep that a build passed a grade, or what is changed of it."""
    home.verifications.mkdir(parents=True)
    outcome = OUTCOME.model_copy(update={"build": build.digest, **changes})
    OutcomeStore(home, build).keep_outcome(outcome)


def packed(build: Build, home: Home, measurement: EnclosedMeasurement | None = None) -> Package:
    """Return the package of a build that passed a grade."""
    keep_outcome(build, home)
    return make_package(build, home, measurement, None)


def read_me(package: Package) -> str:
    """Return what a package's README says, as one line."""
    (entry,) = (entry for entry in package.entries if entry.name == "README")
    return " ".join(entry.data.decode().split())


def measured(digest: str) -> EnclosedMeasurement:
    """Return the measurement of a build of this digest."""
    run = a_run()
    subjects = (*run.subjects[:-1], replace(run.subjects[-1], build_digest=digest))
    run = replace(run, subjects=subjects)
    return EnclosedMeasurement(
        run=run, samples=samples(run), subject=subjects[-1], began=run.created_at
    )


@pytest.mark.parametrize("packaging", PACKAGINGS)
@pytest.mark.parametrize(
    ("digest", "another"), [("1" * 64, False), ("2" * 64, True), (None, False)]
)
def test_the_read_me_says_of_another_builds_measurement_only_where_it_is_so(
    packaging: Literal["deb"] | None, digest: str | None, another: bool, home: Home, tmp_path: Path
) -> None:
    build = server_build(tmp_path, put_tree(home, "LICENSE"), packaging=packaging)
    package = packed(build, home, None if digest is None else measured(digest))
    assert (OTHERS in read_me(package)) is another
    assert ("its rules" in read_me(package)) is (packaging is not None)


def test_a_build_that_was_made_anew_since_it_was_measured_is_not_packed_as_measured(
    home: Home, build: Build
) -> None:
    before = build.manifest.built_at - timedelta(seconds=1)
    with pytest.raises(UsageError, match="made anew after run 7 had begun to measure it"):
        packed(build, home, replace(measured(build.digest), began=before))
    of_another = replace(measured("2" * 64), began=before)
    assert OTHERS in read_me(make_package(build, home, of_another, None))


def test_nothing_is_built_again_for_a_package_that_is_refused(home: Home, build: Build) -> None:
    keep_outcome(build, home)
    before = replace(measured(build.digest), began=build.manifest.built_at - timedelta(seconds=1))
    built: list[Build] = []

    def build_again() -> Build:
        built.append(build)
        return build

    with pytest.raises(UsageError, match="made anew"):
        make_package(build, home, before, None, build_again=build_again)
    assert not built
    assert make_package(build, home, None, None, build_again=build_again).differing == ()
    assert built


@pytest.mark.parametrize("foreign", [None, "apt:mysql-8.0=8.0.38"])
def test_the_provenance_names_the_source_of_a_profile_that_is_not_the_builds_own(
    home: Home, foreign: str | None, build: Build
) -> None:
    inputs = build.manifest.inputs.model_copy(update={"profile_source": foreign})
    build = Build(build.folder, build.manifest.model_copy(update={"inputs": inputs}))
    entries = {entry.name: entry for entry in packed(build, home).entries}
    stated = read_proof(entries, None).predicates[PROVENANCE]["buildDefinition"]
    assert stated["externalParameters"].get("profile_source") == foreign


def test_the_read_me_says_how_the_levers_of_the_measured_server_are_set(
    home: Home, build: Build
) -> None:
    plain = measured(build.digest)
    subject = replace(plain.subject, levers=("huge-pages", "jemalloc"))
    package = packed(build, home, replace(plain, subject=subject))
    assert "Environment=LD_PRELOAD=libjemalloc.so.2 under [Service]" in read_me(package)
    assert "large_pages = ON in the server's settings" in read_me(package)
    assert "sysctl vm.nr_hugepages=NUMBER, with" in read_me(package)
    assert [lever.partition(":")[0] for lever in package.levers] == ["huge-pages", "jemalloc"]
    without = make_package(build, home, plain, None)
    assert "levers" not in read_me(without)
    assert without.levers == ()


@pytest.mark.parametrize(
    ("variant", "native", "said"),
    [
        ("o3", (), None),
        ("o3+v3", (), "It needs a processor that has abm, avx, avx2,"),
        ("o3+native", ("avx2", "sha_ni"), "It needs a processor that has avx2, sha_ni. The"),
        ("o3+native", (), "It was compiled for the very processor of the machine that built it"),
    ],
)
def test_the_read_me_says_on_which_processors_it_runs(
    home: Home, variant: str, native: tuple[str, ...], said: str | None, build: Build
) -> None:
    inputs = build.manifest.inputs.model_copy(update={"variant": parse_variant(variant)})
    facts = {"inputs": inputs, "native_cpu_flags": native}
    build = Build(build.folder, build.manifest.model_copy(update=facts))
    text = read_me(packed(build, home))
    assert said in text if said else "processor" not in text


def test_a_package_names_the_c_library_that_its_programs_need(tmp_path: Path) -> None:
    """Of a distribution's packages those are the programs that they install."""
    shell = Path("/bin/sh")
    needed = read_glibc(shell)
    for packaging in PACKAGINGS:
        folder = tmp_path / str(packaging)
        home = Home(folder / "home")
        tree = put_tree(home, "LICENSE")
        package = packed(
            server_build(folder, tree, packaging=packaging, program=shell.read_bytes()), home
        )
        libraries = "" if packaging else "libc.so.6, "
        said = f"{package.content.machine}, with {libraries}glibc {needed} or newer verified"
        assert f"runs on {said}" in read_me(package)
        checked = check_package(pack(package.entries, package.name, package.moment))
        assert checked.stated.made.glibc == needed


@pytest.mark.parametrize(
    ("proving", "failures", "reason", "hint"),
    [
        (
            1,
            (Failure(check="testrunner", list="veryquick", test="t", difference="-1"),),
            "it fails 1 test",
            "a build that gives wrong answers must not be used",
        ),
        (0, (), "passes no test of testrunner veryquick", "--grade smoke --again' repeats it"),
    ],
)
def test_only_a_build_that_fails_a_test_is_said_to_give_wrong_answers(
    build: Build, home: Home, proving: int, failures: tuple[Failure, ...], reason: str, hint: str
) -> None:
    (compared,) = OUTCOME.lists
    compared = compared.model_copy(update={"proving": proving, "failures": failures})
    keep_outcome(build, home, lists=(compared,))
    with pytest.raises(UsageError, match=reason) as caught:
        passed_outcome(build, home)
    assert hint in str(caught.value.hint)


def test_a_package_of_a_users_workload_has_no_folder_no_query_and_no_command(
    home: Home, build: Build
) -> None:
    told = measured(build.digest)
    steps = tuple(replace(step, title="99% · SELECT salary FROM staff") for step in told.run.steps)
    experiment = '[workload]\nsuite = "/home/bob/shop.workload"\n'
    subjects = tuple(
        replace(each, trained_on=("later", "./train.sh --token=s3cret"))
        for each in told.run.subjects
    )
    run = replace(
        told.run,
        suite="/home/bob/shop.workload",
        steps=steps,
        experiment=experiment,
        subjects=subjects,
    )
    package = packed(build, home, replace(told, run=run, subject=subjects[-1]))
    everything = b"".join(entry.data for entry in package.entries).decode("latin-1")
    for private in ("/home/bob", "salary", "s3cret", "train.sh"):
        assert private not in everything
    assert "shop.workload" in everything
