"""Simulators that adapters of the same process ask without a socket, for tests of what Shipyard makes of its peers.

The wire itself is held by the suites of the ports (tests/contract), whose simulators run ``in_thread``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from shipyard_api import http_deadline
from shipyard_simulators.server import Served, Server, in_thread
from shipyard_simulators.tests.in_process import answered

_servers: dict[int, Server] = {}


@contextmanager
def near(simulator: Served) -> Iterator[Served]:
    """Run a simulator that adapters ask without a socket; everybody else finds it at its port."""
    server = simulator._server
    with in_thread(simulator):
        _servers[server.server_port] = server
        try:
            yield simulator
        finally:
            del _servers[server.server_port]


def _send(adapter: HTTPAdapter, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
    if server := _servers.get(urlsplit(request.url).port or 0):
        return answered(request, server)
    return HTTPAdapter.send(adapter, request, *args, **options)


http_deadline._Adapter.send = _send  # type: ignore[method-assign]
