"""The socket that the pages are served on, and who serves them until the user ends it."""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import socket
from dataclasses import dataclass

from waitress.server import create_server

from dbhone.errors import HoneError, MachineError, UsageError
from dbhone.serve.app import App, Hosts

_THREADS = 4
_LARGEST_BODY = 1024
"""No request that is answered has a body."""
_NICE = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A socket that browsers can reach. ``address`` is what to open there."""

    listening: socket.socket
    address: str
    hosts: Hosts


def take_place(host: str, port: int) -> Place:
    """Listen on an address of this machine; port 0 is any that is free.

    Raises UsageError if ``host`` is not an address of this machine, MachineError if the port is
    taken or may not be used.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise _unknown(host) from error
    family, _, _, _, place = addresses[0]
    try:
        listening = socket.create_server((str(place[0]), port), family=family)
    except OSError as error:
        raise _refusal(host, port, error) from error
    actual, taken = listening.getsockname()[:2]
    address = ipaddress.ip_address(actual.partition("%")[0])
    return Place(
        listening=listening,
        address=f"http://{_address_text(address)}:{taken}/",
        hosts=Hosts(loopback=address.is_loopback, names=_names(host, address.is_loopback)),
    )


def serve(app: App, place: Place) -> None:
    """Serve until the user ends it (KeyboardInterrupt).

    Whatever is served yields to all else on the machine: something may be measured there.
    """
    os.nice(_NICE)
    # It warns whenever a request waits for a thread, as all do on a busy machine.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = create_server(
        app,
        sockets=[place.listening],
        threads=_THREADS,
        ident=None,
        max_request_body_size=_LARGEST_BODY,
        clear_untrusted_proxy_headers=True,
    )
    try:
        server.run()
    finally:
        server.close()


def _names(host: str, loopback: bool) -> tuple[str, ...]:
    if loopback:
        return ()
    own = socket.gethostname()
    return tuple(dict.fromkeys(name.lower() for name in (host, own, f"{own}.local")))


def _address_text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Return the host to open; where all addresses are listened on, this machine's name."""
    if address.is_unspecified:
        return socket.gethostname()
    return str(address) if address.version == 4 else f"[{address}]"


def _unknown(host: str) -> UsageError:
    return UsageError(
        f"'{host}' is not an address of this machine",
        hint="127.0.0.1 is for this machine alone, 0.0.0.0 for all who can reach it",
    )


def _refusal(host: str, port: int, error: OSError) -> HoneError:
    if error.errno == errno.EADDRINUSE:
        return MachineError(
            f"port {port} of {host} is taken by another program",
            hint="choose another with --port, or any that is free with --port 0",
        )
    if error.errno == errno.EACCES:
        return MachineError(
            f"port {port} may not be used by this account", hint="choose one above 1023 with --port"
        )
    if error.errno == errno.EADDRNOTAVAIL:
        return _unknown(host)
    return MachineError(f"cannot listen on port {port} of {host}: {error.strerror}")
