"""The order in which clients replay: nothing a second time before all of it was replayed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dbhone.capture.capture import CaptureOptions, capture
from dbhone.workload import suite as suites
from dbhone.workload.replay_file import Half, write_half
from dbhone.workload.workload_file import read_header

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed"),
]

SCRIPT = Path(__file__).with_name("order.lua")
SESSIONS, EACH = 9, 200


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int]:
    """Return the earlier half of a workload of unlike statements, its reader, and its length."""
    folder = tmp_path_factory.mktemp("order")
    lines = (
        f"2026-05-04T10:{at // 60:02}:{at % 60:02}.000000Z\t    {session} Query\tSELECT"
        f" {session * EACH + at}\n"
        for at in range(EACH)
        for session in range(SESSIONS)
    )
    (folder / "general.log").write_text("".join(lines))
    workload = folder / "a.workload"
    capture((folder / "general.log",), workload, CaptureOptions())
    header = read_header(workload)
    write_half(workload, header, Half.EARLIER, folder / "earlier")
    reader = suites.load(str(workload)).scripts / "transactions.lua"
    return folder / "earlier", reader, len(asked(folder / "earlier", reader, 1, 900))


def asked(
    file: Path, reader: Path, clients: int, walked: int, *, backwards: bool = False
) -> set[str]:
    """Return what so many clients ask in so many transactions together."""
    words = ("sysbench", SCRIPT, f"--reader={reader}", f"--transactions={file}")
    direction = ["--backwards=on"] if backwards else []
    done = subprocess.run(
        [*map(str, words), f"--clients={clients}", f"--walked={walked}", *direction, "walk"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {line for line in done.stdout.splitlines() if line.startswith("SELECT")}


@pytest.mark.parametrize("clients", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_clients_do_not_meet_each_others_transactions(
    earlier: tuple[Path, Path, int], clients: int, share: float
) -> None:
    file, reader, whole = earlier
    walked = int(whole * share)
    assert len(asked(file, reader, clients, walked)) == walked


@pytest.mark.parametrize("clients", [1, 4])
def test_what_warms_a_server_up_is_not_replayed_again_when_it_is_measured(
    earlier: tuple[Path, Path, int], clients: int
) -> None:
    file, reader, whole = earlier
    walked = int(whole * 0.4)
    measured = asked(file, reader, clients, walked)
    warming_up = asked(file, reader, clients, walked, backwards=True)
    assert len(warming_up) == walked
    assert not measured & warming_up


@pytest.mark.parametrize("clients", [1, 2, 3, 4, 7, 60])
def test_all_of_it_is_replayed(earlier: tuple[Path, Path, int], clients: int) -> None:
    file, reader, whole = earlier
    assert len(asked(file, reader, clients, 2 * whole)) == whole
