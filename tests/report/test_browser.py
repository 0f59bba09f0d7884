"""The pages in a real browser: what a reader sees, hears, prints and reaches by keyboard."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from dbhone.report.formats.base import render
from dbhone.report.page import Page as View
from dbhone.report.page import build_page
from tests.report.odd_runs import odd_page
from tests.report.sample_history import a_history, history_page
from tests.report.sample_run import a_run, run_page
from tests.report.sample_series import observations
from tests.report.sample_servers import (
    a_server_run,
    a_sweep_run,
    many_builds,
    server_page,
    server_samples,
)

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
_WIDTHS = (360, 768, 1280)
_PAPER = 718
"""The width of A4 in CSS pixels, without the margins that Chromium leaves."""
_OVERFLOWING = """() => [...document.body.querySelectorAll('*')]
    .filter(it => !it.closest('.scroll, svg, .unseen, .skip'))
    .filter(it => it.getBoundingClientRect().right > innerWidth + 1)
    .map(it => it.outerHTML.slice(0, 120))"""
_CUT_OFF = """() => [...document.querySelectorAll('table, figure, svg, pre, p')]
    .filter(it => !it.closest('.unseen'))
    .filter(it => it.getBoundingClientRect().right > innerWidth + 1)
    .map(it => it.outerHTML.slice(0, 120))"""
_FOCUSABLE = """() => [...document.querySelectorAll('a[href], summary, input, [tabindex="0"]')]
    .filter(it => it.checkVisibility()).length"""
_FOCUSED = """() => {
    const it = document.activeElement;
    if (it === document.body) return null;
    it.dataset.seen = (+it.dataset.seen || 0) + 1;
    const all = [...document.querySelectorAll('*')];
    const box = it.getBoundingClientRect();
    return {
        place: all.indexOf(it),
        times: +it.dataset.seen,
        text: it.textContent.trim().slice(0, 60),
        outlined: getComputedStyle(it).outlineStyle !== 'none',
        within: box.bottom > 0 && box.top < innerHeight && box.right > 0,
    };
}"""

pytestmark = pytest.mark.skipif(_CHROMIUM is None, reason="chromium is not installed")


@functools.cache
def _shown(name: str) -> bytes:
    """Return a page by its name in ``_PAGES``."""
    return render(_PAGES[name](), "html")


def _observed() -> View:
    run = a_server_run()
    return build_page(run, server_samples(run), observations(run, blocks=2))


_PAGES: dict[str, Callable[[], View]] = {
    "run": lambda: run_page(a_run()),
    "server": _observed,
    "sweep": lambda: server_page(a_sweep_run()),
    "history": lambda: history_page(a_history()),
    "many builds": lambda: server_page(many_builds()),
    "nothing": lambda: odd_page("nothing"),
    "one block": lambda: odd_page("one block"),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # The sandbox cannot be had by root, and pages of our own need none.
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_CHROMIUM, args=root)
        yield browser
        browser.close()


@pytest.fixture(params=_PAGES)
def page(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """Yield an opened page; it must not have complained, nor have asked for another file."""
    said: list[str] = []
    asked: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    opened = context.new_page()
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda asking: asked.append(asking.url))
    path = tmp_path / "page.html"
    path.write_bytes(_shown(request.param))
    opened.goto(path.as_uri())
    yield opened
    context.close()
    assert said == []
    assert asked == [path.as_uri()]


def _axe(page: Page) -> list[str]:
    violations: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:150]}" for each in violations]


@pytest.mark.parametrize("width", _WIDTHS)
def test_nothing_leaves_the_window(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_OVERFLOWING) == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_it_can_be_read_by_all(page: Page, scheme: Literal["light", "dark"], width: int) -> None:
    """Contrast, headings in order, names of regions and figures, tables' headers: axe's rules."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    assert _axe(page) == []


def test_every_picture_has_words_in_its_place(page: Page) -> None:
    wordless = """() => [...document.querySelectorAll('svg:not(td > [aria-hidden])')]
        .filter(it => !(it.closest('[role=img]')?.ariaLabel?.length > 20))
        .map(it => it.outerHTML.slice(0, 120))"""
    assert page.evaluate(wordless) == []
    assert page.locator("figure").count() == page.locator("figure > figcaption").count()


def test_no_picture_cuts_its_words_off(page: Page) -> None:
    cut = """() => [...document.querySelectorAll('svg text')].filter(it => {
        const box = it.getBoundingClientRect(), whole = it.closest('svg').getBoundingClientRect();
        return box.left < whole.left - 1 || box.right > whole.right + 1;
    }).map(it => it.textContent)"""
    assert page.evaluate(cut) == []


def test_the_keyboard_reaches_everything_in_order_and_leaves_again(page: Page) -> None:
    found: list[dict[str, Any]] = []
    while True:
        page.keyboard.press("Tab")
        focused = page.evaluate(_FOCUSED)
        if focused is None or focused["times"] > 1:
            break
        found.append(focused)
    # Where nothing was measured there is no table.
    assert (found[0]["text"] == "Skip to the table") is bool(page.locator("#summary").count())
    assert len(found) == page.evaluate(_FOCUSABLE)
    places = [each["place"] for each in found]
    assert places == sorted(places)
    assert [each for each in found if not (each["outlined"] and each["within"])] == []


def test_ends_of_intervals_are_shown_when_asked_for_on_paper_too(page: Page) -> None:
    box, hinted = page.locator("#ends"), page.locator("td.number[title]")
    if not hinted.count():
        pytest.skip("there is no interval on this page")
    shown = "it => getComputedStyle(it, '::after').content"
    assert hinted.first.evaluate(shown) == "none"
    box.focus()
    page.keyboard.press("Space")
    assert hinted.first.evaluate(shown) == f'"{hinted.first.get_attribute("title")}"'
    assert page.evaluate(_OVERFLOWING) == []
    page.emulate_media(media="print")
    page.set_viewport_size({"width": _PAPER, "height": 1000})
    assert page.evaluate(_CUT_OFF) == []


def test_a_term_tells_its_meaning_to_a_pointer_and_to_the_keyboard(page: Page) -> None:
    terms = page.locator(".term:visible")
    if not terms.count():
        pytest.skip("there is no term on this page")
    shown = "it => getComputedStyle(it, '::after').content"
    meaning = f'"{terms.first.get_attribute("data-meaning")}"'
    assert terms.first.evaluate(shown) == "none"
    terms.first.focus()
    assert terms.first.evaluate(shown) == meaning
    page.locator("h1").click()
    assert terms.first.evaluate(shown) == "none"
    page.set_viewport_size({"width": 360, "height": 800})
    for term in terms.all():
        term.hover()
        assert page.evaluate(_OVERFLOWING) == []


def test_paper_holds_every_table_and_picture(page: Page) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": _PAPER, "height": 1000})
    assert page.evaluate(_CUT_OFF) == []
    assert page.pdf(format="A4").startswith(b"%PDF-")


def test_what_is_folded_is_open_on_paper_and_for_who_follows_a_link(page: Page) -> None:
    hidden = """() => [...document.querySelectorAll('table, svg')]
        .filter(it => !it.checkVisibility({contentVisibilityAuto: true}))
        .map(it => it.outerHTML.slice(0, 120))"""
    page.emulate_media(media="print")
    assert page.evaluate(hidden) == []
    page.emulate_media(media="screen")
    repeat = page.locator("#repeat")
    assert not repeat.is_visible()
    page.locator("nav a[href='#repeat']").click()
    assert repeat.is_visible()


def test_what_matters_fits_on_five_screens(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollHeight") < 5 * 900
