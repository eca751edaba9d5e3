"""What is left of secrets in a line of the log: nothing."""

import json
import logging

import pytest

from shipyard_api.logs import JsonLines, redacted, redacted_query

CANARY = "canary-Zq8.x_y"
TEXTS = {
    "an address with a password": f"GET http://me:{CANARY}@peer:8080/api?x=1 failed",
    "a password with a reserved character": f"postgresql://me:{CANARY}@{CANARY}@db/site",
    "a token as a user": f"https://{CANARY}@peer/design",
    "a token as a parameter": f"GET /design?token={CANARY}&x=1",
    "a header": f"X-Auth-Token: {CANARY}",
    "a header as Python shows it": f"{{'X-Auth-Token': '{CANARY}', 'Accept': '*/*'}}",
    "bytes as Python shows them": f"(b'Authorization', b'Basic {CANARY}')",
    "authorization": f"Authorization: Bearer {CANARY}",
    "authorization, basic": f"authorization: basic {CANARY}==",
    "a scheme alone": f"header 'Bearer {CANARY}' is not understood",
    "a setting": f"password={CANARY} host=db",
    "a setting as JSON": f'{{"db_password": "{CANARY}", "host": "db"}}',
    "an API key": f"api_key={CANARY}",
    "one of our own tokens": f"curl -H 'X: shipyard_{CANARY.replace('.', '_')}_0123456789'",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_secret_in_a_text_is_left_out(text: str) -> None:
    assert "canary" not in redacted(text)
    assert "***" in redacted(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://peer:8080/api/v1.0/tasks",
        "GET /api/v1.0/actions/01M7XV7VKPMDHXJVA7WMC7P6XP of ann@example.com",
        "policy file read again",
        "3 tokens are known, none of them expired",
        "https://peer/a?b=c@d",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert redacted(text) == text


def test_the_rest_of_a_text_stays() -> None:
    assert redacted(f"GET http://me:{CANARY}@peer:80/a?b=c took 3 s") == "GET http://***@peer:80/a?b=c took 3 s"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", ""),
        ("force=true&buffermode=append", "force=true&buffermode=append"),
        ("token=a&force=true", "token=***&force=true"),
        ("X-Auth-Token=a%26b", "X-Auth-Token=***"),
        ("%70assword=a", "%70assword=***"),
        ("token", "token"),
        ("url=http://me:a@b/", "url=http://***@b/"),
    ],
)
def test_a_query_is_told_without_the_values_of_secrets(query: str, told: str) -> None:
    assert redacted_query(query) == told


def test_fields_of_a_record_are_looked_through_whatever_they_hold() -> None:
    extra = {
        "token": CANARY,
        "auth_header": {
            "Authorization": f"Basic {CANARY}",
            "inner": [f"http://a:{CANARY}@b/", ("password=" + CANARY,)],
        },
        "error": ValueError(f"http://a:{CANARY}@b/"),
        "count": 3,
        "fine": True,
        "none": None,
    }
    error = RuntimeError(f"cannot reach http://me:{CANARY}@peer")
    told = (type(error), error, None)
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "trouble: %s", (f"token={CANARY}",), told)
    record.__dict__.update(extra)

    line = JsonLines().format(record)

    assert "canary" not in line
    read = json.loads(line)
    assert (read["count"], read["fine"], read["none"], read["token"]) == (3, True, None, "***")
    assert "RuntimeError: cannot reach http://***@peer" in read["exception"]


def test_a_line_is_one_line() -> None:
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "a\nb", (), None)

    assert json.loads(JsonLines().format(record))["message"] == "a\nb"
    assert "\n" not in JsonLines().format(record)
