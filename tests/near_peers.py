"""Simulators that adapters of the same process ask without a socket, for tests of what Shipyard makes of its peers.

The wire itself is held by the suites of the ports (tests/contract), whose simulators run ``in_thread``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from shipyard_api.http.deadline import Answer, Connections, Limits, Request
from shipyard_simulators.etcd.cluster import MemberState
from shipyard_simulators.etcd.simulator import EtcdSimulator
from shipyard_simulators.server import Served, Server, in_thread
from shipyard_simulators.tests.in_process import called

_servers: dict[int, Server] = {}
_etcds: list[EtcdSimulator] = []

BEFORE: list[Callable[[], None]] = []
"""What is called before each request, and may raise for a network that is cut."""
AFTERWARDS: list[Callable[[], None]] = []
"""What is called after each answer: a test whose runs are all alike lets the threads of simulators come to rest."""


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


@contextmanager
def near_members(etcd: EtcdSimulator) -> Iterator[EtcdSimulator]:
    """Run an etcd cluster whose members are asked without a socket; one that hangs or is down is found at its port."""
    with in_thread(etcd):
        _etcds.append(etcd)
        try:
            yield etcd
        finally:
            _etcds.remove(etcd)


def _member(port: int) -> Server | None:
    """Return what would answer at the port of a member at once."""
    for etcd in _etcds:
        for member, server in [*etcd.programs._servers.items()]:
            if server.server_port == port and member.state is not MemberState.HANGING:
                return server
    return None


_over_socket = Connections.exchange


@contextmanager
def _exchange(connections: Connections, request: Request, limits: Limits) -> Iterator[Answer]:
    port = urlsplit(connections.address).port or 0
    member = _member(port)
    server = member or _servers.get(port)
    if server is None:
        with _over_socket(connections, request, limits) as answer:
            yield answer
        return
    url = connections.address + request.target
    for call in () if member else BEFORE:
        call()
    try:
        status, headers, content = called(server, request.method, url, request.headers, request.body)
    finally:
        for call in AFTERWARDS:
            call()
    named = {name.lower(): value for name, value in headers}
    yield Answer(int(status[:3]), named, iter([content] if content else []))


Connections.exchange = _exchange  # type: ignore[method-assign]
