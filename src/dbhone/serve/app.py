"""The application: which address shows what, and to whom. It answers GET and HEAD alone."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib import resources
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule
from werkzeug.sansio.utils import host_is_trusted
from werkzeug.wrappers import Request, Response

from dbhone.errors import HoneError, StoreError, UsageError
from dbhone.measurement.record import RunState
from dbhone.report.templating import page_style, templates
from dbhone.serve.listing import read_filters
from dbhone.serve.run_service import RunService
from dbhone.units import duration

LOG = logging.getLogger("dbhone.serve")
METHODS = ("GET", "HEAD")
OWN_PAGE = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy of our pages: nothing within them runs, nothing leaves."""
REPORT = (
    "default-src 'none'; style-src 'unsafe-inline';"
    " form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""That of a report, which is one file with its style in it, and no script."""
HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
"""Headers of every answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosts:
    """By which names a browser may call us.

    A page elsewhere can make its own name mean our address, and then read us as if we were it
    (DNS rebinding). It cannot do so with an address, nor with ``localhost``: any address will
    do, only one of this machine itself if ``loopback``, and of names those that are known.
    """

    loopback: bool
    names: tuple[str, ...] = ()

    def know(self, host: str) -> bool:
        """Return whether a Host header, with or without a port, is one of ours."""
        host = host.lower()
        if not host_is_trusted(host):
            return False
        try:
            address = ipaddress.ip_address(urlsplit(f"//{host}").hostname or "")
        except ValueError:
            return host_is_trusted(host, ("localhost", *self.names))
        return address.is_loopback or not self.loopback


_LOOK_AGAIN = 10
"""How often, in seconds, the page of an unfinished run looks for updates."""
_LOOK_SOON = 2
_NUMBER = "<int(max=999999999):number>"
_ADDRESSES = Map(
    [
        Rule("/", endpoint="runs"),
        Rule("/runs", endpoint="runs"),
        Rule(f"/runs/{_NUMBER}", endpoint="report"),
        Rule(f"/runs/{_NUMBER}/live", endpoint="live"),
        Rule("/compare", endpoint="compare"),
        Rule("/style.css", endpoint="style"),
        Rule("/look.js", endpoint="script"),
    ],
    strict_slashes=False,
    merge_slashes=False,
)


class App:
    """A WSGI application that shows runs. It logs the requests that it answered, and its bugs."""

    def __init__(self, service: RunService, hosts: Hosts) -> None:
        self._service = service
        self._hosts = hosts
        self._templates = templates("dbhone.serve")

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        began = time.monotonic()
        request = Request(environ)
        response = self._answer(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        response.headers.setdefault("Content-Security-Policy", OWN_PAGE)
        LOG.info(
            "%s %s %s %d %s",
            request.remote_addr or "",
            request.method,
            ascii(request.full_path.removesuffix("?"))[1:-1],
            response.status_code,
            duration(time.monotonic() - began),
        )
        return response(environ, start_response)

    def _answer(self, request: Request) -> Response:
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        try:
            endpoint, arguments = _ADDRESSES.bind_to_environ(request.environ).match()
            return self._show(endpoint, arguments.get("number", 0), request)
        except HTTPException:
            return self._error_page(UsageError("there is no such page"))
        except HoneError as error:
            return self._error_page(error)
        except Exception as error:  # one page that fails must not end the others
            bug = f"a bug in hone: {type(error).__name__}: {error}"
            LOG.exception("%s; please report it", bug)
            return self._error_page(HoneError(bug))

    def _refusal(self, request: Request) -> Response | None:
        """Return what is said to those who are not answered, None to others."""
        if not self._hosts.know(request.environ.get("HTTP_HOST", "")):
            return _plain(HTTPStatus.MISDIRECTED_REQUEST, "This name is not one of this server's.")
        if request.method not in METHODS:
            refusal = _plain(HTTPStatus.METHOD_NOT_ALLOWED, "Nothing can be changed here.")
            refusal.headers["Allow"] = ", ".join(METHODS)
            return refusal
        return None

    def _show(self, endpoint: str, number: int, request: Request) -> Response:
        match endpoint:
            case "runs":
                return self._runs(request)
            case "report":
                return self._report(self._service.report(number), request)
            case "live":
                return self._live(number)
            case "compare":
                return self._compare(request)
            case "style":
                style = page_style() + _file("serve.css")
                return Response(style, mimetype="text/css")
        return Response(_file("look.js"), mimetype="text/javascript")

    def _runs(self, request: Request) -> Response:
        overview = self._service.overview(read_filters(request.args))
        listing = overview.listing
        again = _LOOK_AGAIN if any(run.state is RunState.RUNNING for run in listing.shown) else 0
        if len(overview.headlines) < len(listing.shown):
            again = _LOOK_SOON
        return self._page("runs.html", overview=overview, listing=listing, again=again)

    def _live(self, number: int) -> Response:
        view = self._service.view(number)
        again = _LOOK_AGAIN if view.state is RunState.RUNNING else 0
        return self._page("live.html", view=view, again=again)

    def _compare(self, request: Request) -> Response:
        numbers = _numbers(request.args.getlist("runs"))
        try:
            return self._report(self._service.joined(numbers), request)
        except UsageError as error:
            reason = error
        runs = self._service.summaries(numbers)
        return self._page("compare.html", reason=reason, runs=runs, again=0)

    def _report(self, report: bytes, request: Request) -> Response:
        response = Response(report, mimetype="text/html")
        response.headers["Content-Security-Policy"] = REPORT
        response.add_etag()
        return response.make_conditional(request)

    def _error_page(self, error: HoneError) -> Response:
        return self._page("error.html", _status(error), error=error, again=0)

    def _page(self, name: str, status: HTTPStatus = HTTPStatus.OK, **shown: object) -> Response:
        text = self._templates.get_template(name).render(duration=duration, **shown)
        return Response(text.encode("utf-8", "replace"), status, mimetype="text/html")


def _status(error: HoneError) -> HTTPStatus:
    if isinstance(error, UsageError):
        return HTTPStatus.NOT_FOUND  # the address names what is not there
    if isinstance(error, StoreError):
        return HTTPStatus.SERVICE_UNAVAILABLE
    return HTTPStatus.INTERNAL_SERVER_ERROR


def _numbers(words: Iterable[str]) -> tuple[int, ...]:
    """Return the runs that are named, each once, in order: their report has no other.

    Raises UsageError for less than two.
    """
    named = [word.strip() for text in words for word in text.split(",") if word.strip()]
    for word in named:
        if not (word.isascii() and word.isdigit() and len(word) < 10):
            raise UsageError(f"'{word}' is not a run", hint="runs are named by their numbers")
    numbers = tuple(sorted({int(word) for word in named}))
    if len(numbers) < 2:
        raise UsageError(
            "a comparison needs two runs",
            hint="choose two or more in the list, or /compare?runs=7,8",
        )
    return numbers


def _plain(status: HTTPStatus, text: str) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")


def _file(name: str) -> str:
    return resources.files("dbhone.serve").joinpath("templates", name).read_text("utf-8")
