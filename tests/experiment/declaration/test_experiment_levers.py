"""The levers of an experiment: what this machine lacks is told before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbhone.errors import MachineError, SettingsError
from dbhone.experiment.declaration.levers import (
    apply_levers,
    cache_bytes,
    levers_refusal,
    uses_huge_pages,
)
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.model import Experiment, SubjectDeclaration
from dbhone.instance import applied_levers
from tests.instance.offers import OFFER

TEXT = """\
title = "t"
base = "rel"

[sources]
pg = "apt:postgresql"

[subjects]
rel = { dbms = "postgresql", source = "pg" }
jemalloc = { like = "rel", levers = ["jemalloc", "cpus=0-1"] }
far = { like = "rel", levers = ["cpus=8"] }
huge = { like = "rel", levers = ["huge-pages"] }
twice = { like = "huge", settings = { huge_pages = "off" } }

[workload]
suite = "sysbench:micro"
size = "smoke"
cache = "600M"
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend a machine that has four CPUs, jemalloc, and 900 free huge pages."""
    monkeypatch.setattr(applied_levers, "read_host_capabilities", lambda levers: OFFER)


def declared(name: str, text: str = TEXT) -> tuple[Experiment, SubjectDeclaration]:
    experiment = parse(text, name="x.toml")
    return experiment, experiment.subject(name)


def test_what_the_machine_has_is_pulled() -> None:
    experiment, subject = declared("jemalloc")
    assert levers_refusal(experiment, subject) is None
    applied = apply_levers(experiment, subject)
    assert applied.environment() == {"LD_PRELOAD": "/lib/jemalloc"}
    assert applied.whole.cpus == frozenset({0, 1})


def test_a_subject_without_levers_asks_for_nothing() -> None:
    assert apply_levers(*declared("rel")).changes == ()


def test_what_the_machine_lacks_is_told_with_the_lever() -> None:
    error = levers_refusal(*declared("far"))
    assert isinstance(error, MachineError)
    assert error.message == "the lever cpus=8: hone cannot use the CPU 8, but 0-3 only"


def test_all_subjects_that_lack_a_lever_are_told() -> None:
    experiment = parse(TEXT, name="x.toml")
    errors = {each.name: levers_refusal(experiment, each) for each in experiment.subjects}
    names = [name for name, error in errors.items() if error is not None]
    assert names == ["far", "huge", "twice"]


def test_huge_pages_are_counted_for_all_servers_that_have_them() -> None:
    # Each needs 600 MiB, a tenth more, and 320 MiB besides: 490 pages; two do not fit into 900.
    text = TEXT.replace('settings = { huge_pages = "off" }', "levers = []")
    assert levers_refusal(*declared("huge", text)) is None
    error = levers_refusal(*declared("huge"))
    assert error is not None
    assert "2 servers with a cache of 600.0 MiB would need 980 huge pages" in error.message
    assert error.hint == "reserve them, as root: sysctl vm.nr_hugepages=1080"
    # Cold servers run one after the other.
    assert levers_refusal(*declared("huge", f'{TEXT}regime = "cold"\n')) is None
    assert apply_levers(*declared("huge", text)).whole.settings == {"huge_pages": "on"}


@pytest.mark.parametrize(
    "spelling",
    ["innodb-buffer-pool-size", "loose_innodb_buffer_pool_size", "INNODB_BUFFER_POOL_SIZE"],
)
def test_a_cache_is_as_large_as_the_last_request_says_however_it_is_spelled(
    tmp_path: Path, spelling: str
) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size = 512M\n")
    config = f'[config]\nfile = "my.cnf"\nset = {{ "{spelling}" = "8G" }}\n'
    text = TEXT.replace("postgresql", "mysql").replace('huge_pages = "off"', "")
    experiment = parse(f"{text}{config}", name=str(tmp_path / "x.toml"))
    found = cache_bytes(experiment.base, experiment.workload, 1)
    assert found == 8 * 1024**3


def test_only_huge_pages_are_reserved_memory() -> None:
    uses = {name: uses_huge_pages(declared(name)[1]) for name in ("rel", "jemalloc", "huge")}
    assert uses == {"rel": False, "jemalloc": False, "huge": True}


def test_a_setting_that_contradicts_a_lever_is_refused() -> None:
    small = TEXT.replace('"600M"', '"100M"')
    assert levers_refusal(*declared("huge", small)) is None
    error = levers_refusal(*declared("twice", small))
    assert isinstance(error, SettingsError)
    assert "huge_pages = off contradicts its levers, which want on" in error.message


def test_a_loose_setting_that_contradicts_a_lever_is_refused_as_well() -> None:
    text = TEXT.replace("postgresql", "mysql").replace('"600M"', '"100M"')
    text = text.replace('huge_pages = "off"', "loose_large-pages = false")
    assert isinstance(levers_refusal(*declared("twice", text)), SettingsError)


@pytest.mark.parametrize(("value", "contradicts"), [("true", False), ("false", True)])
def test_a_setting_that_says_in_other_letters_what_a_lever_wants_does_not_contradict_it(
    value: str, *, contradicts: bool
) -> None:
    text = TEXT.replace("postgresql", "mysql").replace('"600M"', '"100M"')
    text = text.replace('huge_pages = "off"', f"large_pages = {value}")
    assert (levers_refusal(*declared("twice", text)) is not None) is contradicts
