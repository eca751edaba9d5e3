"""Bodies that cannot be kept or read again are refused before they are looked at."""

from shipyard_api.api.http.errors import NotJson
from shipyard_api.api.http.reading import parse_value
from tests.refusals import refuses


def test_a_body_has_at_most_a_million_values() -> None:
    assert len(parse_value("/plans", ("[" + "1," * 999_999 + "1]").encode())) == 1_000_000

    with refuses(NotJson) as refused:
        parse_value("/plans", ('{"a": [' + "[1]," * 500_000 + "[1]]}").encode())
    assert refused.value.data["detail"] == "more than 1,000,000 values"
