"""Named configs: complete, honest about what is left out, and found by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbhone import registry
from dbhone.dbms.base import DRAWER, Dbms
from dbhone.dbms.base_server import ServerDbms
from dbhone.dbms.base_settings import Origin
from dbhone.errors import UnknownName, UsageError
from dbhone.experiment.declaration.load import parse
from dbhone.experiment.declaration.named_configs import config_names, load_config
from dbhone.instance.memory import Yardstick, scaled
from tests.experiment.experiment_files import CONFIGURED
from tests.instance.places import place_below

PLACE = place_below(Path("/i"))
_UNSCALED = re.compile(r"\d+G")


def servers_of(name: str) -> list[ServerDbms]:
    known = registry.names(DRAWER)
    found = []
    for each in load_config(name).dbms:
        if each in known:
            dbms = registry.load(DRAWER, each, Dbms, what="DBMS")
            assert isinstance(dbms, ServerDbms)
            found.append(dbms)
    return found


@pytest.mark.parametrize("name", config_names())
class TestConfig:
    def test_it_is_for_a_server_that_hone_knows(self, name: str) -> None:
        assert servers_of(name)

    def test_its_names_are_in_the_server_s_one_spelling(self, name: str) -> None:
        for dbms in servers_of(name):
            for setting in load_config(name).settings:
                assert dbms.canonical(setting) == setting

    def test_it_sets_nothing_that_hone_decides_itself(self, name: str) -> None:
        for dbms in servers_of(name):
            decided = {*dbms.fixed_settings(PLACE), *dbms.reserved}
            assert not decided & load_config(name).settings.keys()

    def test_what_is_left_out_has_a_reason_and_is_not_set(self, name: str) -> None:
        config = load_config(name)
        assert all(config.left_out.values())
        assert not config.left_out.keys() & config.settings.keys()

    def test_sizes_of_the_author_s_machine_are_shares(self, name: str) -> None:
        for setting, each in load_config(name).settings.items():
            assert not _UNSCALED.fullmatch(each.value), setting
            small = Yardstick(memory=1024**3, cache=64 * 1024**2)
            for dbms in servers_of(name):
                assert "% of" not in scaled(each.value, small, dbms)

    def test_a_share_says_what_the_author_s_was(self, name: str) -> None:
        for setting, each in load_config(name).settings.items():
            assert each.why or "% of" not in each.value, setting

    def test_an_experiment_may_use_it(self, name: str) -> None:
        found = parse(f'{CONFIGURED}use = "{name}"\n', name="x.toml")
        config = load_config(name)
        for subject in found.subjects:
            used = [each for each in subject.settings if each.origin is Origin.CONFIG]
            assert {each.name: each.value for each in used} == {
                setting: each.value for setting, each in config.settings.items()
            }


def test_a_config_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"x\.toml:16: config\.use: there is no config") as caught:
        parse(f'{CONFIGURED}use = "hiroi10-8"\n', name="x.toml")
    assert caught.value.hint is not None
    assert "'hiroi10-8.0'" in caught.value.hint


def test_a_config_for_another_dbms_is_refused() -> None:
    text = CONFIGURED.replace('"mariadb"', '"postgresql"') + 'use = "kinoshita"\n'
    with pytest.raises(UsageError, match="kinoshita is not for postgresql") as caught:
        parse(text, name="x.toml")
    assert caught.value.hint is not None
    assert "mariadb" in caught.value.hint
