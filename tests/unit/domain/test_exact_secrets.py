from shipyard_api.domain.exact_secrets import without_secrets
from tests.unit.tables import every_row

TEXTS = {
    "none": ("abc", [], "abc"),
    "one": ("a secret", ["secret"], "a ***"),
    "one, twice": ("secret secret", ["secret"], "*** ***"),
    "two": ("one two", ["one", "two"], "*** ***"),
    "one that begins another": ("pass and password", ["pass", "password"], "*** and ***"),
    "an empty one": ("abc", [""], "abc"),
}


@every_row(TEXTS)
def test_each_secret_is_masked_as_a_whole(text: str, secrets: list[str], shown: str) -> None:
    assert without_secrets(text, secrets) == shown
    assert without_secrets(text, secrets[::-1]) == shown
