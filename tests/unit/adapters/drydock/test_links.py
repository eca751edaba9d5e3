"""Text that is fetched from Drydock: only from there, only so much, and without passwords."""

import json

import pytest

from shipyard_api.adapters.drydock import links as module
from shipyard_api.adapters.drydock.links import DrydockAddresses, DrydockLinks
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from tests.peer import PATIENT, Answer, Peer

TASK = "GET /tasks/job-1"


def links(peer: Peer, *, read_timeout: float = PATIENT) -> DrydockLinks:
    return DrydockLinks(peer.url, token=lambda: "ours", connect_timeout=PATIENT, read_timeout=read_timeout)


def place(peer: Peer) -> str:
    return DrydockAddresses(peer.url).job("job-1")


def test_text_comes_as_it_is_to_who_shows_our_token(peer: Peer) -> None:
    text = '{"task_id":  "job-1",\n "message": "n\\u00f6 <root>"}'
    peer.on(TASK, Answer(200, text))

    assert links(peer).fetch(place(peer)) == text
    [request] = peer.requests
    assert request.headers["x-auth-token"] == "ours"
    assert request.query == [("subtaskerrors", "true")]


def test_every_place_of_ours_can_be_fetched(peer: Peer) -> None:
    places = DrydockAddresses(f"{peer.url}/")
    peer.on("GET /nodes/a%2F..%20c/builddata", Answer(200, []))
    peer.on("GET /tasks/..%2Fx", Answer(200, []))

    assert DrydockLinks(f"{peer.url}/", token=lambda: "").fetch(places.node("a/.. c")) == "[]"
    assert len(peer.requests) == 1


ELSEWHERE = {
    "another host": "http://169.254.169.254/latest",
    "another scheme": "file:///etc/passwd",
    "a host that begins alike": "{host}.example.org/api/v1.0/tasks/job-1",
    "ours as the user": "{host}@example.org/api/v1.0/tasks/job-1",
    "outside of the API": "{host}/simulator/log",
    "a prefix that begins alike": "{base}1/tasks/job-1",
    "the base itself": "{base}",
    "upwards": "{base}/../../simulator/log",
    "upwards, escaped": "{base}/%2e%2E/simulator/log",
    "a node of that name": "{base}/nodes/../builddata",
    "upwards in a segment that is split by who decodes it": "{base}/tasks/..%2Fx",
    "nothing": "",
}


def test_no_other_address_is_ever_asked(peer: Peer) -> None:
    host = peer.url.removesuffix("/api/v1.0")
    for title, address in ELSEWHERE.items():
        with pytest.raises(Refused, match="the address is not Drydock's"):
            links(peer).fetch(address.format(host=host, base=peer.url))
        assert peer.requests == [], title


PASSWORDS = {
    "a task": ({"design_ref": "http://drydock:s3cret@shipyard/revisions/5"}, "http://***@shipyard/revisions/5"),
    "only a user": ({"design_ref": "https://s3cret@shipyard/5"}, "https://***@shipyard/5"),
    "an at sign in it": ({"log": "GET http://u:s3cret@s3cret@h/5 failed"}, "GET http://***@h/5 failed"),
    "a quotation mark in it": ({"log": 'http://u:"s3cret@h/5'}, "http://***@h/5"),
    "deeper": ([{"a": [{"b": "deckhand+http://u:s3cret@h"}]}], "deckhand+http://***@h"),
}


def test_passwords_in_addresses_are_left_out(peer: Peer) -> None:
    for title, (body, left) in PASSWORDS.items():
        peer.on(TASK, Answer(200, body))
        text = links(peer).fetch(place(peer))
        assert "s3cret" not in text, title
        assert left in json.dumps(json.loads(text), ensure_ascii=False), title
    none = {"a": "// to ann@example.org", "b": "//", "c": "d@e", "f": "http://h/u@x"}
    peer.on(TASK, Answer(200, none))
    assert json.loads(links(peer).fetch(place(peer))) == none


TROUBLE: dict[str, tuple[Answer, type[PeerError], str]] = {
    "not there": (Answer(404, {"type": "error"}), Refused, "answered 404"),
    "token refused": (Answer(401), Refused, "answered 401"),
    "elsewhere": (Answer(302, headers={"Location": "http://127.0.0.1:9/"}), Refused, "answered 302"),
    "broken": (Answer(500, "Unexpected error."), Unavailable, "answered 500"),
    "away": (Answer(503), Unavailable, "answered 503"),
    "busy": (Answer(429), Busy, "answered 429"),
    "a page of a proxy": (Answer(200, "<html>log in</html>"), Unavailable, "not in JSON"),
    "not UTF-8": (Answer(200, b'"\xff"'), Unavailable, "not in UTF-8"),
    "cut off": (Answer(200, {"a": 1}, cut=3), Unavailable, "cut short"),
}


def test_what_cannot_be_had_is_said_once(peer: Peer) -> None:
    for title, (answer, kind, says) in TROUBLE.items():
        peer.requests.clear()
        peer.on(TASK, answer)
        with pytest.raises(kind, match=says):
            links(peer).fetch(place(peer))
        assert len(peer.requests) == (2 if answer.status == 401 else 1), title  # the second has a new token


def test_an_answer_larger_than_we_keep_is_not_read(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST", 100)
    peer.on(TASK, Answer(200, ["x" * 100]))

    with pytest.raises(Unavailable, match="larger than 100 bytes"):
        links(peer).fetch(place(peer))
