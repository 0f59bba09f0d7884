"""The addresses of live servers, as capturing takes them."""

from __future__ import annotations

from dbhone.capture.servers.base import Address
from tests.workload.live import Live


def address_of(live: Live) -> Address:
    endpoint = live.endpoint
    return Address(
        protocol=endpoint.protocol.name,
        host="localhost",
        port=endpoint.port,
        user=endpoint.user,
        database=endpoint.database,
        socket=str(endpoint.socket),
    )
