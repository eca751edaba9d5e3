"""After which event a stream begins."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import falcon.asgi
import pytest
from falcon.testing import create_asgi_req

from shipyard_api.api.events.resources import Events


def opened(query: str, headers: dict[str, str]) -> list[int | None]:
    """Open a stream; return the event after which it begins."""
    cursors: list[int | None] = []

    async def open_stream(action: None, cursor: int | None, serving: Callable[[], bool]) -> None:
        cursors.append(cursor)

    request = cast(Any, create_asgi_req(path="/api/v1.0/events", query_string=query, headers=headers))
    request.context.policy, request.context.identity = SimpleNamespace(allows=lambda rule, identity: True), None
    hub = cast(Any, SimpleNamespace(open=open_stream))
    asyncio.run(Events(hub).on_get(request, falcon.asgi.Response()))
    return cursors


@pytest.mark.parametrize(
    ("query", "headers", "cursor"),
    [
        ("", {}, None),
        ("last_event_id=3", {}, 3),
        ("", {"Last-Event-ID": "5"}, 5),
        ("last_event_id=3", {"Last-Event-ID": "5"}, 5),
        ("last_event_id=x", {"Last-Event-ID": "5"}, 5),
        ("last_event_id=3", {"Last-Event-ID": ""}, 3),
    ],
)
def test_the_header_of_a_browser_that_comes_back_wins_over_its_parameter(
    query: str, headers: dict[str, str], cursor: int | None
) -> None:
    assert opened(query, headers) == [cursor]


@pytest.mark.parametrize("written", ["x", "-1", "1" * 19])
def test_what_is_no_id_of_an_event_is_refused(written: str) -> None:
    with pytest.raises(falcon.HTTPInvalidParam):
        opened(f"last_event_id={written}", {})
    with pytest.raises(falcon.HTTPInvalidHeader):
        opened("last_event_id=3", {"Last-Event-ID": written})
