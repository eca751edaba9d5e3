"""What goes over the wire, how pages make one list, and what is tried again."""

from contextlib import closing
from typing import Any

import pytest

from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import LONGEST_TEXT, KubernetesClient
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from tests.peer import Answer, Peer

ROUTE = "GET /api/v1/nodes"
GONE = Answer(410, {"kind": "Status", "reason": "Expired", "code": 410, "message": "too old"})
TOKEN = "s3cret-token"


def page(*names: str, following: str = "") -> Answer:
    metadata = {"resourceVersion": "7"} | ({"continue": following} if following else {})
    items = [{"metadata": {"name": name}} for name in names]
    return Answer(200, {"kind": "NodeList", "apiVersion": "v1", "metadata": metadata, "items": items})


def names(peer: Peer, path: str = "", *, token: str = TOKEN, **options: Any) -> list[str]:
    client = KubernetesClient(Address(f"{peer.url}{path}", token=token), first_pause=0.0, **options)
    with closing(client):
        return [node["metadata"]["name"] for node in client.nodes()]


def fault(peer: Peer, **options: Any) -> PeerError:
    with pytest.raises(PeerError) as caught:
        names(peer, **options)
    return caught.value


def test_a_page_is_asked_for_as_json_with_the_token(peer: Peer) -> None:
    KubernetesClient(Address(peer.url)).close()
    assert peer.requests == []
    peer.on(ROUTE, page("n1", "n2"))
    assert names(peer) == names(peer, token="") == ["n1", "n2"]
    asked, without = peer.requests
    assert asked.query == [("limit", "500")]
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["accept-encoding"] == "identity"
    assert "authorization" not in without.headers


def test_a_url_keeps_its_own_path(peer: Peer) -> None:
    peer.on("GET /k8s/clusters/one/api/v1/nodes", page("n1"))
    for path in ("/k8s/clusters/one", "/k8s/clusters/one/"):
        assert names(peer, path) == ["n1"]


def test_pages_are_read_until_there_are_no_more(peer: Peer) -> None:
    peer.on(ROUTE, page("n1", "n2", following="a+/=&b"), page("n3", following="c"), page())
    assert names(peer, page=2) == ["n1", "n2", "n3"]
    queries = [dict(one.query) for one in peer.requests]
    assert queries == [{"limit": "2"}, {"limit": "2", "continue": "a+/=&b"}, {"limit": "2", "continue": "c"}]


def test_a_list_that_expires_meanwhile_is_read_from_its_beginning(peer: Peer) -> None:
    peer.on(ROUTE, page("n1", "gone", following="a"), GONE, page("n1", following="b"), page("n2"))
    assert names(peer) == ["n1", "n2"]
    assert [dict(one.query).get("continue") for one in peer.requests] == [None, "a", None, "b"]


def test_a_list_that_expires_again_and_again_or_leads_back_to_itself_is_given_up(peer: Peer) -> None:
    peer.on(ROUTE, *[page("n1", following="a"), GONE] * 3, page("n1", following="a"))
    for why in ("expired 3 times", "leads back"):
        error = fault(peer)
        assert isinstance(error, Unavailable)
        assert why in error.detail
    assert len(peer.requests) == 8


def test_entries_that_are_no_objects_are_passed_over(peer: Peer) -> None:
    lists = [{"items": [None, "n1", {"metadata": {"name": "n2"}}]}, {"metadata": {}, "items": None}]
    peer.on(ROUTE, *(Answer(200, {"kind": "NodeList", **each}) for each in lists))
    assert [names(peer) for _ in lists] == [["n2"], []]


def test_each_page_is_asked_for_three_times(peer: Peer) -> None:
    broken = Answer(500)
    peer.on(ROUTE, broken, page("n1", following="a"), broken, Answer(503), page("n2"), broken)
    assert names(peer) == ["n1", "n2"]
    peer.requests.clear()
    assert isinstance(fault(peer), Unavailable)
    assert len(peer.requests) == 3


def test_the_kind_of_a_failure_is_that_of_its_status(peer: Peer) -> None:
    kinds = dict.fromkeys((300, 302, 408, 500, 503, 599), Unavailable) | dict.fromkeys((400, 410, 499), Refused)
    for status, kind in kinds.items():
        peer.on(ROUTE, Answer(status, {"kind": "Status", "message": "no"}))
        error = fault(peer)
        assert type(error) is kind
        assert (error.code, error.said) == ((status, "no") if kind is Refused else (None, ""))
    for status in (429, 503):
        peer.on(ROUTE, Answer(status, {"kind": "Status"}, {"Retry-After": "7"}))
        error = fault(peer)
        assert isinstance(error, Busy)
        assert error.retry_after == 7


def test_another_list_than_the_one_asked_for_is_no_answer(peer: Peer) -> None:
    for status, body in (
        (200, {"kind": "PodList"}),
        (201, {"kind": "NodeList"}),
        (200, {"kind": "NodeList", "items": 7}),
    ):
        peer.on(ROUTE, Answer(status, body))
        assert f"answered {status}, but of kind {body['kind']}, not NodeList" in fault(peer).detail


def test_the_words_of_a_status_are_quoted_without_secrets(peer: Peer) -> None:
    echo = {"kind": "Status", "message": f"no right for Bearer {TOKEN}, {TOKEN}"}
    bodies: list[tuple[object, str]] = [
        ({"kind": "Status", "message": "no\nright"}, "answered 403: no right"),
        ({"kind": "Status"}, "answered 403 without a reason"),
        ({"kind": "Other", "message": "of somebody else"}, "answered 403 without a reason"),
        (["x"], "answered 403 without a reason"),
        (echo, "answered 403: no right for Bearer ***, ***"),
    ]
    for body, said in bodies:
        peer.on(ROUTE, Answer(403, body))
        error = fault(peer)
        assert isinstance(error, Refused)
        assert error.detail == f"{said}; Shipyard needs the right to list nodes"
    peer.on(ROUTE, Answer(403, {"kind": "Status", "message": "x" * 10_000}))
    assert len(fault(peer).detail) < LONGEST_TEXT + 80
