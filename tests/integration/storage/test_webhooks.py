"""Webhooks on a real Postgres and a real HTTP server: in order, at least once, whatever the target does."""

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.adapters.webhooks import Target, key_of
from shipyard_api.adapters.webhooks.receiver import WebhookReceiver, standard_signature
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.steps import StepStarted
from shipyard_api.observing.logs import JsonLines
from shipyard_api.ports.state.journal import EventFormat
from shipyard_api.settings.types import Secret
from shipyard_api.storage import journal
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.webhooks import PAUSE, DeliverEvents
from tests.integration.api import description
from tests.integration.storage.test_following import AT, write
from tests.peer import Answer, Peer, running, seconds_for

SECRET, PATH = "a-secret-of-some-length-for-hooks", "/hooks/unguessable"
OK = Answer(204)


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running() as peer:
        peer.on(f"POST {PATH}", OK)
        yield peer


@pytest.fixture
def target(store: Store, engine: sa.Engine, peer: Peer, create: Callable[..., ActionId]) -> "Site":
    return Site(store, engine, peer, create("a_step"))


class Site:
    """An action, a webhook and its workers."""

    def __init__(self, store: Store, engine: sa.Engine, peer: Peer, action: ActionId) -> None:
        self.store, self.engine, self.peer, self.action = store, engine, peer, action
        self.worker("first")()  # the webhook begins behind what is there by now

    def worker(
        self, name: str, *, kinds: frozenset[str] = frozenset(), seconds: float = 10.0, **more: Any
    ) -> DeliverEvents:
        url = f"http://127.0.0.1:{self.peer.server_port}{PATH}"
        target = Target("ops", url, more.pop("secrets", (Secret(SECRET),)), kinds, **more)
        return DeliverEvents(self.store, WebhookReceiver(target, seconds, lambda: 1_790_000_000.9), name)

    def happen(self, *texts: str) -> None:
        with self.engine.begin() as connection:
            write(connection, self.action, *texts)

    def due(self) -> None:
        """Let the pause after a failure be over."""
        with self.engine.begin() as connection:
            connection.execute(sa.text("UPDATE webhooks SET due_at = now()"))

    @property
    def arrived(self) -> list[str]:
        return [one.json["text"].removeprefix("Test: ") for one in self.peer.requests]


def test_events_arrive_in_order_and_signed(target: Site) -> None:
    deliver = target.worker("w1")
    target.happen("a", "b")
    deliver()
    target.happen("c")
    deliver()
    deliver()

    assert target.arrived == ["a", "b", "c"]
    first = target.peer.requests[0]
    assert first.json == {
        "id": int(first.headers["x-shipyard-delivery"]),
        "action_id": target.action,
        "action": "deploy_site",
        "at": "2026-11-22T07:00:00.000+00:00",
        "step": None,
        "kind": "noted",
        "text": "Test: a",
    }
    assert (first.headers["x-shipyard-event"], first.headers["x-shipyard-timestamp"]) == ("noted", "1790000000")
    signed = hmac.new(SECRET.encode(), b"1790000000." + first.body, hashlib.sha256).hexdigest()
    assert first.headers["x-shipyard-signature"] == f"sha256={signed}"


