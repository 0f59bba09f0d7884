from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbhone.compilation.transforms._microarchitecture import V3_FLAGS
from dbhone.errors import HoneError, PackageError, UsageError
from dbhone.package.archive import Entry, pack, unpack
from dbhone.package.checking import check_package
from dbhone.package.content import public_reference
from dbhone.package.packing import SAMPLES
from dbhone.package.proof import KEY, SIGNED, UNSIGNED, read_public_key, read_signing_key
from dbhone.verification.outcome import Failure, ListComparison
from tests.package.packages import OUTCOME, image, measurement, package, samples, write_keys

UNSIGNED_FILE = package()
FAILURE = Failure(check="testrunner", list="veryquick", test="select2.test", difference="41")


def replaced(file: bytes, name: str, data: bytes | None) -> bytes:
    """Return a package, sealed anew, in which a file has another content, or is missing."""
    root, moment, entries = unpack(file)
    kept = [entry for entry in entries if entry.name != name]
    added = [] if data is None else [Entry(name=name, data=data)]
    return pack([*kept, *added], root, moment)


def test_a_package_tells_what_its_samples_show() -> None:
    checked = check_package(UNSIGNED_FILE)
    assert checked.key is None
    assert checked.found is not None
    assert checked.found["winner"] == "o3"
    assert checked.stated.made.lacks == ("TLS", "JIT")
    whole = next(
        summary
        for summary in checked.found["summaries"]
        if summary["subject"] == "o3" and summary["group"] is None
    )
    assert whole["verdict"] == "faster"
    assert whole["low"] < 1.2 < whole["high"]


@pytest.mark.parametrize(
    ("here", "reason"),
    [
        ("2.36", None),
        ("2.100", None),
        ("2.9", "it needs glibc 2.36 or newer, and this machine has glibc 2.9"),
        (None, "it needs glibc 2.36, and this machine's C library is not glibc"),
    ],
)
def test_it_is_told_where_the_c_library_is_too_old(
    here: str | None, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.package.checking.glibc_here", lambda: here)
    assert check_package(package(glibc="2.36")).why_not_here == reason
    assert check_package(UNSIGNED_FILE).why_not_here is None
    assert check_package(package(glibc="2.36", image=image())).why_not_here is None


def test_libraries_that_the_machine_lacks_are_told() -> None:
    needed = ["libc.so.6", "libnothere.so.9"]
    assert check_package(package(system_libraries=needed)).why_not_here == (
        "it needs libnothere.so.9, which this machine lacks"
        " (libnothere.so.9: no package is known to bring it)"
    )
    assert check_package(package(system_libraries=needed, image=image())).why_not_here is None


@pytest.mark.parametrize("name", ["/lib/libc.so.6", "a b", "a\0", ""])
def test_what_is_no_name_of_a_library_is_no_statement(name: str) -> None:
    with pytest.raises(PackageError, match="statements are incomplete"):
        check_package(package(system_libraries=[name]))


@pytest.mark.parametrize(
    ("variant", "reason", "doubt"),
    [
        ("rel+lto", None, None),
        ("rel+lto+v3", "it was compiled as rel+lto+v3, and this machine's processor lacks f", None),
        ("rel+native", None, "it was compiled for the very processor"),
        ("rel+v9", None, "this hone does not know for which processors rel+v9 compiles"),
    ],
)
def test_it_is_told_where_the_processor_is_too_old_or_may_be_another(
    variant: str, reason: str | None, doubt: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    has = V3_FLAGS - {"f16c", "fma"}
    monkeypatch.setattr("dbhone.compilation.host._cpu_flags", lambda _: has)
    checked = check_package(package(variant=variant))
    assert (checked.why_not_here or "").startswith(reason or "")
    assert (checked.why_not_here is None) is (reason is None)
    assert (checked.why_perhaps_not_here or "").startswith(doubt or "")
    assert (checked.why_perhaps_not_here is None) is (doubt is None)


@pytest.mark.parametrize(
    ("needed", "reason"),
    [
        (["avx2", "bmi2"], None),
        (
            ["avx2", "avx512f", "sha_ni"],
            "it was compiled as rel+native, and this machine's processor lacks avx512f, sha_ni",
        ),
    ],
)
def test_it_is_told_what_this_processor_lacks_of_the_one_that_it_was_built_for(
    needed: list[str], reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dbhone.compilation.host._cpu_flags", lambda _: V3_FLAGS)
    checked = check_package(package(variant="rel+native", native_cpu_flags=needed))
    assert checked.why_not_here == reason
    assert checked.why_perhaps_not_here is None


@pytest.mark.parametrize("stated", [["a\x1b[31m"], ["avx2", "A VX"], "avx2"])
def test_what_is_no_flag_of_a_processor_is_no_statement(stated: Any) -> None:
    with pytest.raises(PackageError, match="statements are incomplete"):
        check_package(package(native_cpu_flags=stated))


def test_a_c_library_of_no_version_is_no_statement() -> None:
    with pytest.raises(PackageError, match="statements are incomplete"):
        check_package(package(glibc="two"))


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 10**12, 10**400, 1e308, math.inf, -math.inf, math.nan, [], {}, "", "x"]),
    st.text(max_size=3),
)


