"""What goes over the wire to MAAS, and what each kind of answer means."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest

from shipyard_api.adapters.maas.client import MaasClient, WrongState
from shipyard_api.ports.errors import Busy, Refused, Unavailable
from shipyard_simulators.maas import bson
from tests.peer import Answer, Peer, running
from tests.unit.tables import every_row

KEY = "consumerkey:tokenkey:tokensecret"
SECRETS = ("tokenkey", "tokensecret", "OAuth ")
MACHINE = {"system_id": "abc123", "hostname": "n1", "status": 4}
STATE_TEXT = "Commission is not available because of the current state of the node."

Call = Callable[[MaasClient], object]
READS: dict[str, tuple[str, Call]] = {
    "version": ("GET /version/", lambda maas: maas.version()),
    "whoami": ("GET /users/", lambda maas: maas.whoami()),
    "setting": ("GET /maas/", lambda maas: maas.setting("enable_disk_erasing_on_release")),
    "images": ("GET /boot-resources/", lambda maas: maas.boot_resources()),
    "racks": ("GET /rackcontrollers/", lambda maas: maas.rack_controllers()),
    "machines": ("GET /machines/", lambda maas: maas.every_machine(dict)),
    "machine": ("GET /machines/abc123/", lambda maas: maas.machine("abc123")),
    "events": ("GET /events/", lambda maas: maas.events("n1", limit=1)),
    "tags": ("GET /tags/", lambda maas: maas.tags()),
}
WRITES: dict[str, tuple[str, Call]] = {
    "operate": (
        "POST /machines/abc123/",
        lambda maas: maas.operate("abc123", "deploy", [("comment", "c")], marker="m"),
    ),
    "delete": ("DELETE /machines/abc123/", lambda maas: maas.delete_machine("abc123", marker="m")),
    "tag machines": ("POST /tags/t/", lambda maas: maas.tag_machines("t", ["abc123"], marker="m")),
}


def client(url: str, **options: Any) -> MaasClient:
    return MaasClient(url, **{"api_key": KEY, "read_pause": 0.0, **options})


def nonces(peer: Peer) -> list[str]:
    return [re.findall(r'oauth_nonce="(\w+)"', one.headers["authorization"])[0] for one in peer.requests]


def test_an_operation_is_a_signed_form_with_its_name_in_the_query(peer: Peer) -> None:
    peer.on("POST /machines/abc123/", Answer(200, MACHINE))
    fields = [("comment", "a b&c"), ("user_data", "I2Nsb3Vk")]
    assert client(peer.url).operate("abc123", "deploy", fields, marker="m") == MACHINE
    [request] = peer.requests
    assert request.query == [("op", "deploy")]
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qsl(request.body.decode()) == [("comment", "a b&c"), ("user_data", "I2Nsb3Vk")]
    assert request.headers["accept"] == "application/json"
    assert 'oauth_signature="%26tokensecret"' in request.headers["authorization"]


def test_a_machine_that_cannot_be_powered_off_is_answered_with_null(peer: Peer) -> None:
    peer.on("POST /machines/abc123/", Answer(200, b"null"))
    client(peer.url).operate("abc123", "power_off", [("comment", "c")])


def test_a_read_that_fails_is_repeated_with_a_new_nonce(peer: Peer) -> None:
    for title, (route, call) in READS.items():
        peer.requests.clear()
        with pytest.raises(Unavailable):
            call(client(peer.url))
        assert {f"{one.method} {one.path}" for one in peer.requests} == {route}
        assert route.endswith("/")
        assert len(set(nonces(peer))) == len(peer.requests) == 3, title


def test_a_read_is_not_repeated_before_the_time_that_maas_names(peer: Peer) -> None:
    peer.on("GET /machines/", Answer(504), Answer(200, [MACHINE]))
    assert client(peer.url).every_machine(dict) == [MACHINE]
    peer.on("GET /machines/", Answer(503, b"No rack controllers", {"Retry-After": "10"}))
    with pytest.raises(Busy) as caught:
        client(peer.url).every_machine(dict)
    assert caught.value.retry_after == 10
    assert len(peer.requests) == 3


def test_a_refused_signature_is_made_anew_once(peer: Peer) -> None:
    for title, (route, call) in (READS | WRITES).items():
        peer.requests.clear()
        peer.on(route, Answer(401, b"Authorization Error: Invalid nonce."))
        with pytest.raises(Refused, match="Invalid nonce"):
            call(client(peer.url))
        assert len(set(nonces(peer))) == len(peer.requests) == 2, title


FAULTS = {
    "400": (Answer(400, {"distro_series": ["'foo' is not valid."]}), Refused, "distro_series: 'foo'"),
    "400 state": (Answer(400, {"__all__": [STATE_TEXT]}), WrongState, "answered 400: Commission is not"),
    "400: a list": (Answer(400, ["one", "two"]), Refused, "answered 400: one; two"),
    "403": (Answer(403, b"Forbidden"), Refused, "answered 403: Forbidden"),
    "409: the state": (Answer(409, b"Can't deploy"), WrongState, "answered 409: Can't deploy"),
    "409: the transaction": (Answer(409, b"lost", {"Retry-After": "5"}), Busy, "answered 409: lost"),
    "410": (Answer(410, b""), Refused, "answered 410 without a reason"),
    "302: a login page": (Answer(302, b""), Refused, "answered 302"),
    "408: a proxy gave up": (Answer(408, b""), Unavailable, "answered 408"),
    "429": (Answer(429, b"", {"Retry-After": "5"}), Busy, "answered 429"),
    "500": (Answer(500, b"Oops\n  twice"), Unavailable, "answered 500: Oops twice"),
    "503: exhausted": (Answer(503, b"no address"), Unavailable, "answered 503: no address"),
    "503: no rack controller": (Answer(503, b"", {"Retry-After": "10"}), Busy, "answered 503"),
    "504: it may go on": (Answer(504, b""), Unavailable, "answered 504"),
    "an answer cut short": (Answer(200, b"{}", cut=1), Unavailable, "cut short"),
}


def test_a_write_is_sent_once_whatever_comes_back(peer: Peer) -> None:
    plays = [("operate", fault) for fault in FAULTS] + [(title, "504: it may go on") for title in WRITES]
    for title, fault in plays:
        (route, call), (answer, error, told) = WRITES[title], FAULTS[fault]
        peer.requests.clear()
        peer.on(route, answer)
        with pytest.raises(error, match=re.escape(told)) as caught:
            call(client(peer.url))
        assert type(caught.value) is error, fault
        assert (caught.value.system, caught.value.marker) == ("MAAS", "m")
        assert getattr(caught.value, "whole_site", False) is (answer.status in (302, 403)), fault
        assert len(peer.requests) == 1, fault
        assert not any(secret in f"{caught.value!r} {caught.value}" for secret in SECRETS)


def test_an_answer_of_another_shape_is_unavailable(peer: Peer) -> None:
    for title, (route, call) in READS.items():
        for body in (b"<html>", b'"text"', b"7"):
            peer.on(route, Answer(200, body))
            if title == "setting" and body != b"<html>":
                assert call(client(peer.url)) in ("text", 7)
                continue
            with pytest.raises(Unavailable):
                call(client(peer.url))


def test_what_is_gone_is_none_and_may_be_removed_again(peer: Peer) -> None:
    gone = Answer(404, b"No Machine matches the given query.")
    for route in ("GET /machines/abc123/", "DELETE /tags/t/", "GET /boot-resources/"):
        peer.on(route, gone)
    peer.on("DELETE /machines/abc123/", Answer(204), gone)
    maas = client(peer.url)
    assert maas.machine("abc123") is None
    assert maas.boot_resources() is None
    peer.on("GET /boot-resources/", Answer(410))
    assert client(peer.url).boot_resources() is None
    for _ in range(2):
        maas.delete_machine("abc123")
    assert [one.body for one in peer.asked("DELETE /machines/abc123/")] == [b"", b""]
    maas.delete_tag("t")
    peer.on("DELETE /tags/t/", Answer(409, b"in use"))
    with pytest.raises(Refused, match="in use"):
        maas.delete_tag("t")


def test_the_version_is_shown_to_everybody_and_proves_no_right(peer: Peer) -> None:
    peer.on("GET /version/", Answer(200, {"version": "3.5"}))
    maas = client(peer.url)
    assert maas.version() == "3.5"
    for status in (401, 403):
        peer.on("GET /tags/", Answer(status))
        with pytest.raises(Refused):
            maas.tags()


def test_details_are_read_from_a_document_and_are_none_of_no_machine(peer: Peer) -> None:
    peer.on("GET /machines/abc123/", Answer(200, bson.dumps({"lshw": b"<list/>"})), Answer(404))
    maas = client(peer.url)
    assert [maas.details("abc123", dict) for _ in range(2)] == [{"lshw": b"<list/>"}, {}]
    assert peer.requests[0].query == [("op", "details")]


# Listing


@every_row([(0, 0, 0), (1, 1, 1), (8, 8, 1), (9, 1, 0)])
def test_the_hardware_of_machines_takes_one_list_rather_than_many_requests(
    machines: int, requests: int, names: int
) -> None:
    """Each name fills a request; ``names``: in each of them."""
    with running() as peer:
        peer.on("GET /machines/", Answer(200, [{**MACHINE, "cpu_count": 4}]))
        maas = client(peer.url)
        hostnames = [f"{number}".ljust(5980, "n") for number in range(machines)]
        found = list(maas.hardware(hostnames, ("hostname", "cpu_count")))
        assert found == [{"hostname": "n1", "cpu_count": 4}] * requests
        assert maas.requests_for(hostnames) == requests
        assert [len(request.query) for request in peer.requests] == [names] * requests


def test_few_machines_are_asked_for_by_name(peer: Peer) -> None:
    peer.on("GET /machines/", Answer(200, [MACHINE]))
    assert list(client(peer.url).machines({"n2", "n1"})) == [MACHINE]
    assert [one.query for one in peer.requests] == [[("hostname", "n1"), ("hostname", "n2")]]


MANY_FIELDS: dict[str, Any] = {**MACHINE, "owner": "admin", "locked": True, "tag_names": ["a", "b"]}
LISTS: dict[str, tuple[Any, list[Any]]] = {
    "none": ([], []),
    "what is not read": ([{**MANY_FIELDS, "interface_set": [{"links": []}], "cpu_count": 4}], [MANY_FIELDS]),
    "null": ([{**MACHINE, "owner": None}], [MACHINE]),
    "no machine": ([MACHINE, "text", None], [MACHINE]),
    "a number that is none": (b'[{"system_id": "abc123", "hostname": "n1", "status": 4, "x": NaN}]', [MACHINE]),
}


def test_a_list_has_the_fields_that_are_read(peer: Peer) -> None:
    for title, (shown, machines) in LISTS.items():
        peer.on("GET /machines/", Answer(200, shown))
        found = list(client(peer.url).machines({"n1"}))
        assert [{key: one[key] for key in one if key in machines[0]} for one in found] == machines, title
    for odd in ({}, None, b"[", b'"\xff"'):
        peer.on("GET /machines/", Answer(200, odd))
        with pytest.raises(Unavailable):
            list(client(peer.url).machines({"n1"}))


def test_many_machines_are_asked_for_in_turns(peer: Peer) -> None:
    peer.on("GET /machines/", Answer(200, [MACHINE]))
    for count, requests in ((0, 0), (200, 1), (2_000, 7)):
        peer.requests.clear()
        names = {f"cab07r{number:04}" for number in range(count)}
        assert list(client(peer.url).machines(names)) == [MACHINE] * requests
        assert {value for one in peer.requests for _, value in one.query} == names
        assert all(sum(len(f"{key}={value}&") for key, value in one.query) <= 6000 for one in peer.requests)
    peer.requests.clear()
    ids = {f"id{number:04}" for number in range(2_000)}
    assert list(client(peer.url).machines_not_in(["commissioning", "testing"], ids)) == [MACHINE] * 4
    excluded = [("not_status", "commissioning"), ("not_status", "testing")]
    assert all(one.query[:2] == excluded for one in peer.requests)
    assert [value for one in peer.requests for _, value in one.query[2:]] == sorted(ids)
    assert all(sum(len(f"{key}={value}&") for key, value in one.query) <= 6000 for one in peer.requests)


# Tags


def test_tags_have_comments(peer: Peer) -> None:
    peer.on("GET /tags/", Answer(200, [{"name": "a", "comment": "c"}, {"name": "b", "comment": None}, {}]))
    assert client(peer.url).tags() == {"a": "c", "b": ""}


def test_a_tag_that_exists_is_left_as_it_is_and_one_that_maas_does_not_want_refused(peer: Peer) -> None:
    peer.on(
        "POST /tags/", Answer(400, {"name": ["Tag with this Name already exists."]}), Answer(403, b"administrators")
    )
    peer.on("GET /tags/", Answer(200, [{"name": "t"}]), Answer(200, []))
    client(peer.url).create_tag("t", "c")
    with pytest.raises(Refused, match="administrators"):
        client(peer.url).create_tag("t", "c")


def test_machines_are_tagged_with_one_request(peer: Peer) -> None:
    peer.on("POST /tags/t/", Answer(200, {"added": 2, "removed": 0}))
    client(peer.url).tag_machines("t", ["abc123", "def456"])
    [request] = peer.requests
    assert request.query == [("op", "update_nodes")]
    assert parse_qsl(request.body.decode()) == [("add", "abc123"), ("add", "def456")]


def test_warnings_of_a_machine_are_asked_for(peer: Peer) -> None:
    peer.on("GET /events/", Answer(200, {"count": 1, "events": [{"id": 7}]}))
    assert client(peer.url).events("n1", limit=1) == [{"id": 7}]
    wanted = [("op", "query"), ("hostname", "n1"), ("level", "WARNING"), ("limit", "1")]
    assert peer.requests[0].query == wanted


def test_events_are_counted_by_their_ids(peer: Peer) -> None:
    peer.on("GET /events/", *(Answer(200, {"events": [{"id": each} for each in ids]}) for ids in ((), (7,), (7, 9))))
    maas = client(peer.url)
    assert [maas.newest_event() for _ in range(3)] == [0, 7, 9]
    assert maas.events_after("n1", 6) == [{"id": 7}, {"id": 9}]
    wanted = [("op", "query"), ("hostname", "n1"), ("after", "6"), ("limit", "200")]
    assert peer.requests[-1].query == wanted
    peer.on("GET /events/", Answer(200, {"events": [{"id": "9"}]}))
    with pytest.raises(Unavailable, match="an event lacks a valid id"):
        maas.newest_event()
