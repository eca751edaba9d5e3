"""A peer that restarts refuses what it granted a moment ago: silence for two minutes, for every peer alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.etcd.gateway import EtcdGateway
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.adapters.keystone.client import KeystoneClient
from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.promenade.teardown import PromenadeTeardown
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.domain.teardown.etcd_members import EtcdCluster, EtcdMember, MemberId, MemberState
from shipyard_api.http.restarts import LASTS, PeerRestarts
from shipyard_api.ports.errors import Refused, Unavailable
from shipyard_api.settings.types import Secret
from tests.peer import Answer, running
from tests.unit.tables import table

VERSIONS = {"x-openstack-ironic-api-minimum-version": "1.1", "x-openstack-ironic-api-maximum-version": "1.90"}
TOKEN = {"issued_at": "2026-11-21T09:51:12.000000Z", "expires_at": "2026-11-21T10:51:12.000000Z", "catalog": []}


class Etcd(EtcdGateway):
    """A gateway that asks one member."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.member = EtcdMember(MemberId("7"), "m1", MemberState.HEALTHY, client_urls=(url,))

    def remove_one(self) -> object:
        access = EtcdAccess("e", (), request_timeout=10)
        return self.remove(access, EtcdCluster("e", (self.member,)), MemberId("8"), ())


def keystone(url: str) -> KeystoneClient:
    return KeystoneClient(
        KeystoneOptions(auth_url=f"{url}/v3", user="shipyard", password=Secret("any"), project="service")
    )


PEERS: dict[str, tuple[Callable[[str], Any], Callable[[Any], object], str, Answer]] = {
    "Kubernetes": (
        lambda url: KubernetesClient(Address(url), first_pause=0.0),
        KubernetesClient.nodes,
        "GET /api/v1/nodes",
        Answer(200, {"kind": "NodeList", "items": []}),
    ),
    "etcd": (Etcd, Etcd.remove_one, "POST /v3/cluster/member/remove", Answer(200, {})),
    "Ironic": (IronicClient, lambda peer: list(peer.nodes(["name"])), "GET /v1/nodes", Answer(200, {"nodes": []})),
    "MAAS": (partial(MaasClient, api_key="a:b:c"), MaasClient.tags, "GET /tags/", Answer(200, [])),
    "Drydock": (partial(DrydockClient, token=lambda: "any"), DrydockClient.nodes, "GET /nodes", Answer(200, [])),
    "Deckhand": (
        partial(DeckhandClient, token=lambda: "any"),
        DeckhandClient.revisions,
        "GET /revisions",
        Answer(200, {"results": []}),
    ),
    "Keystone": (
        keystone,
        KeystoneClient.grant,
        "POST /v3/auth/tokens",
        Answer(201, {"token": TOKEN}, {"X-Subject-Token": "t"}),
    ),
    "Promenade": (
        partial(PromenadeTeardown, token=lambda: "any"),
        lambda peer: peer.check_available(NodeName("n1")),
        "OPTIONS /nodes/n1/drain",
        Answer(200, {}),
    ),
}


@pytest.mark.parametrize("status", [401, 403, 404])
@table(("make", "ask", "route", "granted"), PEERS)
def test_a_refusal_is_silence_only_from_a_peer_that_granted_it_before(
    make: Callable[[str], Any], ask: Callable[[Any], object], route: str, granted: Answer, status: int
) -> None:
    refused = Answer(status, b"Forbidden")
    with running() as peer:
        peer.on("GET /v1", Answer(200, {}, VERSIONS))
        peer.on("POST /v3beta/cluster/member/remove", refused)
        peer.on(route, refused)
        client = make(peer.url)
        with pytest.raises((Refused, Unavailable)) as caught:
            ask(client)
        assert "restarting" not in str(caught.value)

        peer.on(route, granted)
        ask(client)
        peer.on(route, refused)
        with pytest.raises(Unavailable, match=f"answered {status}"):
            ask(client)
        peer.on(route, granted)
        ask(client)
        if hasattr(client, "close"):
            client.close()


def test_a_restart_lasts_two_minutes_from_the_first_refusal_of_an_operation_on() -> None:
    now = [0.0]
    peer = PeerRestarts(lambda: now[0])

    def answered(status: int, operation: str = "GET /nodes/n1", *, at: float) -> bool:
        now[0] = at
        return peer.may_restart(status, operation, right=operation.partition(" ")[0])

    assert not answered(403, at=0), "never granted"
    assert not answered(200, at=1)
    assert answered(403, at=10)
    assert answered(401, "POST /tasks", at=11), "the caller is known"
    assert not answered(403, "POST /tasks", at=12), "nothing was ever posted"
    assert answered(403, "GET /nodes/n2", at=13), "another object, the same right"
    assert not answered(404, "GET /nodes/n2", at=14), "nothing was ever found there"
    assert answered(404, at=9 + LASTS)
    assert not answered(403, at=10 + LASTS), "the time is over"
    assert not answered(500, at=11 + LASTS)
    assert not answered(200, at=12 + LASTS)
    assert answered(403, at=13 + LASTS), "the next restart"
    assert answered(403, at=14 + 3 * LASTS), "one after a while in which nothing was asked"
