"""The signature of a request, and the key it is made with."""

import re

import pytest

from shipyard_api.adapters.maas.client import ApiKey, signer
from tests.unit.tables import every_row

KEY = "consumerkey:tokenkey:tok/en secret"


def test_the_header_is_the_one_maas_wants() -> None:
    header = ApiKey.parse(KEY).header(nonce="d1f0", timestamp=1767345678)
    assert header == (
        'OAuth realm="OAuth", oauth_version="1.0", oauth_signature_method="PLAINTEXT", '
        'oauth_consumer_key="consumerkey", oauth_token="tokenkey", oauth_signature="%26tok%2Fen%20secret", '
        'oauth_timestamp="1767345678", oauth_nonce="d1f0"'
    )


def test_no_two_requests_have_the_same_nonce() -> None:
    sign = signer(ApiKey.parse(KEY), now=lambda: 5.9)
    headers = [sign()["Authorization"] for _ in range(100)]
    assert len({re.search(r'oauth_nonce="(\w+)"', header) and header for header in headers}) == 100
    assert all('oauth_timestamp="5"' in header for header in headers)


@every_row(["", "a:b", "a:b:", "a:b:c:d", ":b:c", "a:b:c\nd", "a:b:ü"])
def test_what_is_no_key_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="three parts") as caught:
        ApiKey.parse(text)
    assert not text or text not in str(caught.value)


def test_a_key_with_space_around_it_is_a_key() -> None:
    assert ApiKey.parse(" a:b:c\n") == ApiKey("a", "b", "c")


def test_a_key_does_not_show_its_secrets() -> None:
    assert repr(ApiKey.parse("shown:hidden1:hidden2")) == "ApiKey(consumer='shown')"