def test_each_secret_signs_as_standard_webhooks_have_it(target: Site) -> None:
    # Key, id, timestamp, body and signature of a run of the reference implementation (standardwebhooks 1.0.0).
    assert (
        standard_signature(
            key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
    secrets = (Secret(f"whsec_{base64.b64encode(b'n' * 24).decode()}"), Secret(SECRET))
    target.happen("a")
    target.worker("w1", secrets=secrets)()

    (sent,) = target.peer.requests
    signed = f"{sent.headers['webhook-id']}.{sent.headers['webhook-timestamp']}.".encode() + sent.body
    assert sent.headers["webhook-id"] == sent.headers["x-shipyard-delivery"]
    assert sent.headers["webhook-signature"].split() == [
        f"v1,{base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()}"
        for key in (b"n" * 24, SECRET.encode())
    ]


def test_a_target_may_get_cloud_events(target: Site) -> None:
    target.happen("a")
    target.worker("w1", format=EventFormat.CLOUDEVENTS)()

    (sent,) = target.peer.requests
    assert sent.headers["content-type"] == "application/cloudevents+json; charset=UTF-8"
    found = dict(sent.json)
    data = found.pop("data")
    assert found == {
        "specversion": "1.0",
        "id": sent.headers["webhook-id"],
        "source": f"/api/v1.0/actions/{target.action}",
        "type": "shipyard.noted",
        "time": "2026-11-22T07:00:00.000+00:00",
        "datacontenttype": "application/json",
    }
    assert (data["action_id"], data["text"]) == (target.action, "Test: a")
    pointer = "#/webhooks/event/post/requestBody/content"
    for kind, value in (
        ("application~1cloudevents+json", sent.json),
        ("application~1json", {"id": 1, **data}),
    ):
        assert list(description.validator(f"{pointer}/{kind}/schema").iter_errors(value)) == []


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param([Answer(500, "broken")], id="error"),
        pytest.param([Answer(302, headers={"Location": "http://127.0.0.1:9/"})], id="redirect"),
        pytest.param([Answer(429, headers={"Retry-After": "7"})], id="too many"),
        pytest.param([Answer(200, b"12345", cut=3)], id="truncated"),
        pytest.param([Answer(hang=True)], id="hangs"),
        pytest.param([], id="hangs up"),
    ],
)
def test_a_failed_delivery_is_repeated_after_a_pause_and_nothing_is_lost(
    target: Site, bad: list[Answer], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    target.peer.on(f"POST {PATH}", OK, *bad)
    if not bad:
        target.peer.on(f"POST {PATH}")
    target.happen("a", "b", "c")
    target.worker("w1", seconds=seconds_for(*bad))()
    before = target.arrived
    target.worker("w1")()  # in vain: the pause is not over
    during = target.arrived
    target.peer.on(f"POST {PATH}", OK)
    target.due()
    target.worker("w2")()

    assert before == during == (["a", "b"] if bad else ["a"])
    assert target.arrived == [*before, *(["b", "c"] if bad else ["a", "b", "c"])]
    lines = [JsonLines().format(record) for record in caplog.records]
    (failed,) = [json.loads(line) for line in lines if '"webhook failed"' in line]
    assert (failed["webhook"], failed["attempts"], failed["pause"]) == (
        "ops",
        1,
        7.0 if bad and bad[0].status == 429 else 1.0,
    )
    assert not any(SECRET in line or "unguessable" in line for line in lines)


def test_pauses_grow(target: Site, caplog: pytest.LogCaptureFixture) -> None:
    target.peer.on(f"POST {PATH}", Answer(500))
    target.happen("a")
    looks_again = []
    for _ in range(10):
        looks_again.append(target.worker("w1")())
        target.due()

    assert looks_again == [1, 2, *[PAUSE] * 8]  # other targets may have news
    pauses = [record.__dict__["pause"] for record in caplog.records if record.msg == "webhook failed"]
    assert pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]


def test_one_worker_delivers_at_a_time_and_another_goes_on_for_a_dead_one(target: Site) -> None:
    target.happen("a", "b")
    with target.store.begin() as tx:
        assert tx.webhooks.claim("ops", "dead", start=0, seconds=60)
    target.worker("w2")()
    assert target.arrived == []

    with target.engine.begin() as connection:
        connection.execute(sa.text("UPDATE webhooks SET held_until = now() - interval '1 s'"))
    target.worker("w2")()
    with target.store.begin() as tx:
        assert not tx.webhooks.advance("ops", "dead", 0, seconds=60)
        tx.webhooks.failed("ops", "dead", pause=1000)
    target.happen("c")
    target.worker("w3")()

    assert target.arrived == ["a", "b", "c"]


def test_a_target_gets_only_the_kinds_it_wants(target: Site) -> None:
    target.happen("a")
    target.worker("w1", kinds=frozenset({"action_ended"}))()
    target.worker("w2")()  # the others are behind its cursor

    assert target.arrived == []

    with target.engine.begin() as connection:
        journal.record(connection, Line(target.action, 1, None, AT, "w1"), [StepStarted()])
        write(connection, target.action, "b")
    target.worker("w3", kinds=frozenset({"noted"}))()
    assert target.arrived == ["b"]
