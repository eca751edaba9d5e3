"""What goes over the wire, how pages make one list, and what is tried again."""

from contextlib import closing
from typing import Any

import pytest

from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import LONGEST_TEXT, KubernetesClient
from shipyard_api.ports.errors import PeerError, Refused, Unavailable
from tests.peer import Answer, Peer
from tests.unit.tables import table

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


def test_nothing_is_asked_before_it_is_needed(peer: Peer) -> None:
    KubernetesClient(Address(peer.url)).close()
    assert peer.requests == []


def test_a_page_is_asked_for_as_json_with_the_token(peer: Peer) -> None:
    peer.on(ROUTE, page("n1", "n2"))
    assert names(peer) == ["n1", "n2"]
    [asked] = peer.requests
    assert asked.query == [("limit", "500")]
    assert asked.headers["authorization"] == f"Bearer {TOKEN}"
    assert asked.headers["accept-encoding"] == "identity"


def test_without_a_token_none_is_sent(peer: Peer) -> None:
    peer.on(ROUTE, page())
    names(peer, token="")
    assert "authorization" not in peer.requests[0].headers


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


def test_a_list_that_expires_again_and_again_is_given_up(peer: Peer) -> None:
    peer.on(ROUTE, *[page("n1", following="a"), GONE] * 10)
    error = fault(peer)
    assert isinstance(error, Unavailable)
    assert "expired 3 times" in error.detail
    assert len(peer.requests) == 6


def test_a_list_that_leads_back_to_itself_is_given_up(peer: Peer) -> None:
    peer.on(ROUTE, page("n1", following="a"))
    error = fault(peer)
    assert isinstance(error, Unavailable)
    assert "leads back" in error.detail


def test_entries_that_are_no_objects_are_passed_over(peer: Peer) -> None:
    peer.on(ROUTE, Answer(200, {"kind": "NodeList", "items": [None, "n1", {"metadata": {"name": "n2"}}]}))
    assert names(peer) == ["n2"]


def test_no_items_at_all_are_an_empty_list(peer: Peer) -> None:
    peer.on(ROUTE, Answer(200, {"kind": "NodeList", "metadata": {}, "items": None}))
    assert names(peer) == []


BROKEN = {"500": Answer(500), "503": Answer(503), "cut": Answer(200, b"{}", cut=1)}


@table("broken", BROKEN)
def test_what_fails_quickly_is_asked_again(peer: Peer, broken: Answer) -> None:
    peer.on(ROUTE, broken, broken, page("n1"))
    assert names(peer) == ["n1"]


@table("broken", BROKEN)
def test_what_goes_on_failing_is_asked_three_times(peer: Peer, broken: Answer) -> None:
    peer.on(ROUTE, broken)
    assert isinstance(fault(peer), Unavailable)
    assert len(peer.requests) == 3


def test_a_peer_that_hangs_up_without_an_answer_is_asked_three_times(peer: Peer) -> None:
    assert isinstance(fault(peer), Unavailable)
    assert len(peer.requests) == 3


def test_another_page_is_tried_as_often_as_the_first(peer: Peer) -> None:
    peer.on(ROUTE, Answer(500), page("n1", following="a"), Answer(500), Answer(500), page("n2"))
    assert names(peer) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"kind": "Status", "message": "no\nright"}, "answered 403: no right"),
        ({"kind": "Status"}, "answered 403 without a reason"),
        ({"kind": "Other", "message": "of somebody else"}, "answered 403 without a reason"),
        ("<html>", "answered 403 without a reason"),
        (["x"], "answered 403 without a reason"),
        (
            {"kind": "Status", "message": f"no right for Bearer {TOKEN}, {TOKEN}"},
            "answered 403: no right for Bearer ***, ***",
        ),
    ],
    ids=["status", "silent", "other", "page", "list", "echo"],
)
def test_the_words_of_a_status_are_quoted_without_secrets(peer: Peer, body: object, said: str) -> None:
    peer.on(ROUTE, Answer(403, body))
    error = fault(peer)
    assert isinstance(error, Refused)
    assert error.detail == f"{said}; Shipyard needs the right to list nodes"


def test_long_words_are_cut(peer: Peer) -> None:
    peer.on(ROUTE, Answer(403, {"kind": "Status", "message": "x" * 10_000}))
    assert len(fault(peer).detail) < LONGEST_TEXT + 80


def test_what_the_environment_says_of_proxies_does_not_count(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    peer.on(ROUTE, page("n1"))
    assert names(peer) == ["n1"]
