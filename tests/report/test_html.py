"""The HTML report: one file, whole, safe, and readable by everyone."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dbhone.measurement.record import Role, Run
from dbhone.measurement.sample_array import SampleArray
from dbhone.report.formats import html as html_format
from dbhone.report.formats.base import render
from dbhone.report.page import Page, build_page
from tests.analysis.columns import samples_of
from tests.report.hostile import HOSTILE, HOSTILE_PAGES
from tests.report.odd_runs import odd_page, odd_runs
from tests.report.outline import Outline
from tests.report.sample_run import SUBJECTS, Shape, a_run, run_page, subject
from tests.report.sample_servers import THREADS, a_sweep_run
from tests.report.told import tables_of


@pytest.fixture(scope="module")
def html(page: Page) -> str:
    return render(page, "html").decode()


@pytest.fixture(scope="module", params=["page", "server", "sweep", "history"])
def named(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param, render(request.getfixturevalue(request.param), "html").decode()


def test_outline_looks_like_its_golden_file(
    named: tuple[str, str], golden: Callable[[str, bytes], None]
) -> None:
    name, html = named
    lines = [" ".join(line.split()) for line in Outline(html).lines]
    file = "run" if name == "page" else name
    golden(f"report/{file}.html.outline", ("\n".join(lines) + "\n").encode())


def test_page_is_whole_and_small(named: tuple[str, str]) -> None:
    _, html = named
    read = Outline(html)
    assert (read.wrong, read.open) == ([], [])
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(html.encode()) < 3_000_000


def test_every_sweep_has_a_picture_of_throughput_and_one_of_latency(
    named: tuple[str, str],
) -> None:
    name, html = named
    assert html.count("over the number of threads for 4 subjects") == (6 if name == "sweep" else 0)


def test_page_needs_no_network_and_no_script(html: str) -> None:
    read = Outline(html)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in read.tags}
    for tag, attributes in read.tags:
        for name in ("src", "href", "xlink:href", "action"):
            address = attributes.get(name) or "#"
            assert address.startswith(("#", "data:")), (tag, address)
        assert not [name for name in attributes if name.startswith("on")]
    style = html[html.index("<style>") : html.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style
    assert "default-src 'none'" in html


def test_links_within_the_page_lead_somewhere(html: str) -> None:
    read = Outline(html)
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    wanted = [
        str(attributes[name]).removeprefix("#")
        for _, attributes in read.tags
        for name in ("href", "aria-labelledby", "aria-describedby")
        if name in attributes and not str(attributes[name]).startswith("data:")
    ]
    assert set(wanted) <= set(ids)
    assert set(re.findall(r"url\(#([^)]*)\)", html)) <= set(ids)


def test_tables_and_pictures_can_be_read_aloud(named: tuple[str, str]) -> None:
    name, html = named
    read = Outline(html)
    assert all("scope" in attributes for tag, attributes in read.tags if tag == "th")
    count = [tag for tag, attributes in read.tags if attributes.get("aria-hidden") != "true"]
    assert count.count("caption") == count.count("table") > 5
    pictures = [attributes for _, attributes in read.tags if attributes.get("role") == "img"]
    assert len(pictures) == count.count("svg")
    assert bool(pictures) is (name != "page")
    assert all(each.get("aria-label") for each in pictures)
    scrolling = [each for _, each in read.tags if "scroll" in (each.get("class") or "")]
    assert all(each.get("tabindex") == "0" for each in scrolling)


def test_verdicts_are_words_and_not_only_colours(html: str) -> None:
    assert html.count('<span class="unseen"> faster</span>') > 10


def test_headline_winner_and_repetition_are_there(html: str, page: Page) -> None:
    assert page.headline.replace("'", "&#39;") in html
    assert SUBJECTS[-1].build_path in html
    assert "<code>hone run try.toml --budget 5m</code>" in html
    assert "does profile-guided optimisation pay" in html


def test_data_of_the_page_are_the_json_report(html: str, page: Page) -> None:
    match = re.search(
        r'download="dbhone-run-7\.json" href="data:application/json;base64,(.*?)"', html
    )
    assert match is not None
    assert json.loads(base64.b64decode(match.group(1))) == json.loads(render(page, "json"))


@pytest.mark.parametrize("hostile", HOSTILE_PAGES)
def test_nothing_from_outside_becomes_markup(hostile: str) -> None:
    text = render(HOSTILE_PAGES[hostile](), "html").decode()
    read = Outline(text)
    assert "script" not in {tag for tag, _ in read.tags}
    assert (read.wrong, read.open) == ([], [])
    assert "{{ 7*7 }}" in text
    assert HOSTILE.split("|", maxsplit=1)[0] not in text


@pytest.mark.parametrize("odd", odd_runs())
def test_page_tells_what_can_be_told_of_an_odd_run(odd: str) -> None:
    text = render(odd_page(odd), "html").decode()
    read = Outline(text)
    assert (read.wrong, read.open) == ([], [])
    assert "NaN" not in text
    assert "Infinity" not in text


def test_a_run_of_many_steps_stays_small() -> None:
    run = a_run()
    some = [subject(f"candidate-{number}") for number in range(8)]
    steps = tuple(
        replace(step, key=f"{step.key}-{copy}") for step in run.steps for copy in range(12)
    )
    run = replace(run, subjects=(*SUBJECTS[:2], *some), steps=steps)
    text = render(run_page(run, Shape(blocks=6)), "html")
    assert len(text) < 3_000_000
    match = re.search(rb'download="dbhone-run-7\.json\.gz" href="data:[^,]*,([^"]*)"', text)
    assert match is not None
    data = json.loads(gzip.decompress(base64.b64decode(match.group(1))))
    assert len(data["effects"]) == 3 * 9 * len(steps)


def test_intervals_of_groups_are_drawn_over_the_control_s(html: str, page: Page) -> None:
    for table in tables_of(page, "groups")[:2]:
        drawn = html[html.index(f"<h3>{table.title}</h3>") :].partition("</table>")[0]
        ratios = len(table.rows) * (len(table.columns) - 2)
        assert drawn.count('class="reach"') == drawn.count('class="band"') == ratios > 0


class TestRoom:
    """What is left out of a page that would be too large, and that the page says so."""

    def _within(self, page: Page, most: int, monkeypatch: pytest.MonkeyPatch) -> str:
        monkeypatch.setattr(html_format, "MOST_BYTES", most)
        return render(page, "html").decode()

    def test_steps_in_other_metrics_go_first(
        self, server: Page, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = render(server, "html").decode()
        less = self._within(server, len(whole.encode()) - 1, monkeypatch)
        assert "<h3>P95 latency of each step" in whole
        assert "<h3>P95 latency of each step" not in less
        assert "The steps in other metrics are in the data" in less
        assert less.count("<svg") == whole.count("<svg")

    def test_the_answer_stays_whatever_goes(
        self, server: Page, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        least = self._within(server, 1, monkeypatch)
        assert Outline(least).wrong == []
        assert server.headline.replace("'", "&#39;") in least
        assert "<code>hone report 12 --format json</code> writes them" in least
        assert "data:application" not in least
        assert least.count("<svg") - least.count('<svg class="whisker"') == 0
        assert '<svg class="whisker"' in least

    def test_a_sweep_of_a_thousand_threads_and_many_builds_stays_small(self) -> None:
        run = a_sweep_run()
        steps = tuple(
            replace(step, set=f"{step.set.partition('@')[0]}-{copy}@{threads}", threads=threads)
            for step in run.steps[:: len(THREADS)]
            for copy in range(4)
            for threads in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
        )
        base, control, *_ = run.subjects
        many = tuple(replace(base, name=f"b{n}", role=Role.CANDIDATE) for n in range(12))
        run = replace(run, steps=steps, subjects=(base, control, *many))
        text = render(build_page(run, _copied(run, blocks=6)), "html")
        assert len(text) < 3_000_000
        assert text.count(b"<summary>point-query_range=100-") == 8


def _copied(run: Run, *, blocks: int) -> SampleArray:
    """Return measurements of a run whose steps the samples' maker does not know."""
    shape = (blocks, len(run.subjects), len(run.steps))
    block, subject, step = (each.ravel() for each in np.indices(shape))
    noise = np.random.default_rng(4).lognormal(0, 0.02, block.size)
    rate = 1000 * noise * np.array([each.threads or 1 for each in run.steps])[step]
    values = {"throughput": rate, "cpu_seconds": 1 / rate}
    values |= {f"latency_p{each}": each / rate for each in (50, 95, 99)}
    names = (each.name for each in run.subjects), (each.name for each in run.steps)
    return samples_of(*names, (subject, step, block), values)
