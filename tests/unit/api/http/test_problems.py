"""Errors in the form of RFC 9457."""

import asyncio
from typing import Any

import falcon.asgi
from falcon.testing import create_asgi_req

from shipyard_api.api.http.problems import TYPE, Problem, Problems
from tests.unit.tables import every_row


def answered(accept: str | None, body: Any = {"message": "gone"}, status: int = 404) -> falcon.asgi.Response:  # noqa: B006  # read only
    request = create_asgi_req(headers={"Accept": accept} if accept else {})
    request.context.request_id = "6d2f"
    response = falcon.asgi.Response()
    response.status, response.media = status, body
    middleware = Problems(lambda found: Problem(None, found["message"]) if "message" in found else None)
    asyncio.run(middleware.process_response(request, response, None, False))
    return response


@every_row([TYPE, f"application/json, {TYPE}", f"{TYPE.upper()};q=0.1"])
def test_a_caller_who_names_the_type_gets_it(accept: str) -> None:
    answer = answered(accept)

    assert answer.content_type == TYPE
    assert answer.data == (
        b'{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "gone", "instance": "urn:uuid:6d2f"}'
    )


@every_row([None, "", "*/*", "application/*", "application/json", f"{TYPE};q=0", "problem+json"])
def test_others_get_what_they_know(accept: str | None) -> None:
    assert answered(accept).media == {"message": "gone"}


@every_row([({"message": "gone"}, 200), ({"checks": []}, 503), (["gone"], 404), (None, 404)])
def test_what_is_no_error_of_the_dialect_stays(body: Any, status: int) -> None:
    assert answered(TYPE, body, status).media == body