@given(st.data())
def test_odd_values_in_a_statement_are_refused_or_borne(data: st.DataObject) -> None:
    *_, proof = sorted(unpack(UNSIGNED_FILE)[2], key=lambda entry: entry.name == UNSIGNED)
    statements = [json.loads(line) for line in proof.data.splitlines()]
    place, key = data.draw(st.sampled_from([*places([each["predicate"] for each in statements])]))
    place[key] = data.draw(ODD)
    check_or_refuse(b"".join(json.dumps(each).encode() + b"\n" for each in statements), UNSIGNED)


@given(st.data())
def test_odd_values_among_the_samples_are_refused_or_borne(data: st.DataObject) -> None:
    entry = next(each for each in unpack(UNSIGNED_FILE)[2] if each.name == SAMPLES)
    lines = [line.split(b",") for line in entry.data.splitlines()]
    cells = data.draw(st.sampled_from(lines))
    at = data.draw(st.integers(min_value=0, max_value=len(cells) - 1))
    cells[at] = str(data.draw(ODD)).encode(errors="surrogatepass")
    check_or_refuse(b"\n".join(map(b",".join, lines)) + b"\n", SAMPLES)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all places of values in plain values, as the container and the key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        # What was found is computed anew, and only compared.
        if key != "found":
            yield value, key
            if isinstance(value[key], dict | list):
                yield from places(value[key])


def check_or_refuse(data: bytes, name: str) -> None:
    """Check a package in which a file was replaced, also where the statements speak of it."""
    root, moment, entries = unpack(UNSIGNED_FILE)
    files = {entry.name: dataclasses.replace(entry) for entry in entries}
    before = files[name]
    files[name] = dataclasses.replace(before, data=data)
    proof = files[UNSIGNED].data.replace(before.digest.encode(), files[name].digest.encode())
    files[UNSIGNED] = dataclasses.replace(files[UNSIGNED], data=proof)
    with contextlib.suppress(HoneError), warnings.catch_warnings(), np.errstate(all="ignore"):
        check_package(pack(files.values(), root, moment))


@pytest.mark.parametrize("layouts", [-1, 10**12, math.inf])
def test_layouts_that_no_run_has_are_refused(layouts: float) -> None:
    said = copy.deepcopy(measurement(samples()))
    said["measured"]["layouts"] = layouts
    with pytest.raises(PackageError, match="measurement is malformed"):
        check_package(package(said=said))


@pytest.mark.parametrize("name", ["bin/server", "licences/COPYING", SAMPLES, KEY])
def test_a_file_that_was_replaced_is_caught_though_the_seal_is_right(
    name: str, tmp_path: Path
) -> None:
    private, _ = write_keys(tmp_path)
    file = package(read_signing_key(private))
    with pytest.raises(PackageError):
        check_package(replaced(file, name, b"other"))
    with pytest.raises(PackageError, match=r"lacks|no public key"):
        check_package(replaced(file, name, None))


def test_a_file_of_which_no_statement_speaks_is_caught() -> None:
    with pytest.raises(PackageError, match="holds the undeclared file bin/more"):
        check_package(replaced(UNSIGNED_FILE, "bin/more", b"x"))


def test_a_second_proof_that_nobody_signed_is_caught(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path)
    file = replaced(package(read_signing_key(private)), UNSIGNED, b"signed, believe me\n")
    with pytest.raises(PackageError, match=f"holds the undeclared file {UNSIGNED}"):
        check_package(file, read_public_key(public))


def as_program(entry: Entry) -> Entry:
    return dataclasses.replace(entry, executable=True)


def with_other_permission(entry: Entry) -> Entry:
    return dataclasses.replace(entry, executable=not entry.executable)


def as_link(entry: Entry) -> Entry:
    return Entry(name=entry.name, link=entry.data.decode())


@pytest.mark.parametrize(
    ("change", "name", "said"),
    [
        (as_program, UNSIGNED, "is a program, not an ordinary file"),
        (with_other_permission, "bin/server", "is not the file"),
        (with_other_permission, "licences/COPYING", "is not the file"),
        (as_link, "licences/COPYING", "COPYING is not the file"),
    ],
)
def test_an_entry_of_another_kind_is_caught(
    change: Callable[[Entry], Entry], name: str, said: str
) -> None:
    root, moment, entries = unpack(UNSIGNED_FILE)
    changed = [change(entry) if entry.name == name else entry for entry in entries]
    with pytest.raises(PackageError, match=said):
        check_package(pack(changed, root, moment))


def test_a_package_under_another_name_or_of_another_time_is_caught() -> None:
    name, moment, entries = unpack(UNSIGNED_FILE)
    for file in (pack(entries, "server-2.0", moment), pack(entries, name, 1)):
        with pytest.raises(PackageError, match="name, time or list of statements"):
            check_package(file)


