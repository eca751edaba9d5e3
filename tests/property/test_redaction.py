"""Secrets of any characters are hidden to their last one, however deep they are quoted, and nothing behind them is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from shipyard_api.observing.logs import redacted, shortened

AWKWARD = ['"', "'", "\\", "a", "b ", ",", ":", "=", "{", "]", "\n", "é", "password", "token=", "***", "://", "@"]
# Nothing is nobody's secret.
secrets = st.text(min_size=1) | st.lists(st.sampled_from(AWKWARD), min_size=1, max_size=12).map("".join)


def quoted(value: object, levels: int) -> str:
    text = json.dumps(value)
    for _ in range(levels):
        text = json.dumps([text, "then"])
    return text


@given(secrets, st.integers(0, 3))
def test_in_json(secret: str, levels: int) -> None:
    text = quoted({"password": secret, "n": 1}, levels)

    assert redacted(text) == quoted({"password": "***", "n": 1}, levels)


@given(secrets)
def test_as_python_shows_it(secret: str) -> None:
    shown = redacted(repr({"password": secret, b"token": secret.encode(errors="replace"), "n": [1]}))

    assert shown.replace('"', "'") == repr({"password": "***", b"token": b"***", "n": [1]})


@given(secrets)
def test_a_whole_list(secret: str) -> None:
    assert redacted(json.dumps({"passwords": [secret, {"a": secret}], "n": 1})) == '{"passwords": ***, "n": 1}'


@given(secrets, st.text(), st.integers(0, 60))
def test_what_is_hidden_stays_so(secret: str, behind: str, longest: int) -> None:
    for text in (secret, f"token={secret} {behind}", f"password: {secret}"):
        once = redacted(text)
        assert redacted(once) == once
        assert len(shortened(text, longest)) <= len(text) + 60
