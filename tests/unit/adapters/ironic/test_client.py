"""What goes over the wire, and what each kind of answer means."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from shipyard_api.adapters.ironic.client import IronicClient, Reply
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_simulators.tests.ironic.stories import RECORDINGS
from shipyard_simulators.tests.recorded import stories
from tests.peer import Answer, Peer, running
from tests.unit.tables import every_row


def versions(highest: str = "1.115", lowest: str = "1.1") -> Answer:
    head = "X-OpenStack-Ironic-API"
    return Answer(200, {}, {f"{head}-Minimum-Version": lowest, f"{head}-Maximum-Version": highest})


def wrapped(text: str, status: int) -> Answer:
    return Answer(status, {"error_message": json.dumps({"faultcode": "Client", "faultstring": text})})


@pytest.fixture
def ironic(peer: Peer) -> Peer:
    """A peer that speaks the newest version."""
    peer.on("GET /v1", versions())
    return peer


def client(peer: Peer, **options: Any) -> IronicClient:
    return IronicClient(peer.url, read_pause=0.0, **options)


def test_the_highest_version_that_both_speak_is_used(ironic: Peer) -> None:
    ironic.on("GET /v1/conductors", Answer(200, {"conductors": []}))
    for highest, lowest, used in (
        ("1.69", "1.1", "1.69"),
        ("1.115", "1.1", "1.115"),
        ("1.200", "1.115", "1.115"),
    ):
        ironic.on("GET /v1", versions(highest, lowest))
        client(ironic).conductors()
        assert ironic.requests[-1].headers["x-openstack-ironic-api-version"] == used
    for lowest, highest in (("1.1", "1.68"), ("1.116", "1.130")):
        ironic.on("GET /v1", versions(highest, lowest))
        with pytest.raises(Refused, match=rf"1\.{lowest[2:]} to {highest}; Shipyard needs one of 1\.69 to 1\.115"):
            client(ironic).version()
    for answer in (Answer(200, {}), versions("2.5"), versions("1.x"), versions("1.115", "")):
        ironic.on("GET /v1", answer)
        with pytest.raises(Refused, match="names no API versions; check that the address is Ironic's"):
            client(ironic).version()


def test_the_version_is_asked_for_once_and_again_after_a_406(ironic: Peer) -> None:
    ironic.on("GET /v1", versions("1.115"), versions("1.90"))
    ironic.on(
        "GET /v1/conductors", Answer(200, {"conductors": []}), wrapped("no", 406), Answer(200, {"conductors": []})
    )
    asking = client(ironic)
    asking.conductors()
    asking.conductors()
    assert len(ironic.asked("GET /v1")) == 2
    used = [one.headers["x-openstack-ironic-api-version"] for one in ironic.asked("GET /v1/conductors")]
    assert used == ["1.115", "1.115", "1.90"]


def test_a_version_that_stays_unacceptable_is_refused(ironic: Peer) -> None:
    ironic.on("PUT /v1/nodes/n1/states/provision", wrapped("not acceptable", 406))
    with pytest.raises(Refused, match="not acceptable"):
        client(ironic).provision("n1", {"target": "manage"})


def test_a_user_with_a_password_is_sent_as_http_basic_and_nobody_without_one(ironic: Peer) -> None:
    client(ironic).version()
    client(ironic, basic=("admin", "secret")).version()
    assert not {"authorization", "x-auth-token"} & ironic.requests[0].headers.keys()
    assert ironic.requests[1].headers["authorization"] == "Basic YWRtaW46c2VjcmV0"
    ironic.on("GET /v1/conductors", wrapped("admin with secret is unknown", 400))
    with pytest.raises(Refused, match=r"admin with \*\*\* is unknown"):
        client(ironic, basic=("admin", "secret")).conductors()


def test_a_token_that_has_ended_is_renewed_once(ironic: Peer) -> None:
    ended, route = Answer(401, {"error": {"code": 401, "message": "who?"}}), "PATCH /v1/nodes/n1"
    tokens = ["old", "new", "newest", "last"]
    ironic.on("GET /v1", Answer(401), versions())  # of a gateway that guards the versions, too
    ironic.on(route, ended, Answer(200, {}), ended)
    first, second = (client(ironic, token=lambda: tokens[0], renew_token=lambda: tokens.pop(0)) for _ in range(2))
    assert first.version() == 115
    assert first.patch("n1", []) == Reply(200)
    with pytest.raises(Refused, match="answered 401: who") as caught:
        second.patch("n1", [])
    assert caught.value.whole_site
    assert [one.headers["x-auth-token"] for one in ironic.asked(route)] == ["new", "newest", "newest", "last"]


def test_trouble_with_the_token_is_trouble_with_the_request_which_is_not_sent(ironic: Peer) -> None:
    def none() -> str:
        raise Refused("Keystone", "POST /auth/tokens", "no")

    with pytest.raises(Refused, match="Keystone POST /auth/tokens: no"):
        client(ironic, token=none).patch("n1", [])
    assert ironic.requests == []


def test_an_address_is_looked_up_at_the_first_request_until_it_is_found_and_kept(ironic: Peer) -> None:
    troubles = [Unavailable("Keystone", "POST /auth/tokens", "down")]
    looked_up: list[str] = []

    def found() -> str:
        looked_up.append("once")
        if troubles:
            raise troubles.pop()
        return f"{ironic.url}/v1"

    asking = IronicClient(found)
    assert looked_up == []
    with pytest.raises(Unavailable, match="down"):
        asking.version()
    asking.close()
    assert (asking.version(), asking.renew_version()) == (115, 115)
    assert looked_up == ["once"] * 2


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(Refused, match=r"ironic\.internal:6385 cannot be used"):
        IronicClient(lambda: "ironic.internal:6385").version()


def test_a_question_that_is_put_off_says_until_when(ironic: Peer) -> None:
    for status in (429, 503):
        ironic.on("GET /v1/nodes", Answer(status, b"", {"Retry-After": "7"}))
        with pytest.raises(Busy) as caught:
            list(client(ironic).nodes(("name",)))
        assert caught.value.retry_after == 7


def test_conductors_that_are_not_shown_to_our_user_are_none(ironic: Peer) -> None:
    ironic.on("GET /v1/conductors", wrapped("Access was denied: baremetal:conductor:get", 403))
    assert client(ironic).conductors() is None
    ironic.on("GET /v1/conductors", Answer(200, {"conductors": [{"hostname": "c1"}]}))
    assert client(ironic).conductors() == [{"hostname": "c1"}]


def test_a_list_is_followed_by_the_query_of_its_next_page_alone(ironic: Peer) -> None:
    following = "http://ironic.internal:6385/v1/nodes?limit=1000&marker=u1&fields=uuid"
    ironic.on(
        "GET /v1/nodes",
        Answer(200, {"nodes": [{"uuid": "u1"}], "next": following}),
        Answer(200, {"nodes": [{"uuid": "u2"}]}),
    )
    assert [node["uuid"] for node in client(ironic).nodes(("uuid",))] == ["u1", "u2"]
    first, second = ironic.asked("GET /v1/nodes")
    assert first.query == [("fields", "uuid"), ("limit", "1000")]
    assert second.query == [("limit", "1000"), ("marker", "u1"), ("fields", "uuid")]


def test_a_list_that_leads_back_to_itself_is_no_answer(ironic: Peer) -> None:
    ironic.on("GET /v1/nodes", Answer(200, {"nodes": [], "next": "http://h/v1/nodes?marker=u1"}))
    with pytest.raises(Unavailable, match="leads back"):
        list(client(ironic).nodes(("uuid",)))


def test_a_list_of_another_shape_is_no_answer(ironic: Peer) -> None:
    for body in ([], {"nodes": None}, "no json"):
        ironic.on("GET /v1/nodes", Answer(200, body))
        with pytest.raises(Unavailable):
            list(client(ironic).nodes(("uuid",)))


NODE = "/v1/nodes/n1"


# The address; the question; the name of a list in the answer; since which version; the statuses that mean: none.
@every_row(
    {
        "a node": (NODE, lambda asking: asking.node("n1", ("uuid",)), "", 69, (404,)),
        "a runbook": ("/v1/runbooks/r", lambda asking: asking.runbook("r"), "", 69, (404,)),
        "settings": (f"{NODE}/bios", lambda asking: asking.bios("n1"), "bios", 69, (400, 404)),
        "firmware": (f"{NODE}/firmware", lambda asking: asking.firmware("n1"), "firmware", 86, (400, 404)),
        "an inventory": (f"{NODE}/inventory", lambda asking: asking.inventory("n1"), "", 81, (404,)),
        "a history": (f"{NODE}/history", lambda asking: asking.history("n1"), "history", 78, (403, 404)),
    }
)
def test_what_ironic_does_not_have_is_none(
    path: str, ask: Callable[[IronicClient], object], name: str, since: int, absent: tuple[int, ...]
) -> None:
    entry, none = {"a": 1}, [] if name else None
    with running() as peer:
        peer.on("GET /v1", versions(f"1.{since - 1}"), versions(f"1.{since}"))
        if since > 69:
            assert ask(client(peer)) == none
        else:
            peer.on("GET /v1", versions(f"1.{since}"))
        assert peer.asked(f"GET {path}") == []
        for status in (400, 403, 404, 405):
            peer.on(f"GET {path}", wrapped("no", status))
            if status in absent:
                assert ask(client(peer)) == none
            else:
                with pytest.raises(Refused):
                    ask(client(peer))
        peer.on(f"GET {path}", Answer(404, b"<html>"))  # of a gateway
        if path.endswith(("/n1", "/history")):
            assert ask(client(peer)) == none
        else:
            with pytest.raises(Refused):
                ask(client(peer))
        peer.on(f"GET {path}", Answer(200, {name: [entry]} if name else entry), wrapped("no", 404), Answer(404))
        asking = client(peer)
        assert [ask(asking), ask(asking)] == [[entry] if name else entry, none]
        if not path.endswith("/history"):  # it was there a moment ago
            with pytest.raises(Unavailable):
                ask(asking)


def test_what_ironic_says_to_a_change_is_returned_and_sent_once(ironic: Peer) -> None:
    asking, statuses = client(ironic), (400, 403, 404, 409, 413, 501, 503, 505)
    ironic.on("PUT /v1/nodes/n1/states/provision", Answer(202))
    assert asking.provision("n1", {}) == Reply(202)  # what it refuses from now on might be a restart
    for status in statuses:
        ironic.on("PUT /v1/nodes/n1/states/provision", wrapped("because  of\nthis", status))
        assert asking.provision("n1", {"target": "manage"}) == Reply(status, "because of this")
    unusable: list[tuple[Answer, type[PeerError]]] = [
        (wrapped("database is locked", 500), Unavailable),
        *((Answer(status, b"<html>"), Unavailable) for status in (408, 502, 504)),
        (Answer(429, b"{}", {"Retry-After": "7"}), Busy),
        (Answer(202, b"{}", cut=1), Unavailable),
    ]
    for answer, error in unusable:
        ironic.on("PUT /v1/nodes/n1/states/provision", answer)
        with pytest.raises(error):
            asking.provision("n1", {"target": "manage"})
    assert len(ironic.changes) == 1 + len(statuses) + len(unusable)


def test_every_change_has_its_request(ironic: Peer) -> None:
    routes = {
        "PATCH /v1/nodes/u": lambda asking: asking.patch("u", [{"op": "add"}]),
        "PUT /v1/nodes/u/states/provision": lambda asking: asking.provision("u", {"target": "provide"}),
        "PUT /v1/nodes/u/states/power": lambda asking: asking.power("u", "power off"),
        "PUT /v1/nodes/v/states/power": lambda asking: asking.power("v", "rebooting"),
        "DELETE /v1/nodes/u/maintenance": lambda asking: asking.end_maintenance("u"),
        "DELETE /v1/nodes/u": lambda asking: asking.remove("u"),
    }
    asking = client(ironic)
    for route, change in routes.items():
        ironic.on(route, Answer(202))
        assert change(asking) == Reply(202)
        [request] = ironic.asked(route)
        if route.startswith("PUT"):
            assert set(request.json) == {"target"}


def test_a_token_and_a_password_together_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="not both"):
        IronicClient("http://h", token=lambda: "t", basic=("u", "p"))


def test_the_address_may_end_in_the_version(ironic: Peer) -> None:
    assert [IronicClient(ironic.url + suffix).version() for suffix in ("", "/", "/v1", "/v1/")] == [115] * 4


CHANGES: dict[str, Callable[[IronicClient], Reply]] = {
    "PATCH /v1/nodes/n1": lambda asking: asking.patch("n1", []),
    "DELETE /v1/nodes/n1": lambda asking: asking.remove("n1"),
    "PUT /v1/nodes/n1/states/provision": lambda asking: asking.provision("n1", {}),
    "PUT /v1/nodes/n1/states/power": lambda asking: asking.power("n1", "rebooting"),
}


def test_every_recorded_refusal_of_a_real_ironic_is_read(ironic: Peer) -> None:
    steps = [step for file in RECORDINGS.glob("*.yaml") for story in stories(file) for step in story["steps"]]
    # 406 and 500 are not answers about a node.
    refusals = [step for step in steps if "fault" in step and step["status"] not in (406, 500)]
    recorded = {
        (route, step["status"], step["fault"])
        for step in refusals
        if (route := re.sub(r"/n\d+", "/n1", step["ask"])) in CHANGES
    }
    asking = client(ironic)
    for route, status, fault in recorded:
        ironic.on(route, wrapped(fault, status))
        assert CHANGES[route](asking) == Reply(status, " ".join(fault.split())), fault
    assert {status for _, status, _ in recorded} == {400, 403, 409}
