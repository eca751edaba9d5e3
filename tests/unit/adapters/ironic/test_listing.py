"""What a listing of Ironic's nodes keeps of the one before."""

from datetime import UTC, datetime
from typing import Any

import pytest

from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.ironic.listing import Listing
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import Operation, Work
from tests.peer import Answer, Peer

N1, N2, N3 = map(NodeName, ("n1", "n2", "n3"))
WORK = [Work(Operation.DEPLOY_NODES, "revision:1", nodes=(N1, N2))]


def node(name: NodeName, state: str, **more: Any) -> dict[str, Any]:
    return {"uuid": f"u-{name}", "name": name, "provision_state": state, **more}


def listing(peer: Peer, *pages: list[Any] | str) -> Listing:
    head = "X-OpenStack-Ironic-API"
    peer.on("GET /v1", Answer(200, {}, {f"{head}-Minimum-Version": "1.1", f"{head}-Maximum-Version": "1.115"}))
    peer.on("GET /v1/nodes", *(Answer(200, page if isinstance(page, str) else {"nodes": page}) for page in pages))
    return Listing(IronicClient(peer.url, read_pause=0.0), lambda: datetime(2026, 11, 26, tzinfo=UTC), 10.0)


def test_only_what_changed_is_read_again(peer: Peer) -> None:
    waiting = [node(N1, "deploying"), node(N2, "deploying")]
    # A change of the mark leaves the times of the node as they were; the third is without a name, as a new one is.
    marked = node(N2, "deploying", extra={"shipyard": {"marker": "m"}})
    reading = listing(peer, waiting, [waiting[0], marked, {"uuid": "u3"}], [node(N1, "active"), marked])
    first, second, third = (reading.fresh(WORK) for _ in range(3))
    assert set(first) == set(second) == set(third) == {N1, N2}
    assert (second[N1] is first[N1], second[N2] is third[N2]) == (True, True)
    assert (first[N2].mark, second[N2].mark is not None) == (None, True)
    assert [third[N1].state, third[N2].state] == ["active", "deploying"]


def test_a_node_that_has_gone_is_not_kept_for_its_text(peer: Peer) -> None:
    one = node(N1, "active")
    reading = listing(peer, [one], [], [one])
    assert [set(reading.fresh(WORK)) for _ in range(3)] == [{N1}, set(), {N1}]


def test_what_is_no_node_is_left_out_and_what_is_no_json_no_answer(peer: Peer) -> None:
    assert set(listing(peer, [17, None, "text", [], node(N3, "active")]).fresh(WORK)) == {N3}
    for text in ('{"nodes": [{"name": "\\ud800"}]}', '{"nodes": [{"name": NaN}]}', '{"nodes": [{]}'):
        with pytest.raises(Unavailable):
            listing(peer, text).fresh(WORK)
