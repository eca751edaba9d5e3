"""How long each client waits for its peer, how often it reads again, and how much of an answer it takes; no client
accepts a certificate unverified or keeps a connection once it is closed."""

from collections.abc import Callable
from typing import Any

import pytest

from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.links import DrydockLinks
from shipyard_api.adapters.etcd.client import EtcdClient
from shipyard_api.adapters.ironic.client import IronicClient
from shipyard_api.adapters.keystone import KeystoneOptions
from shipyard_api.adapters.keystone.client import KeystoneClient
from shipyard_api.adapters.kubernetes.access import Address
from shipyard_api.adapters.kubernetes.client import KubernetesClient
from shipyard_api.adapters.maas.client import MaasClient
from shipyard_api.adapters.promenade.design_validation import PromenadeValidation
from shipyard_api.adapters.promenade.teardown import PromenadeTeardown
from shipyard_api.adapters.prometheus.queries import PrometheusQueries
from shipyard_api.adapters.webhooks import Target
from shipyard_api.adapters.webhooks.receiver import WebhookReceiver
from shipyard_api.domain.teardown.etcd_documents import EtcdAccess
from shipyard_api.http import HttpClient
from shipyard_api.http.restarts import PeerRestarts
from shipyard_api.settings.types import Secret
from tests.unit.tables import every_row

KIB, MIB = 1024, 1024**2
KEYSTONE = KeystoneOptions(auth_url="http://p/v3", user="u", password=Secret("any"), project="p")
TARGET = Target("ops", "http://p/hook", (Secret("s" * 32),), frozenset())


def token() -> str:
    return "any"


# Seconds to connect, for a part and for the whole of an answer; before the first repetition; attempts; bytes.
@every_row(
    {
        "Deckhand": (lambda: DeckhandClient("http://p", token=token), [(5, 610, 1220, 0.2, 3, 256 * MIB)]),
        "Drydock": (
            lambda: DrydockClient("http://p", token=token),
            [(20, 60, 120, 0.2, 3, 256 * MIB), (20, 300, 600, 0.2, 3, 256 * MIB)],
        ),
        "Drydock's links": (lambda: DrydockLinks("http://p", token=token), [(5, 10, 10, 0.2, 1, 32 * MIB)]),
        "etcd": (
            lambda: EtcdClient("http://p", EtcdAccess("e", ()), None, 6.0, PeerRestarts()),
            [(3, 6, 6, 0.2, 1, 4 * MIB)],
        ),
        "Ironic": (lambda: IronicClient("http://p"), [(10, 60, 120, 0.2, 3, 64 * MIB)]),
        "Keystone": (lambda: KeystoneClient(KEYSTONE), [(1.2, 15, 15, 0.2, 3, 64 * MIB)]),
        "Kubernetes": (lambda: KubernetesClient(Address("http://p")), [(5, 30, 60, 0.2, 3, 64 * MIB)]),
        "MAAS": (lambda: MaasClient("http://p", api_key="a:b:c"), [(20, 150, 600, 0.5, 3, 256 * MIB)]),
        "Prometheus": (lambda: PrometheusQueries("http://p"), [(5, 15, 30, 0.2, 3, 64 * MIB)]),
        "Promenade": (lambda: PromenadeTeardown("http://p", token=token), [(5, 60, 60, 0.2, 3, 64 * MIB)]),
        "Promenade's validation": (
            lambda: PromenadeValidation("http://p", token=token),
            [(5, 300, 600, 0.2, 3, 64 * MIB)],
        ),
        "a webhook": (lambda: WebhookReceiver(TARGET, 7.0), [(7, 7, 7, 0.2, 3, 64 * KIB)]),
    }
)
def test_an_answer_is_bounded(make: Callable[[], Any], expected: list[tuple[float, ...]]) -> None:
    made, closed = list[tuple[float, ...]](), list[HttpClient]()
    unseen = HttpClient.__init__

    def seen(client: HttpClient, *args: Any, **options: Any) -> None:
        names = ("connect_timeout", "read_timeout", "total_timeout", "first_pause", "read_attempts", "max_body")
        made.append(tuple(options.get(name, (unseen.__kwdefaults__ or {})[name]) for name in names))
        assert options.get("verify", True) is True
        unseen(client, *args, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HttpClient, "__init__", seen)
        patched.setattr(HttpClient, "close", lambda client: closed.append(client))
        client = make()
        assert made == expected
        if hasattr(client, "close"):
            client.close()
            assert len(closed) == len(made)
