"""Levers on real servers, and on a pretended one that they do nothing to."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import psutil
import pytest

from dbhone.errors import ServerError
from dbhone.instance import applied_levers
from dbhone.instance.host_state import read_host_capabilities
from dbhone.instance.levers.base import HostCapabilities, LeverContext
from dbhone.instance.server import Server
from dbhone.session import Session
from tests.instance import lives
from tests.instance.conftest import Machine
from tests.instance.pretended_servers import Honest, Stubborn, pretended, session

__all__ = ["session"]

CPU = min(os.sched_getaffinity(0))
NEED = LeverContext(value="", dbms=lives.Postgresql(), cache_bytes=1024**2, servers=1)


def with_levers(
    server: Server, *words: str, context: LeverContext, host: HostCapabilities | None = None
) -> Server:
    """Give the server levers, or skip the test where this machine cannot give them."""
    if host is None and (found := applied_levers.refusal(words, context)) is not None:
        pytest.skip(found.reason)
    server.levers = applied_levers.apply(words, context, host)
    return server


@pytest.mark.integration
@pytest.mark.parametrize("allocator", ["jemalloc", "tcmalloc", "mimalloc"])
def test_a_real_server_runs_with_another_allocator_on_its_cpus(
    machine: Machine, allocator: str
) -> None:
    place = machine.made()
    words = (f"cpus={CPU}", allocator)
    with with_levers(machine.server(place), *words, context=machine.context()) as server:
        process = psutil.Process(server.pid)
        assert any(allocator in each.path for each in process.memory_maps())
        whole = (process, *process.children(recursive=True))
        assert {tuple(each.cpu_affinity() or ()) for each in whole} == {(CPU,)}


@pytest.mark.integration
def test_a_real_server_puts_its_cache_into_huge_pages(machine: Machine) -> None:
    place = machine.made()
    context = machine.context()
    server = with_levers(machine.server(place), "huge-pages", context=context)
    server.values = machine.values(place, **server.levers.whole.settings)
    with server:
        shown = Path(f"/proc/{server.pid}/status").read_text()
    kibibytes = int(shown.partition("HugetlbPages:")[2].split()[0])
    assert kibibytes > 0


def test_a_lever_reaches_the_server_and_not_its_client(session: Session) -> None:
    with (
        pytest.raises(ServerError, match="exit code 3"),
        with_levers(pretended(Honest(), session), f"cpus={CPU}", context=NEED) as server,
    ):
        assert os.sched_getaffinity(server.pid) == {CPU}
        assert os.sched_getaffinity(0) == read_host_capabilities(()).cpus


def test_a_lever_that_did_nothing_is_an_error_and_the_server_ends(session: Session) -> None:
    # The loader says so in the log, ignores it, and starts the server all the same.
    nowhere = dataclasses.replace(
        read_host_capabilities(()),
        libraries={"libjemalloc.so.2": Path("/nowhere/libjemalloc.so.2")},
    )
    server = with_levers(pretended(Stubborn(), session), "jemalloc", context=NEED, host=nowhere)
    with pytest.raises(ServerError, match="runs, but the lever jemalloc had no effect") as caught:
        server.__enter__()
    assert "loader" in str(caught.value.hint)
    assert caught.value.log is not None
    assert "/nowhere/libjemalloc.so.2" in caught.value.log.read_text()
    with pytest.raises(ServerError, match="is not running"):
        _ = server.pid
