"""The terms of measuring, for all subjects alike: checked before, and told after."""

from __future__ import annotations

import pytest

from dbhone.errors import MachineError
from dbhone.experiment.conditions import check_terms, terms
from dbhone.experiment.load import parse
from dbhone.home import Session
from dbhone.instance import idle_inhibitor, page_cache
from tests.experiment.test_load_servers import GOOD

AWAKE = parse(f"{GOOD}\n[design]\nawake = true\n", name="x.toml")
COLD = parse(GOOD.replace("os-cached", "cold"), name="x.toml")
PLAIN = parse(GOOD, name="x.toml")


def test_a_reader_is_told_what_the_terms_were() -> None:
    assert [code for code, _ in terms(AWAKE)] == ["awake"]
    assert [code for code, _ in terms(COLD)] == ["cold"]
    assert list(terms(PLAIN)) == []


def test_what_the_machine_cannot_do_is_refused_before_anything_starts(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(folder: object) -> None:
        raise MachineError("the kernel keeps it all")

    monkeypatch.setattr(idle_inhibitor, "refusal", lambda: "there is a quota")
    monkeypatch.setattr(page_cache, "check_evictable", keep)
    check_terms(PLAIN, session)
    with pytest.raises(MachineError, match="the CPUs cannot be kept awake: there is a quota"):
        check_terms(AWAKE, session)
    with pytest.raises(MachineError, match="keeps it all"):
        check_terms(COLD, session)
