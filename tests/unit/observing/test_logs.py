"""What is left of secrets in a line of the log, nothing; and lines that cannot be written."""

import errno
import io
import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.observing.logs import (
    AUDIT,
    JsonLines,
    configure,
    redacted,
    redacted_query,
    shortened,
    shortened_query,
)
from tests.unit.tables import every_row

CANARY = "canary-Zq8.x_y"
WORDS = f"correct {CANARY} battery-canary"
QUOTED = f'{CANARY}", \\"it\'s": a canary\\'
NEXT = "host is db"  # what stands behind a secret, and stays
PEM = f"-----BEGIN RSA PRIVATE KEY-----\nMII{CANARY}\ncanary==\n-----END RSA PRIVATE KEY-----"


def json_in_json(value: object, levels: int) -> str:
    text = json.dumps(value)
    for _ in range(levels):
        text = json.dumps({"told": text, "then": NEXT})
    return text


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
    "an address whose password has what no address has": f"postgresql://me:{CANARY}/a?b#c@db/site",
    "an item of headers": f"headers['X-Auth-Token'] = '{CANARY}'",
    "a header that cannot be sent": f"reserved character(s) in header value: '{CANARY}\\n'",
    "a header of several": f"curl -H 'X-Auth-Token: {CANARY}' -H 'Cookie: a={CANARY}; b=canary' http://peer",
    "a cookie": f"Cookie: sid={CANARY}; csrf=canary",
    "a cookie in the environment": f"HTTP_COOKIE=sid={CANARY}; csrf=canary",
    "a cookie that is set": f'Set-Cookie: sid="{CANARY}"; Path=/; other=canary',
    "a cookie as Python shows it": f"('Set-Cookie', 'sid={CANARY}; Path=/')",
    "what nothing is known of": f"Authorization: Negotiate {CANARY} canary",
    "MAAS, all of it": f'Authorization: OAuth oauth_token="{CANARY}", oauth_signature="%26{CANARY}", x="canary"',
    "MAAS, the signature": f'OAuth oauth_version="1.0", oauth_signature="%26{CANARY}", oauth_nonce="3"',
    "MAAS, the token": f'oauth_signature_method="PLAINTEXT", oauth_token="{CANARY}"',
    "MAAS, in JSON": json.dumps({"sent": f'OAuth oauth_token="{CANARY}", oauth_signature="%26{CANARY} canary"'}),
    "MAAS, as a parameter": f"oauth_signature=%26{CANARY}&oauth_token={CANARY}",
    "an environment": f"AWS_SECRET_ACCESS_KEY={CANARY}/canary AWS_REGION=a",
    "an environment, words": f"AWS_SECRET_ACCESS_KEY={WORDS}",
    "our own keys": f"SHIPYARD_SECRETS_KEYS={CANARY}",
    "a secret key": f"secret_key={CANARY}",
    "a secret key, words": f"secret_key = {WORDS}",
    "a private key": f"private_key: {CANARY}",
    "a private key, words": f"privateKey: {WORDS}",
    "a kubeconfig": f"client-key-data: {CANARY}==",
    "pwd": f"pwd={CANARY}",
    "pwd, words": f"user=a;Pwd={WORDS};host=b",
    "passwd": f"passwd: {CANARY}",
    "passwd, words": f"passwd: {WORDS}",
    "pass": json.dumps({"pass": WORDS}),
    "adminPass": json.dumps({"adminPass": CANARY}),
    "adminPass, words": json.dumps({"server": {"adminPass": WORDS}}),
    "an arrow": f'"password" => "{WORDS}"',
    "a parameter, words": f"host=db password={WORDS} user=me",
    "an entry, words": f"password: {WORDS}",
    "an entry with quotes inside": f'password: it\'s "{CANARY}"canary',
    "in quotes": f"got 'password: {WORDS}', and stopped",
    "quotes that are no quotes of it": f"'token=' password='{WORDS}'",
    "a list": f"passwords: [canary, {CANARY}]",
    "a list, words": f"passwords: [canary a, '{WORDS}]', \"{WORDS}\", [canary]]",
    "a list as JSON": json.dumps({"passwords": [WORDS, QUOTED, {"canary": "]"}]}),
    "a list as Python shows it": repr({"passwords": [WORDS, QUOTED.encode(), ("canary]",)]}),
    "a list of lines": f"passwords:\n- {WORDS}\n- canary\nhost: a",
    "an indented list of lines": f"- passwords:\n    - {WORDS}\n\n    - canary\n  host: a",
    "a block": f"  password: |-\n    {WORDS}\n\n    canary\n  host: a",
    "a block of a token": f"token: >\r\n  {CANARY}\r\nhost: a",
    "a folded line": f"password: correct\n  {WORDS}\nhost: a",
    "an object": json.dumps({"credentials": {"user": "canary", "pin": [CANARY]}}),
    "a number": '{"password": 7391canary}',
    "JSON": json.dumps({"password": WORDS, "host": "db"}),
    "JSON with quotes": json.dumps({"password": QUOTED, "host": "db"}),
    "JSON in JSON": json_in_json({"password": CANARY}, 1),
    "JSON in JSON, words": json_in_json({"password": WORDS}, 1),
    "JSON in JSON with quotes": json_in_json({"password": QUOTED}, 1),
    "JSON in JSON in JSON": json_in_json({"password": WORDS, "x": 1}, 2),
    "JSON in JSON in JSON with quotes": json_in_json({"password": QUOTED, "x": 1}, 2),
    "JSON in JSON in JSON in JSON": json_in_json({"passwords": [QUOTED, WORDS]}, 3),
    "JSON in JSON as Python shows it": repr(json_in_json({"password": QUOTED, "x": "it's"}, 2)),
    "JSON that is cut off": json_in_json({"password": WORDS}, 2)[:-40],
    "Python": repr({"password": CANARY}),
    "Python, words": repr({"password": WORDS, "host": "db"}),
    "Python, quotes": repr({"password": QUOTED, "host": "db"}),
    "Python, the other quotes": repr({"password": f"it's {WORDS}", "host": "db"}),
    "Python, bytes": repr({"password": WORDS.encode(), b"token": QUOTED.encode()}),
    "a key in a file": f"cannot read {PEM} of a",
    "a key in a file of another kind": PEM.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    "a key in JSON": json.dumps({"private_key": PEM, "key": PEM}),
    "a key as Python shows it": repr([PEM.encode()]),
    "a key that is cut off": f"it is -----BEGIN PRIVATE KEY-----\n{CANARY}\ncanary",
}


