"""Compression for callers who accept it."""

import gzip

import pytest

from shipyard_api.api.http.compression import accepts_gzip
from tests.integration.api.in_process import Client
from tests.unit.api.http.conftest import BODY, Get
from tests.unit.tables import every_row


@pytest.mark.parametrize("form", ["data", "media", "large", "stream"])
def test_answers_are_compressed_for_those_who_accept_it(get: Get, form: str) -> None:
    plain, packed = get(form), get(form, Accept_Encoding="br, gzip")

    assert gzip.decompress(packed.content) == plain.content
    assert len(packed.content) < len(plain.content) / 20
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers.get("Content-Length", str(len(packed.content))) == str(len(packed.content))
    assert packed.headers.get("ETag") == plain.headers.get("ETag")
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in plain.headers


def test_small_answers_are_left_as_they_are(get: Get) -> None:
    assert "Content-Encoding" not in get("small", Accept_Encoding="gzip").headers


def test_the_answer_to_a_write_is_compressed_and_has_no_tag(client: Client) -> None:
    answer = client.simulate_post("/data", headers={"Accept-Encoding": "gzip", "If-None-Match": "*"})

    assert gzip.decompress(answer.content) == BODY
    assert "ETag" not in answer.headers


@every_row(
    [
        (None, False),
        ("", False),
        ("gzip", True),
        ("GZIP", True),
        ("x-gzip", True),
        ("deflate, gzip;q=1.0, *;q=0.5", True),
        ("gzip; q=0.001", True),
        ("gzip;q=0", False),
        ("gzip;q=0.000", False),
        ("*", True),
        ("*;q=0", False),
        ("identity, gzip;q=0, *", False),
        ("br", False),
        (",,;=", False),
    ],
)
def test_gzip_is_accepted_unless_its_weight_is_0(written: str | None, accepted: bool) -> None:
    assert accepts_gzip(written) is accepted
