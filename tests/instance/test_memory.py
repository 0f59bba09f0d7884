"""Whether servers fit into the memory."""

from __future__ import annotations

import psutil
import pytest

from dbhone.errors import MachineError
from dbhone.instance.memory import check_memory


def test_servers_that_do_not_fit_into_the_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    available = psutil.virtual_memory().available
    with pytest.raises(MachineError, match="2 servers with a cache of") as caught:
        check_memory([available, available])
    assert caught.value.hint is not None
    check_memory([1024**2])
    monkeypatch.setattr("dbhone.measurement.cgroup.memory_limit", lambda root: 100 * 1024.0**2)
    with pytest.raises(MachineError, match=r"the control group allows 100\.0 MiB"):
        check_memory([1024**2])


def test_caches_of_several_sizes_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbhone.measurement.cgroup.memory_limit", lambda root: 1024.0**3)
    check_memory([256 * 1024**2, 128 * 1024**2])
    with pytest.raises(MachineError, match=r"with a cache of 512\.0 MiB and 384\.0 MiB"):
        check_memory([512 * 1024**2, 384 * 1024**2])
