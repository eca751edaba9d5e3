"""What is left of secrets in what a peer says: nothing, in whatever form it says them."""

import base64
import json
from urllib.parse import quote

from shipyard_api.domain.nodes import NodeName
from shipyard_api.observing.scrubbing import DEEPEST, LONGEST, MOST_PASSING, Scrubber, without_users
from shipyard_api.ports.provisioner import JobId, JobReport, JobState
from tests.unit.tables import every_row

SECRET = 'canary"/ö\\8 x'
FORMS = {
    "as it is": SECRET,
    "in an address": quote(SECRET, safe=""),
    "in a path": quote(SECRET),
    "as JSON": json.dumps(SECRET),
    "as Python": repr(SECRET),
}


@every_row(FORMS)
def test_a_secret_is_hidden_in_every_form(form: str) -> None:
    scrubber = Scrubber(SECRET)

    assert scrubber(f"cannot use {form}, sorry").startswith("cannot use ")
    assert "***" in scrubber(f"cannot use {form}, sorry")
    assert "canary" not in scrubber(f"cannot use {form}, sorry")


ADDRESSES = {
    "a password": ("http://ann:canary%2Fpw@h/{revision}", ["canary/pw", "canary%2Fpw", "ann:canary%2Fpw@"]),
    "an at sign": ("deckhand+http://ann:canary@pw@h/1", ["canary@pw", "http://ann:canary@pw@h"]),
    "a user alone": ("https://canary-token@h/1", ["canary-token"]),
    "as Drydock proves itself": ("http://ann:canary%20pw@h", [base64.b64encode(b"ann:canary pw").decode()]),
}


@every_row(ADDRESSES)
def test_what_an_address_proves_with_is_hidden_and_its_user_is_not(address: str, quoted: list[str]) -> None:
    scrubber = Scrubber()
    scrubber.hide_address(address)

    assert [scrubber(f"ann said {one}") for one in quoted if one in scrubber(f"ann said {one}")] == []
    assert all(scrubber(f"ann said {one}").startswith("ann said ") for one in quoted)


def test_an_address_without_a_user_hides_nothing() -> None:
    scrubber = Scrubber()
    scrubber.hide_address("http://host:9000/api/a@b")
    assert scrubber("host:9000 and a@b") == "host:9000 and a@b"


def test_users_and_passwords_of_any_address_are_left_out() -> None:
    assert Scrubber()("GET http://me:pw@w@h:80/a?b=c@d failed") == "GET http://***@h:80/a?b=c@d failed"
    assert without_users("ftp://me@h/ //x:y@z") == "ftp://***@h/ //***@z"


def test_what_looks_like_a_secret_is_left_out_too() -> None:
    assert Scrubber()("X-Auth-Token: canary") == "X-Auth-Token: ***"


def test_a_secret_is_hidden_before_a_text_is_cut() -> None:
    for longest in range(20):
        assert "canary"[:4] not in Scrubber("canary-secret")("said canary-secret", longest)
        assert "canary"[:4] not in Scrubber("canary-secret").line("said\ncanary-secret", longest)


def test_a_text_without_end_is_cut_where_nothing_is_cut_through() -> None:
    told = Scrubber()(f"{'ab ' * (LONGEST // 3 - 3)}http://me:canary{'x' * LONGEST}@h")
    assert len(told) <= LONGEST
    assert "canary" not in told
    assert Scrubber()("x" * (LONGEST + 1)) == ""


def test_words_that_are_too_short_to_be_secrets_stay() -> None:
    assert Scrubber("", "on", "any")("any node is on") == "any node is on"


def test_of_two_secrets_the_longer_one_is_hidden_whole() -> None:
    assert Scrubber("canary", "canary-and-more")("canary-and-more, canary") == "***, ***"


def test_tokens_come_and_go_and_other_secrets_stay() -> None:
    scrubber = Scrubber("password-of-ours")
    for number in range(10 * MOST_PASSING):
        scrubber.hide_passing(f"token-{number:03}")

    assert scrubber("password-of-ours, token-159, token-158") == "***, ***, ***"
    assert scrubber("token-000") == "token-000"


def test_a_value_is_read_through_to_its_bottom() -> None:
    value = {"a": [{"b": "canary-1"}, 1, None, True], "c": "fine"}
    assert Scrubber("canary-1").values(value) == {"a": [{"b": "***"}, 1, None, True], "c": "fine"}


def test_what_lies_too_deep_is_left_out() -> None:
    deep: list[object] = []
    for _ in range(10 * DEEPEST):
        deep = [deep]
    assert "***" in json.dumps(Scrubber().values(deep))


def test_json_that_is_not_read_stays_json() -> None:
    body = {"a": f"x {SECRET} y", "b": 'http://me:"pw@h/1', "c": "token: z", "d": "http://h/u@x", "e": 5}
    told = json.loads(Scrubber(SECRET).json(json.dumps(body)))
    assert told == body | {"a": "x *** y", "b": "http://***@h/1"}


def test_a_report_is_told_without_and_its_nodes_keep_their_names() -> None:
    n1 = NodeName("canary-1")
    report = JobReport(
        JobId("j"), JobState.ENDED, ok=False, failed=frozenset({n1}), reasons={n1: "no canary-1"}, message="a canary-1"
    )
    told = Scrubber("canary-1").report(report)
    assert (told.failed, told.reasons, told.message) == ({n1}, {n1: "no ***"}, "a ***")