def test_a_statement_that_was_left_out_is_caught_though_each_is_signed(tmp_path: Path) -> None:
    private, _ = write_keys(tmp_path)
    file = package(read_signing_key(private), differing=["bin/server"])
    lines = next(each for each in unpack(file)[2] if each.name == SIGNED).data.splitlines(True)
    with pytest.raises(PackageError, match="list of statements"):
        check_package(replaced(file, SIGNED, b"".join(lines[:-1])))
    with pytest.raises(PackageError, match="two statements of one type"):
        check_package(replaced(file, SIGNED, b"".join([*lines, lines[0]])))


def test_the_grade_of_another_build_is_caught() -> None:
    with pytest.raises(PackageError, match="is another build"):
        check_package(package(outcome=OUTCOME.model_copy(update={"build": "9876"})))


def test_the_maker_is_known_by_his_key_and_by_nothing_else(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path)
    file = package(read_signing_key(private))
    own = check_package(file)
    assert own.key == check_package(file, read_public_key(public)).key
    (tmp_path / "other").mkdir()
    other, others_public = write_keys(tmp_path / "other")
    with pytest.raises(PackageError, match="not by the key"):
        check_package(file, read_public_key(others_public))
    with pytest.raises(PackageError, match="not signed"):
        check_package(UNSIGNED_FILE, read_public_key(public))
    assert check_package(package(read_signing_key(other))).key != own.key


def test_statements_of_another_package_are_caught(tmp_path: Path) -> None:
    private, _ = write_keys(tmp_path)
    key = read_signing_key(private)
    _, _, entries = unpack(package(key, array=samples(1.1)))
    foreign = next(entry for entry in entries if entry.name == SIGNED)
    with pytest.raises(PackageError, match="is not the file"):
        check_package(replaced(package(key), SIGNED, foreign.data))


def test_a_verdict_that_the_samples_do_not_show_is_caught() -> None:
    array = samples(speedup=1.0)
    said = copy.deepcopy(measurement(array))
    said["found"]["winner"] = "o3"
    with pytest.raises(PackageError, match="do not support what the package claims about winner"):
        check_package(package(array=array, said=said))
    bragging = copy.deepcopy(measurement(array))
    bragging["found"]["summaries"][0]["ratio"] *= 1.001
    with pytest.raises(PackageError, match=r"summaries\[0\].ratio"):
        check_package(package(array=array, said=bragging))


def test_incomplete_statements_are_told() -> None:
    said = measurement(samples())
    del said["subject"]
    with pytest.raises(PackageError, match="statements are incomplete"):
        check_package(package(said=said))
    del said["found"]
    with pytest.raises(PackageError, match="measurement is incomplete"):
        check_package(package(said=said))


@pytest.mark.parametrize(
    ("lists", "reason"),
    [
        ((), "nothing was asked of it"),
        ((OUTCOME.lists[0].model_copy(update={"proving": 0}),), "proves nothing"),
        ((OUTCOME.lists[0].model_copy(update={"failures": (FAILURE,)}),), "it fails 1 test"),
    ],
)
def test_a_build_that_passed_no_grade_is_no_package_though_it_says_that_it_passed(
    lists: tuple[ListComparison, ...], reason: str
) -> None:
    outcome = OUTCOME.model_copy(update={"lists": lists})
    with pytest.raises(PackageError, match=f"has passed no grade: .*{reason}"):
        check_package(package(outcome=outcome))


@pytest.mark.parametrize("file", [b"", b"x" * 100, b"\x28\xb5\x2f\xfd" + b"\0" * 60])
def test_what_is_no_package_is_told(file: bytes) -> None:
    with pytest.raises(PackageError, match=r"not a package|damaged"):
        check_package(file)


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    private, public = write_keys(tmp_path)
    private.chmod(0o640)
    with pytest.raises(UsageError, match="others can read the signing key"):
        read_signing_key(private)
    private.chmod(0o600)
    with pytest.raises(UsageError, match="holds no public Ed25519 key"):
        read_public_key(private)
    public.chmod(0o600)
    with pytest.raises(UsageError, match="holds no private Ed25519 key"):
        read_signing_key(public)


@pytest.mark.parametrize(
    ("reference", "public"),
    [
        ("dir:/home/bob/src", "dir"),
        ("apt:sqlite3=3.40.1-2+deb12u2", "apt:sqlite3=3.40.1-2+deb12u2"),
        ("git:https://bob:secret@host/a/b@1f2e", "git:https://host/a/b@1f2e"),
        ("git:/home/bob/mysql@1f2e", "git:PATH"),
        ("git:../mysql@1f2e", "git:PATH"),
        ("git:host:a/b@1f2e", "git:host:a/b@1f2e"),
    ],
)
def test_a_source_is_named_without_folders_and_secrets(reference: str, public: str) -> None:
    assert public_reference(reference) == public
