"""After which event a stream begins, and in which form its events are."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import falcon.asgi
import pytest
from falcon.testing import create_asgi_req

from shipyard_api.api.events.resources import Events
from shipyard_api.ports.state.journal import EventFormat
from tests.unit.tables import every_row


def opened(query: str, headers: dict[str, str]) -> list[tuple[int | None, EventFormat]]:
    """Open a stream; return the event after which it begins, and its form."""
    streams: list[tuple[int | None, EventFormat]] = []

    async def open_stream(action: None, cursor: int | None, serving: Callable[[], bool], written: EventFormat) -> None:
        streams.append((cursor, written))

    request = cast(Any, create_asgi_req(path="/api/v1.0/events", query_string=query, headers=headers))
    request.context.policy, request.context.identity = SimpleNamespace(allows=lambda rule, identity: True), None
    hub = cast(Any, SimpleNamespace(open=open_stream))
    asyncio.run(Events(hub).on_get(request, falcon.asgi.Response()))
    return streams


@every_row(
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
    assert opened(query, headers) == [(cursor, EventFormat.SHIPYARD)]


@every_row(list(EventFormat))
def test_a_listener_chooses_the_form(written: EventFormat) -> None:
    assert opened(f"format={written.value}", {}) == [(None, written)]
    with pytest.raises(falcon.HTTPInvalidParam):
        opened(f"format={written.value.upper()}", {})


@every_row(["x", "-1", "1" * 19])
def test_what_is_no_id_of_an_event_is_refused(written: str) -> None:
    with pytest.raises(falcon.HTTPInvalidParam):
        opened(f"last_event_id={written}", {})
    with pytest.raises(falcon.HTTPInvalidHeader):
        opened("last_event_id=3", {"Last-Event-ID": written})
