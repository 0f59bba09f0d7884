"""What the pages of hone serve show, and to whom."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from werkzeug.test import Client

from dbhone.activity import Activity, tell
from dbhone.home import Home
from dbhone.measurement.record import Code, Run, RunState, Subject, Warning
from dbhone.measurement.store import Store
from dbhone.report.formats.base import render
from dbhone.serve import run_service
from dbhone.session import open_session
from dbhone.tuner.results import page_of
from tests.report.hostile import HOSTILE
from tests.report.outline import Outline
from tests.report.sample_run import Shape, a_small_run, samples
from tests.serve.stored import HERE, client_of, invocations, keep, running

SMALL = Shape(blocks=6)


def keep_small(store: Store, run: Run | None = None, shape: Shape = SMALL) -> int:
    """Keep a run of few steps, or this one, with its measurements; return its number."""
    run = run or a_small_run()
    return keep(store, run, samples(run, shape))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


@pytest.fixture
def store(home: Home) -> Iterator[Store]:
    with Store.open(home.database) as opened:
        yield opened


@pytest.fixture
def client(home: Home) -> Client:
    return client_of(home)


def shown(client: Client, address: str, *, status: int = 200) -> str:
    """Return the text of a page, which must be whole and hold no script of its own."""
    answer = client.get(address, headers=HERE)
    assert answer.status_code == status, answer.text
    read = Outline(answer.text)
    assert (read.wrong, read.open) == ([], [])
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    scripts = [attributes.get("src") for tag, attributes in read.tags if tag == "script"]
    assert set(scripts) <= {"/look.js"}
    return answer.text


def numbers(text: str) -> list[int]:
    """Return the runs that a list shows, in order."""
    return [int(each) for each in re.findall(r'name="runs" value="(\d+)"', text)]


class TestList:
    def test_a_store_without_runs_says_how_to_begin(self, store: Store, client: Client) -> None:
        del store
        assert "There are no runs yet" in shown(client, "/")

    def test_runs_are_listed_newest_first_with_what_they_found(
        self, store: Store, client: Client
    ) -> None:
        keep_small(store)
        keep(store, a_small_run(state=RunState.FAILED, error="no gcc", stopped_by=None))
        text = shown(client, "/")
        assert numbers(text) == [2, 1]
        assert re.search(r"pgo\S* is \d\.\d+ times as fast as rel", text)
        assert "Nothing was measured: the run failed (no gcc)." in text
        assert '<a href="/runs/2/live">failed</a>' in text

    def test_a_candidate_that_a_search_rejects_later_is_told(
        self, store: Store, client: Client
    ) -> None:
        number = keep_small(store)
        (winner,) = re.findall(r">(\S+) is \d\.\d+ times as fast as rel", shown(client, "/"))
        shown(client, f"/runs/{number}/live")
        store.add_warning(number, Warning(code=Code.REJECTED, text="it crashed", subject=winner))
        assert "times as fast as rel, but was rejected" in shown(client, "/")
        assert "But it was rejected: it crashed" in shown(client, f"/runs/{number}/live")

    def test_filters_are_addresses(self, store: Store, client: Client) -> None:
        run = a_small_run()
        keep(store, run)
        keep(store, replace(run, title="Another question", suite="sysbench:micro"))
        keep(store, replace(run, state=RunState.FAILED, stopped_by=None, subjects=()))
        assert numbers(shown(client, "/?suite=sysbench:micro")) == [2]
        assert numbers(shown(client, "/?text=ANOTHER")) == [2]
        assert numbers(shown(client, "/?text=pgo")) == [2, 1]
        assert numbers(shown(client, "/?state=failed&dbms=")) == [3]
        assert numbers(shown(client, "/?dbms=sqlite&suite=speedtest1")) == [1]
        assert "No run is like that" in shown(client, "/?dbms=nosuch")

    def test_many_runs_are_on_several_pages(self, store: Store, client: Client) -> None:
        for _ in range(23):
            keep(store, a_small_run())
        first, second = shown(client, "/?text=lite"), shown(client, "/?text=lite&page=2")
        assert (numbers(first), numbers(second)) == (list(range(23, 3, -1)), [3, 2, 1])
        assert 'rel="next" href="/?text=lite&amp;page=2"' in first
        assert 'rel="prev" href="/?text=lite"' in second
        assert numbers(shown(client, "/?page=99")) == numbers(shown(client, "/?page=2"))
        assert "&#39;x&#39; is not a page" in shown(client, "/?page=x", status=404)

    def test_a_list_does_not_wait_for_all_that_was_found(
        self, store: Store, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run_service, "_PATIENCE", -1.0)
        keep(store, a_small_run())
        text = shown(client, "/")
        assert '<body data-again="2">' in text
        assert '<small class="detail">…</small>' in text
        monkeypatch.undo()
        assert '<body data-again="0">' in shown(client, "/")


class TestReport:
    def test_is_the_very_page_that_hone_report_gives(self, store: Store, client: Client) -> None:
        number = keep_small(store)
        page = page_of(store.run(number), store, store.observations(number))
        answer = client.get(f"/runs/{number}", headers=HERE)
        assert answer.data == render(page, "html")
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"

    def test_is_made_once_and_anew_when_the_run_has_changed(
        self, store: Store, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made = []

        def counting(page: object, name: str) -> bytes:
            made.append(name)
            return b"report %d" % len(made)

        monkeypatch.setattr(run_service, "render", counting)
        run = a_small_run(state=RunState.INTERRUPTED)
        number = keep_small(store, run, Shape(blocks=2))
        first = client.get(f"/runs/{number}", headers=HERE)
        tag = {"If-None-Match": first.headers["ETag"]}
        assert client.get(f"/runs/{number}", headers=HERE | tag).status_code == 304
        assert client.get(f"/runs/{number}", headers=HERE).data == b"report 1"

        further = [each for each in invocations(run, samples(run, SMALL)) if each.block == 2]
        store.record_all(number, further)
        again = client.get(f"/runs/{number}", headers=HERE | tag)
        assert (again.status_code, again.data) == (200, b"report 2")
        store.add_warning(number, Warning(code="waited", text="7 s were spent waiting"))
        assert client.get(f"/runs/{number}", headers=HERE).data == b"report 3"

    @pytest.mark.parametrize("address", ["/runs/7", "/runs/7/live", "/compare?runs=7,8"])
    def test_a_run_that_does_not_exist_is_told(
        self, store: Store, client: Client, address: str
    ) -> None:
        del store
        text = shown(client, address, status=404)
        assert "There is no run 7." in text

    @pytest.mark.parametrize(
        "address",
        ["/nothing", "/runs/x", "/runs/-1", "/runs/99999999999", "/../store.db", "/%00"],
    )
    def test_other_addresses_lead_nowhere(self, store: Store, client: Client, address: str) -> None:
        del store
        assert "There is no such page" in shown(client, address, status=404)


class TestLive:
    def test_a_run_that_goes_on_tells_how_far_it_is(self, home: Home) -> None:
        with open_session(home) as session, Store.open(home.database) as store:
            client = client_of(home)
            run = running(a_small_run(), session.id)
            number = keep_small(store, run, Shape(blocks=2))
            found = [each for each in invocations(run, samples(run, SMALL)) if each.block == 2]
            store.record(number, replace(found[0], failure="it crashed", measurements=()))
            text = shown(client, f"/runs/{number}/live")
            assert "running." in text
            assert "Measuring block 3." in text
            sets = len({step.set for step in run.steps})
            assert f"1 of {sets * len(run.subjects)} invocations" in text
            assert "<dd>1 invocation</dd>" in text
            assert "on rel, and failed, " in text
            assert "needs 6 blocks" in text
            assert '<body data-again="10">' in text
            assert f'href="/runs/{number}/live"' in shown(client, "/")
            assert '<body data-again="10">' in shown(client, "/")

    def test_a_run_that_prepares_tells_what_is_there(self, home: Home) -> None:
        with open_session(home) as session, Store.open(home.database) as store:
            client = client_of(home)
            run = running(a_small_run(), session.id)
            number = keep(store, replace(run, subjects=run.subjects[:1], steps=()))
            text = shown(client, f"/runs/{number}/live")
            assert "Preparing: 1 of 3 subjects ready so far." in text
            assert "control" not in text
            store.set_subject(number, 1, run.subjects[1])
            assert "control" in shown(client, f"/runs/{number}/live")

    def test_a_run_that_prepares_tells_what_it_does_and_how_long_that_takes(
        self, home: Home
    ) -> None:
        began = datetime.now(UTC) - timedelta(seconds=130)
        building = Activity(
            stage="build", what="lto: rel+lto with gcc", began_at=began, expected=300.0, left=9000.0
        )
        with open_session(home) as session, Store.open(home.database) as store:
            client = client_of(home)
            tell(session, building)
            run = running(a_small_run(), session.id)
            number = keep(store, replace(run, subjects=run.subjects[:1], steps=()))
            text = shown(client, f"/runs/{number}/live")
        assert re.search(
            r"Now: build lto: rel\+lto with gcc, \d m \d\d s of about 5 m 00 s\.", text
        )
        assert re.search(r"<dt>Left</dt><dd>at most 2 h \d\d m</dd>", text)

    def test_a_hone_that_is_gone_is_told(self, home: Home, store: Store, client: Client) -> None:
        number = keep_small(store, running(a_small_run(), "c0ffee"), Shape(blocks=1))
        text = shown(client, f"/runs/{number}/live")
        assert "The process that executed it has died" in text
        assert f"hone resume {number}" in text
        assert '<body data-again="0">' in text
        assert numbers(shown(client, "/?state=cut+off")) == [number]

    def test_a_run_that_ended_says_why(self, store: Store, client: Client) -> None:
        done = keep_small(store)
        failed = keep(store, a_small_run(state=RunState.FAILED, error="no gcc", stopped_by=None))
        stopped = keep(store, a_small_run(state=RunState.INTERRUPTED, stopped_by=None))
        assert "complete: the budget is spent" in shown(client, f"/runs/{done}/live")
        assert "It failed: no gcc." in shown(client, f"/runs/{failed}/live")
        assert "It was interrupted." in shown(client, f"/runs/{stopped}/live")


class TestComparison:
    @pytest.mark.parametrize("query", ["", "?runs=", "?runs=7", "?runs=7&runs=7", "?runs=,7,"])
    def test_takes_two_runs(self, store: Store, client: Client, query: str) -> None:
        del store
        assert "A comparison needs two runs" in shown(client, f"/compare{query}", status=404)

    def test_runs_that_share_a_subject_are_one_report(self, store: Store, client: Client) -> None:
        run = a_small_run()
        others = (*run.subjects[:2], replace(run.subjects[2], name="other", build_digest="0" * 64))
        one = keep_small(store, run)
        two = keep_small(store, replace(run, subjects=others), Shape(blocks=6, seed=3))
        answer = client.get(f"/compare?runs={two},{one}", headers=HERE)
        assert answer.status_code == 200
        assert "runs 1 and 2 joined" in answer.text
        assert '<th scope="row">other</th>' in answer.text
        assert "were joined by way of rel" in answer.text
        again = client.get(f"/compare?runs={one},{two}", headers=HERE)
        assert again.headers["ETag"] == answer.headers["ETag"]

    def test_runs_that_share_none_say_so_and_what_each_found(
        self, store: Store, client: Client
    ) -> None:
        run = a_small_run()
        others = tuple(replace(each, version="3.50") for each in run.subjects)
        keep_small(store, run)
        keep(store, replace(run, subjects=others), samples(run, SMALL))
        text = shown(client, "/compare?runs=1&runs=2")
        assert "Run 2 shares no subject with run 1" in text
        assert "Measure one of its subjects beside the others" in text
        assert text.count("times as fast as rel") == 2

    def test_an_empty_run_is_told(self, store: Store, client: Client) -> None:
        keep_small(store)
        keep(store, a_small_run(state=RunState.FAILED, stopped_by=None, error="no gcc"))
        text = shown(client, "/compare?runs=1,2")
        assert "Run 2 has measured nothing that could be compared." in text

    def test_what_is_no_number_is_told(self, store: Store, client: Client) -> None:
        del store
        text = shown(client, "/compare?runs=7,eight", status=404)
        assert "&#39;eight&#39; is not a run" in text


class TestSafety:
    def test_nothing_from_outside_becomes_markup(self, store: Store, client: Client) -> None:
        run = a_small_run(
            state=RunState.FAILED,
            error=HOSTILE.replace("\udcff", ""),
            stopped_by=None,
            title=HOSTILE.replace("\udcff", ""),
        )
        bad = HOSTILE.replace("\udcff", "").replace("\x00", "")
        subjects: tuple[Subject, ...] = tuple(replace(s, dbms=bad) for s in run.subjects)
        number = keep(store, replace(run, subjects=subjects, suite=bad))
        other = keep(store, a_small_run())
        for address in (
            "/",
            f"/?text={HOSTILE[:27]}",
            f"/?suite={HOSTILE[:27]}",
            f"/?page={HOSTILE[:27]}",
            f"/runs/{number}/live",
            f"/compare?runs={number},{other}",
            f"/compare?runs={HOSTILE[:27]}",
        ):
            answer = client.get(address, headers=HERE)
            assert answer.status_code < 500
            assert "<script>alert" not in answer.text
            assert not [tag for tag, _ in Outline(answer.text).tags if tag == "alert"]

    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
    def test_only_reading_is_answered(self, store: Store, client: Client, method: str) -> None:
        del store
        answer = client.open("/", method=method, headers=HERE)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")

    def test_head_is_get_without_its_body(self, store: Store, client: Client) -> None:
        del store
        head, get = (client.open("/", method=each, headers=HERE) for each in ("HEAD", "GET"))
        assert (head.status_code, head.data) == (200, b"")
        assert head.headers["Content-Length"] == str(len(get.data))

    @pytest.mark.parametrize(
        ("host", "known"),
        [
            ("127.0.0.1:8765", True),
            ("localhost", True),
            ("LOCALHOST:80", True),
            ("[::1]:8765", True),
            ("evil.example", False),
            ("localhost.evil.example:8765", False),
            ("127.0.0.1.evil.example", False),
            ("192.0.2.1:8765", False),
            ("localhost:x", False),
            ("", False),
        ],
    )
    def test_a_name_that_is_not_ours_is_not_answered(
        self, store: Store, client: Client, host: str, known: bool
    ) -> None:
        del store
        status = client.get("/", headers={"Host": host}).status_code
        assert status == (200 if known else 421)

    @pytest.mark.parametrize("address", ["/", "/runs/1", "/runs/2", "/style.css", "/look.js"])
    def test_every_answer_says_what_a_browser_may_do(
        self, store: Store, client: Client, address: str
    ) -> None:
        keep(store, a_small_run())
        headers = client.get(address, headers=HERE).headers
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in policy
        assert ("'unsafe-inline'" in policy) == (address == "/runs/1")
        assert "script-src 'unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Referrer-Policy"] == "no-referrer"

    def test_a_request_is_told_without_what_could_drive_a_terminal(
        self, store: Store, client: Client, caplog: pytest.LogCaptureFixture
    ) -> None:
        del store
        with caplog.at_level(logging.INFO, "dbhone.serve"):
            client.get("/?text=\x1b[31m\n", headers=HERE)
        (line,) = caplog.messages
        assert re.match(r"\S* GET \S+ 200 ", line)
        assert line.isprintable()


def test_a_fault_ends_one_answer_and_no_more(
    store: Store,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    keep(store, a_small_run())
    with monkeypatch.context() as patch:
        patch.setattr(run_service, "findings_of", lambda *_: 1 / 0)
        text = shown(client, "/", status=500)
    assert "A bug in hone: ZeroDivisionError" in text
    (told,) = caplog.records
    assert told.getMessage().startswith("a bug in hone: ZeroDivisionError: ")
    assert told.exc_info
    assert told.exc_info[0] is ZeroDivisionError
    assert numbers(shown(client, "/")) == [1]


class TestStore:
    def test_one_that_cannot_be_read_is_told_and_read_when_it_can_be(
        self, home: Home, client: Client
    ) -> None:
        text = shown(client, "/", status=503)
        assert "There is nothing in the store" in text
        with Store.open(home.database) as store:
            keep(store, a_small_run())
        assert numbers(shown(client, "/")) == [1]

    def test_pages_are_read_while_it_is_written(self, store: Store, client: Client) -> None:
        run = running(a_small_run(), "c0ffee")
        number = keep(store, run, samples(run, Shape(blocks=1)))
        for each in invocations(run, samples(run, SMALL)):
            if each.block == 0:
                continue
            store.record(number, each)
            if each.position % 5 == 0:
                text = shown(client, f"/runs/{number}/live")
                assert f"<dt>Blocks</dt><dd>{each.block + 1} " in text

    def test_nothing_is_written_to_it(self, home: Home, client: Client) -> None:
        with Store.open(home.database) as store:
            number = keep_small(store)
        before = home.database.read_bytes()
        for address in ("/", f"/runs/{number}", f"/runs/{number}/live"):
            assert client.get(address, headers=HERE).status_code == 200
        assert home.database.read_bytes() == before
        assert {each.name.removeprefix("store.db") for each in home.root.iterdir()} <= {
            "",
            "-wal",
            "-shm",
        }
