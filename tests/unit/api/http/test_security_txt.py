"""The file of RFC 9116."""

import asyncio
from datetime import UTC, datetime

import falcon
import falcon.asgi
import pytest
from falcon.testing import create_asgi_req

from shipyard_api.api.http.security import SecurityTxt


def answered(contact: str) -> falcon.asgi.Response:
    response = falcon.asgi.Response()
    resource = SecurityTxt(contact, lambda: datetime(2026, 11, 26, 13, 5, 7, 9, UTC))
    asyncio.run(resource.on_get(create_asgi_req(), response))
    return response


def test_the_contact_is_there_with_an_end_in_whole_days() -> None:
    assert answered("mailto:security@example.org").text == (
        "Contact: mailto:security@example.org\nExpires: 2026-12-26T00:00:00Z\nPreferred-Languages: en\n"
    )


def test_without_a_contact_there_is_no_file() -> None:
    with pytest.raises(falcon.HTTPNotFound):
        answered("")
