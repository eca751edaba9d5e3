"""For whom a thread works, what of it lines of the log say, and what peers are told."""

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from shipyard_api.observing import request_context
from shipyard_api.observing.logs import JsonLines
from shipyard_api.observing.request_context import RequestContext
from shipyard_api.observing.telemetry import within
from tests.unit.tables import every_row

MARKER = "2b0f9b0a-8a6e-4c49-8f5d-5d8e0a6b7c11"


@pytest.fixture(autouse=True)
def _nobody() -> Iterator[None]:
    with request_context.restored():
        request_context.end()
        yield


def line(**extra: object) -> dict[str, object]:
    record = logging.makeLogRecord({"msg": "said", **extra})
    found: dict[str, object] = json.loads(JsonLines().format(record))
    return {name: found[name] for name in found if name not in ("at", "level", "logger", "message")}


def test_a_line_names_the_origin_and_what_it_says_itself_counts() -> None:
    request_context.begin(RequestContext(MARKER, "ann", {"request": "r", "path": "/a"}))
    assert line() == {"request": "r", "path": "/a", "context_marker": MARKER, "user": "ann"}
    assert line(user="bob")["user"] == "bob"


def test_a_user_is_added_when_it_is_known() -> None:
    request_context.begin(RequestContext(MARKER))
    request_context.name_user("ann")
    assert line() == {"context_marker": MARKER, "user": "ann"}


def test_fields_that_are_known_later_are_added() -> None:
    request_context.begin(RequestContext(MARKER, "ann", {"request": "r"}))
    request_context.add_fields({"action": "01A"})
    assert line() == {"request": "r", "action": "01A", "context_marker": MARKER, "user": "ann"}


def test_a_line_names_the_trace_if_there_is_one() -> None:
    with within("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"):
        assert line() == {"trace": "0af7651916cd43dd8448eb211c80319c"}


def test_other_threads_work_for_the_same_only_if_they_are_told() -> None:
    request_context.begin(RequestContext(MARKER, "ann"))
    with ThreadPoolExecutor(1) as pool:
        # One thread, so that the last task would see what the first one left behind.
        told = [
            pool.submit(work).result()
            for work in (
                request_context.marker,
                request_context.propagated(request_context.marker),
                request_context.marker,
            )
        ]
    assert told == ["", MARKER, ""]


def test_the_origin_of_before_comes_back() -> None:
    request_context.begin(RequestContext(MARKER))
    with request_context.restored():
        request_context.begin(RequestContext("", "bob"))
    assert request_context.marker() == MARKER


@every_row(
    [
        ("ann", "ann"),
        ("Ann of Oz", "Ann of Oz"),
        ("", "shipyard"),
        ("Zoë", "Zo%C3%AB"),
        ("a\r\nX-Evil: 1", "a%0D%0AX-Evil%3A%201"),
        (" ann", "%20ann"),
    ],
)
def test_any_name_fits_into_a_header(user: str, told: str) -> None:
    request_context.begin(RequestContext("", user))
    assert request_context.headers() == {"X-End-User": told}