@every_row(TEXTS)
def test_a_secret_in_a_text_is_left_out(text: str) -> None:
    assert "canary" not in redacted(text)
    assert "***" in redacted(text)


@every_row(["db_pass=123", "--pass=123", "pass=12 monkeys", "token: 12", "pass=1234567", "pwd=123"])
def test_a_number_that_is_no_count_is_left_out(text: str) -> None:
    assert "***" in redacted(text)
    assert "12" not in redacted(text)


@every_row(
    [
        "http://peer:8080/api/v1.0/tasks",
        "GET /api/v1.0/actions/01M7XV7VKPMDHXJVA7WMC7P6XP of ann@example.com",
        "policy file reloaded",
        "3 tokens are known, none of them expired",
        "https://peer/a?b=c@d",
        "http://peer:8080/a?b=c@d and http://[::1]:8080/a@b",
        "the token has expired; ask for another",
        "the token 10b2a3c4-0000-4000-8000-00000000cafe is none of ours",
        "tokens of ann (id 7) were revoked, passwords and cookies stay",
        'FATAL: password authentication failed for user "shipyard"',
        "basic authentication is required, or Bearer credentials",
        "[secrets] keys is not set: there is nothing to encrypt with",
        "encrypt it with ([secrets] keys), see secrets.keys_file: /run/keys",
        "secrets cannot be opened with any of the keys: 3 of revision 12",
        "methods: password, token, application_credential",
        'expected one of "password", "token"',
        "token_id: 7, secret_name: db, password_file=/run/p, token_cache_seconds = 2",
        'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_nonce="3"',
        "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
        "3 passes, bypass: yes, compass=n",
        "ok: [n1] => pass=12 fail=0",
        "tokens: 128",
        "secrets: 3, credentials: 0",
        "X-Context-Marker: 10b2a3c4-0000-4000-8000-00000000cafe",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert redacted(text) == text


@every_row(
    [
        (f"GET http://me:{CANARY}@peer:80/a?b=c took 3 s", "GET http://***@peer:80/a?b=c took 3 s"),
        (f'"GET /a?token={CANARY}&b=c HTTP/1.1" 200', '"GET /a?token=***&b=c HTTP/1.1" 200'),
        (f"token={CANARY}, and then token: {CANARY}; more", "token=***, and then token: ***; more"),
        (f"host=db password={WORDS} user=me", "host=db password=*** user=me"),
        (f"{{'password': '{WORDS}', 'host': 'db'}}", "{'password': '***', 'host': 'db'}"),
        (json.dumps({"password": QUOTED, "n": [1]}), '{"password": "***", "n": [1]}'),
        (json_in_json({"password": QUOTED, "n": 1}, 1), json_in_json({"password": "***", "n": 1}, 1)),
        (json_in_json({"password": QUOTED, "n": 1}, 3), json_in_json({"password": "***", "n": 1}, 3)),
        (f"passwords: [{WORDS}, a], n: 1", "passwords: ***, n: 1"),
        (f"- password: |\n    {CANARY}\n  n: 1", "- password: ***\n  n: 1"),
        (f"token:\n{NEXT}", f"token:\n{NEXT}"),
        (f"a {PEM} b", "a *** b"),
        (f"Cookie: a={CANARY}\r\n{NEXT}", f"Cookie: ***\r\n{NEXT}"),
        ("the token: expired", "the token: ***"),  # nobody knows whether that is one
    ],
)
def test_the_rest_of_a_text_stays(text: str, left: str) -> None:
    assert redacted(text) == left
    assert redacted(left) == left


@every_row(TEXTS)
def test_wherever_a_text_is_cut_no_secret_comes_to_light(text: str) -> None:
    for longest in range(len(text)):
        kept, _, note = shortened(f"see {text}", longest).rpartition("[")
        assert not set(pieces(CANARY)) & set(pieces(kept)), (longest, kept)
        assert note == f"{len(text) + 4 - longest} characters left out]"


@every_row(
    [
        f"force=true&token={CANARY}&x=1",
        f"x=http://me:{CANARY}@peer/&y=1",
        f"x=http%3A%2F%2Fme%3A{CANARY}%40peer%2F&y=1",
        f"x=http%3A%2F%2Fme%3Aa%2F{CANARY}%40peer%2F&y=1",
        f"x=Bearer+{CANARY}&y=1",
        f"x=Bearer%20{CANARY}&y=1",
        f"x=shipyard_{CANARY.replace('.', '_')}_0123456789",
        f"x=password%3D{CANARY}+canary&y=1",
        f"x=%22password%22%3A%22{CANARY}%22&y=1",
    ],
)
def test_wherever_a_query_is_cut_no_secret_comes_to_light(query: str) -> None:
    for longest in range(len(query) + 1):
        shown = shortened_query(query, longest)
        assert not set(pieces(CANARY)) & set(pieces(shown)), (longest, shown)


def pieces(text: str) -> list[str]:
    """All that is long enough to give something away."""
    return [text[at : at + 4] for at in range(len(text) - 3)]


HOSTILE: dict[str, Callable[[int], str]] = {
    "one long word with hyphens": lambda size: "a-" * (size // 2),
    "names and brackets": lambda size: "token:[" * (size // 7),
    "names and backslashes": lambda size: ("token" + "\\" * 20 + '"') * (size // 26),
    "an address without an end": lambda size: "a://" + "b" * size,
    "quotes in a value": lambda size: 'password:"' + '"a' * (size // 2),
    "escaped quotes in a value": lambda size: 'password:"' + '\\\\\\"' * (size // 4),
    "backslashes in a list": lambda size: "password:[" + "\\" * size,
    "spaces in a value": lambda size: "password=a" + " " * size + "b",
    "spaces behind a scheme": lambda size: "basic" + " " * size,
    "brackets": lambda size: "password:" + "[" * size,
    "commas": lambda size: "password=a" + ",b " * (size // 3),
    "lines": lambda size: "password:\r\n " * (size // 12),
    "dashes": lambda size: "- " * (size // 2) + "token:\n" + "- " * (size // 2),
    "keys that do not end": lambda size: "-----BEGIN PRIVATE KEY-----" + "-----END " * (size // 9),
}


@every_row(HOSTILE)
def test_a_hostile_text_costs_no_time(hostile: Callable[[int], str]) -> None:
    """What grows with the square of the length takes seven seconds for the shortest of these."""
    text = hostile(20_000)

    for look in (redacted, redacted_query, lambda text: shortened_query(text, 18_000)):
        before = time.process_time()
        look(text)
        assert time.process_time() - before < 3


def test_a_hostile_name_of_a_field_or_a_parameter_costs_no_time() -> None:
    before = time.process_time()
    assert redacted_query(f"{'token!' * 20_000}a=b").endswith("a=b")
    assert line_of("x", fields={"a-" * 50_000: "b"})
    assert time.process_time() - before < 3


def line_of(message: str, *, fields: dict[str, Any] | None = None, error: str = "") -> str:
    raised = failing(error) if error else None
    told = (type(raised), raised, raised.__traceback__) if raised else None
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, message, (), told)
    record.__dict__.update(fields or {})
    return JsonLines().format(record)


def failing(text: str) -> RuntimeError:
    """An error that was raised, so that it says where."""
    with pytest.raises(RuntimeError) as caught:
        fail(text)
    return caught.value


def fail(text: str) -> None:
    raise RuntimeError(text)


@every_row(
    [
        ("", ""),
        ("force=true&buffermode=append", "force=true&buffermode=append"),
        ("token=a&force=true", "token=***&force=true"),
        ("X-Auth-Token=a%26b", "X-Auth-Token=***"),
        ("%70assword=a", "%70assword=***"),
        ("token", "token"),
        ("url=http://me:a@b/", "url=http://***@b/"),
        ("url=http%3A%2F%2Fme%3Aa%40b%2F", "url=***"),
        ("a=token%3Dabc&b=c%2Fd+e", "a=***&b=c%2Fd+e"),
        (
            "secret_key=a b&pwd=c&adminPass=d&oauth_signature=e",
            "secret_key=***&pwd=***&adminPass=***&oauth_signature=***",
        ),
        ('a=password:"&force=true', 'a=password:"&force=true'),
        ("a=token:[b&force=true", "a=token:***&force=true"),
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
        "credentials": {"user": "canary", "parts": [CANARY]},
        "passwd": 7391,
        "cookie": CANARY.encode(),
        "raw": {"password": WORDS.encode(), f"http://a:{CANARY}@b/": 1},
        "secret": "",
    }
    error = RuntimeError(f"cannot reach http://me:{CANARY}@peer")
    told = (type(error), error, None)
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "trouble: %s", (f"token={CANARY}",), told)
    record.__dict__.update(extra)

    line = JsonLines().format(record)

    assert "canary" not in line
    read = json.loads(line)
    assert (read["count"], read["fine"], read["none"], read["token"]) == (3, True, None, "***")
    assert (read["credentials"], read["passwd"], read["secret"]) == ("***", "***", "")
    assert "RuntimeError: cannot reach http://***@peer" in read["exception"]


def test_a_line_is_one_line() -> None:
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "a\nb", (), None)

    assert json.loads(JsonLines().format(record))["message"] == "a\nb"
    assert "\n" not in JsonLines().format(record)


def test_a_long_message_is_told_from_its_beginning() -> None:
    read = json.loads(line_of(f"begins {'a' * 100_000} ends"))

    assert read["message"].startswith("begins aaa")
    assert read["message"].endswith(f"a[{100_012 - 16_000} characters left out]")


def test_a_long_exception_is_told_with_its_beginning_and_its_end() -> None:
    read = json.loads(line_of("x", error=f"begins {'a ' * 50_000} password: {WORDS}\nends"))

    assert read["exception"].startswith("Traceback")
    assert read["exception"].endswith("password: ***\nends")
    assert "characters left out]" in read["exception"]
    assert len(read["exception"]) < 17_000


def test_a_long_list_is_told_as_a_text() -> None:
    read = json.loads(line_of("x", fields={"nodes": [f"n{number}" for number in range(10_000)], "last": 1}))

    assert read["nodes"].startswith('["n0", "n1", ')
    assert read["nodes"].endswith(', "n9999"]')
    assert "characters left out]" in read["nodes"]
    assert (len(read["nodes"]) < 17_000, read["last"]) == (True, 1)


@every_row(["a", '"', "\\", "\0", "é", "\N{SLEEPING SYMBOL}", "\ud83d"])
def test_no_line_is_longer_than_it_may_be(character: str) -> None:
    fields = {f"field_{number}": character * 20_000 for number in range(10)}
    fields["nested"] = {"a": [character * 20_000] * 5}
    line = line_of(character * 200_000, fields=fields, error=character * 300_000)

    assert len(line) < 70_000
    read = json.loads(line)
    assert set(fields) < set(read)
    assert "characters left out]" in read["field_9"]


class Disk(io.StringIO):
    """A file whose disk is full for a while."""

    full = False

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


@pytest.fixture
def root_logger() -> Iterator[None]:
    """Restore what ``configure`` changes."""
    root, audit = logging.getLogger(), logging.getLogger(AUDIT)
    before = root.handlers[:], root.level, audit.handlers[:], audit.level, audit.propagate
    yield
    for handler in audit.handlers:
        handler.close()
    root.handlers[:], root.level, audit.handlers[:], audit.level, audit.propagate = before


@pytest.mark.usefixtures("root_logger")
def test_lines_that_cannot_be_written_are_counted_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk()
    monkeypatch.setattr(sys, "stdout", disk)
    configure("info")
    for text in ("one", "two", "three", "four", "five"):
        disk.full = text in ("two", "three")
        logging.getLogger("x").info(text)

    lines = [json.loads(line) for line in disk.getvalue().splitlines()]
    assert [line["message"] for line in lines] == ["one", "log lines could not be written", "four", "five"]
    assert (lines[1]["lines"], lines[1]["reason"]) == (2, "No space left on device")


@pytest.mark.usefixtures("root_logger")
def test_an_audit_log_that_cannot_be_opened_again_stops_no_request(tmp_path: Path) -> None:
    """As when it was rotated, and its directory is gone."""
    own = tmp_path / "own"
    own.mkdir()
    configure("info", str(own / "audit"))
    logging.getLogger(AUDIT).info("one")
    (own / "audit").rename(tmp_path / "audit.1")
    own.rmdir()
    logging.getLogger(AUDIT).info("two")
    own.mkdir()
    logging.getLogger(AUDIT).info("three")

    lines = [json.loads(line) for line in (own / "audit").read_text().splitlines()]
    assert [line["message"] for line in lines] == ["log lines could not be written", "three"]
    assert lines[0]["lines"] == 1
