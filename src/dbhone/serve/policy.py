"""What a browser is told that it may do, and who is answered at all."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from werkzeug.sansio.utils import host_is_trusted

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
