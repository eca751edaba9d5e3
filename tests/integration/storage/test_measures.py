"""Figures for metrics, from rows: what counts, and what belongs to the past."""

from collections.abc import Callable
from datetime import UTC, datetime

import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.state.measures import Count
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import Store

LATER = datetime(2999, 1, 1, tzinfo=UTC)


def _nodes(action: ActionId, *statuses: str) -> list[dict[str, object]]:
    now = datetime.now(UTC)
    return [
        {"action_id": action, "name": f"n{number}", "status": status, "groups": [], "updated_at": now}
        for number, status in enumerate(statuses)
    ]


def test_figures_are_of_the_latest_site_action_and_of_open_work(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId]
) -> None:
    old = create("a")
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))
        connection.execute(sa.text("DELETE FROM procrastinate_jobs"))
    new = create("a")
    hold = {"kind": "keep", "reason": "-", "placed_by": "ann", "placed_at": sa.func.now()}
    item = {"step_id": "a", "task": {}, "state": "queued"}
    with engine.begin() as connection:
        connection.execute(t.action_nodes.insert(), [*_nodes(old, "failure"), *_nodes(new, "success", "prepared")])
        for action in (old, new):
            connection.execute(t.work_items.insert().values(action_id=action, id="i", **item))
        connection.execute(t.holds.insert().values(id="1", node="n1", **hold))
        connection.execute(t.holds.insert().values(id="2", node="n2", until=datetime.now(UTC), **hold))
        connection.execute(t.holds.insert().values(id="3", node="n3", until=LATER, **hold))
        late = "UPDATE procrastinate_events SET at = at - interval '90 s'"
        connection.execute(sa.text(late))

    found = store.read(lambda tx: tx.measures.counts())

    assert sorted(found.actions, key=lambda one: one.labels) == [
        Count(("deploy_site", "failed"), 1),
        Count(("deploy_site", "queued"), 1),
    ]
    assert sorted(found.nodes, key=lambda one: one.labels) == [Count(("prepared",), 1), Count(("success",), 1)]
    assert (found.items, found.stragglers, found.holds) == ([Count(("queued",), 1)], 0, 2)
    (turns,) = found.queue
    assert (turns.queue, turns.state, turns.jobs) == ("turns", "due", 1)
    assert turns.oldest >= 90
    assert (found.groups, found.phases, found.heartbeats) == ([], [], [])
    assert store.read(lambda tx: tx.measures.queue()).lag >= 90
