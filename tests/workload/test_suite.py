"""Suites are files; what they say must hold together."""

from __future__ import annotations

import pytest

from dbhone import registry
from dbhone.dbms.base import DRAWER as DBMS_DRAWER
from dbhone.errors import UnknownName
from dbhone.measurement.record import Group
from dbhone.workload import suite as suites
from dbhone.workload.drive import load_driver


@pytest.mark.parametrize("name", suites.names())
def test_every_suite_holds_together(name: str) -> None:
    suite = suites.load(name)
    assert load_driver(suite.driver).name == suite.driver
    assert set(suite.dbms) <= set(registry.names(DBMS_DRAWER))
    assert suite.sizes()
    for each in suite.sets.values():
        keys = each.keys()
        assert keys
        assert len(set(keys)) == len(keys), "a step is in one group only"
        sizes = [each.sizes[size] for size in suite.sizes()]
        assert sizes == sorted(sizes), "sizes grow"
        assert all(each.group_of(key) is not None for key in keys)


def test_a_step_has_the_group_of_the_suites_file() -> None:
    main = suites.load("speedtest1").sets["main"]
    assert main.group_of("410") is Group.POINT
    assert main.group_of("130") is Group.RANGE
    assert main.group_of("100") is Group.WRITE
    assert main.group_of("999") is None


def test_unknown_names_tell_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        suites.load("speedtest")
    assert caught.value.hint == "did you mean 'speedtest1'?"
    with pytest.raises(UnknownName, match="no set 'mian'"):
        suites.check("speedtest1", ("mian",), "quick")
    with pytest.raises(UnknownName, match="no size 'big'"):
        suites.check("speedtest1", ("main",), "big")
