"""Requests as activities: callers choose addresses and methods, and neither may become a label as it was sent."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from shipyard_api.api.http.limits import STREAM, Message, Receive, Scope, Send
from shipyard_api.api.http.observation import ROUTE, Observation
from shipyard_api.observing.telemetry import Activity, observe_with


@pytest.mark.parametrize(
    ("method", "route", "status", "labels", "outcome", "is_stream"),
    [
        ("GET", "/actions/{id}", 200, {"method": "GET", "route": "/actions/{id}", "status": "200"}, "success", True),
        ("GET", "", 404, {"method": "GET", "route": "", "status": "404"}, "refused", False),
        ("BREW", "", 405, {"method": "other", "route": "", "status": "405"}, "refused", False),
        ("POST", "/a", None, {"method": "POST", "route": "/a", "status": "0"}, "left", False),
    ],
)
def test_a_request_is_observed(
    method: str, route: str, status: int | None, labels: dict[str, str], outcome: str, is_stream: bool
) -> None:
    seen: list[Activity] = []

    @contextmanager
    def watch(activity: Activity) -> Iterator[None]:
        yield
        seen.append(activity)

    async def application(scope: Scope, _receive: Receive, send: Send) -> None:
        if route:
            scope[ROUTE] = route
        if status is not None:
            if is_stream:
                scope[STREAM] = True
            await send({"type": "http.response.start", "status": status})
            assert len(seen) == is_stream  # a stream lasts as long as its caller likes

    async def receive() -> Message:
        return {}

    async def send(_message: Message) -> None:
        pass

    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": "/actions/7",
        "headers": [(b"traceparent", b"00-a-b-01")],
    }
    remove = observe_with(watch)
    try:
        asyncio.run(Observation(application)(scope, receive, send))
    finally:
        remove()

    (found,) = seen
    assert (found.labels, found.outcome, found.parent) == (labels, outcome, "00-a-b-01")
    assert found.details == {"url.path": "/actions/7", "url.scheme": "http"}
