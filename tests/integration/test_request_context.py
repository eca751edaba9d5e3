"""Whom log lines and requests to peers name while a turn or an item runs: its action, and the user who began it."""

from __future__ import annotations

from collections.abc import Callable

from shipyard_api.domain.actions import ActionId
from shipyard_api.observing import request_context
from shipyard_api.storage.unit_of_work import Store
from tests.software_world import SoftwareWorld
from tests.task_graphs import task
from tests.world import Checkpoints, World


class Calls(Checkpoints):
    """Notes what log lines and requests carry at each call to a peer."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []

    def passed(self, name: str) -> None:
        super().passed(name)
        if name in ("before check_health", "before start"):
            self.fields.append(request_context.log_fields())
            self.headers.append(request_context.headers())


def test_a_step_asks_a_peer_for_its_action(worlds: Callable[..., World]) -> None:
    world, calls = worlds(), Calls()
    world.run(world.worker(calls))

    step = {"action": world.action, "step": "preflight.ucp_preflight_check"}
    assert [step.items() <= fields.items() for fields in calls.fields] == [True]
    assert calls.headers == [expected(world.store(), world.action)]


def test_an_item_asks_a_peer_for_its_action(database_url: str) -> None:
    world = SoftwareWorld(database_url, graph=[task("one", role="*")], roles={"n1": "web"})
    calls = Calls()
    world.run(world.worker(calls))

    item = {"action": world.action, "step": "software.run_task_graph", "item": "0"}
    assert [item.items() <= fields.items() for fields in calls.fields] == [True]
    assert calls.headers == [expected(world.store(), world.action)]


def expected(store: Store, action: ActionId) -> dict[str, str]:
    with store.begin() as tx:
        record = tx.actions.get(action)
    assert record is not None
    return {"X-Context-Marker": record.context_marker, "X-End-User": record.user}
