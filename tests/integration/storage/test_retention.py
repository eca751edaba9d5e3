"""Old actions and revisions are deleted with all that belongs to them, and nothing that is still needed goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionId
from shipyard_api.storage import tables as t
from shipyard_api.storage.retention import _PARTS
from shipyard_api.storage.site_tables import metadata, node_sightings, plans
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases import retention as module
from shipyard_api.usecases.retention import BATCH, PruneHistory
from tests.integration.storage.rows import counts

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=500)


def number(value: int) -> ActionId:
    return ActionId(f"{value:026}")


def action(engine: sa.Engine, which: int, *, name: str = "redeploy_server", state: str = "failed", **more: Any) -> None:
    """Store an action that ended long ago, with a row in each table of its parts."""
    ended = None if state == "running" else OLD
    row = {"id": number(which), "name": name, "parameters": {}, "user_name": "ann", "context_marker": "", "inputs": {}}
    values = {"exclusive": False, "state": state, "created_at": OLD, "ended_at": ended, **more}
    audit = {"id": number(which), "action_id": number(which), "command": "stop", "user_name": "ann"}
    step = {"action_id": number(which), "position": 0, "id": "a"}
    line = {"action_id": number(which), "epoch": 1, "kind": "noted", "at": OLD, "worker": "", "facts": []}
    with engine.begin() as connection:
        connection.execute(t.actions.insert().values({**row, **values}))
        connection.execute(t.command_audit.insert().values(audit))
        connection.execute(t.steps.insert().values(step))
        connection.execute(t.journal.insert().values(line))


def node(engine: sa.Engine, which: int, name: str, status: str = "success") -> None:
    row = {"action_id": number(which), "name": name, "status": status, "groups": [], "updated_at": OLD}
    with engine.begin() as connection:
        connection.execute(t.action_nodes.insert().values(row))


def left(engine: sa.Engine) -> set[int]:
    with engine.connect() as connection:
        return {int(one) for one in connection.execute(sa.select(t.actions.c.id)).scalars()}


def prune(store: Store, newest: int = 1, days: int = 400) -> PruneHistory:
    return PruneHistory(store, lambda: NOW, days, newest, ACTIONS.of_the_site)


def test_old_actions_go_with_all_their_rows_in_batches(store: Store, engine: sa.Engine) -> None:
    for which in range(BATCH + 5):
        action(engine, which)
    old = prune(store)

    assert old.expired() == (BATCH + 4, 0, 0, 0)
    assert [old.batch().actions for _ in range(3)] == [BATCH, 4, 0]
    assert left(engine) == {BATCH + 4}
    assert {counts(engine)[name] for name in ("actions", "steps", "journal", "command_audit")} == {1}


@pytest.mark.parametrize(
    ("days", "newest"),
    [pytest.param(501, 1, id="younger"), pytest.param(400, 3, id="among the newest"), pytest.param(400, 9, id="few")],
)
def test_young_and_newest_actions_stay(store: Store, engine: sa.Engine, days: int, newest: int) -> None:
    for which in range(3):
        action(engine, which)

    assert prune(store, newest, days).batch() == (0, 0, 0, 0)


def test_what_is_needed_stays(store: Store, engine: sa.Engine) -> None:
    """Of each node the newest record, teardown and sighting; what runs; and stragglers that have not ended."""
    for which in range(9):
        action(engine, which, state="running" if which == 6 else "failed")
    node(engine, 0, "n1", "failure")
    node(engine, 1, "n1")
    node(engine, 2, "n1", "not_started")
    torn = {"node": "n2", "operation": "drain", "outcome": "done", "message": "", "etcd_begun": False, "at": OLD}
    seen = {"name": "n3", "machine": "m", "installed": "", "at": OLD}
    late = {"job": "j", "operation": "deploy", "design": "", "why": "", "since": OLD, "look_at": OLD}
    with engine.begin() as connection:
        for which in (2, 3):
            connection.execute(t.node_teardowns.insert().values({**torn, "action_id": number(which)}))
        connection.execute(node_sightings.insert().values({**seen, "action_id": number(4)}))
        connection.execute(t.stragglers.insert().values({**late, "action_id": number(5)}))
        connection.execute(t.stragglers.insert().values({**late, "action_id": number(7), "ended_at": OLD}))

    assert prune(store).batch() == (3, 0, 0, 0)
    assert left(engine) == {1, 3, 4, 5, 6, 8}


def test_actions_since_the_last_successful_site_action_stay(store: Store, engine: sa.Engine) -> None:
    for which, name in enumerate(["deploy_site", "redeploy_server", "update_site", "redeploy_server", "test_site"]):
        action(engine, which, name=name, state="success")

    assert prune(store).batch() == (2, 0, 0, 0)
    assert left(engine) == {2, 3, 4}


def test_two_processes_do_not_delete_at_once(store: Store, engine: sa.Engine) -> None:
    for which in range(3):
        action(engine, which)
    with store.begin() as tx:
        assert tx.retention.begin()
        assert prune(store).batch() == (0, 0, 0, 0)
    assert prune(store).batch() == (2, 0, 0, 0)


def test_a_worker_deletes_now_and_then_and_never_with_0_days(store: Store, engine: sa.Engine) -> None:
    for which in range(BATCH + 3):
        action(engine, which)
    old = prune(store)

    assert prune(store, days=0).chore() == (0, 0, 0, 0)
    assert [old.chore().actions for _ in range(3)] == [BATCH, 2, 0]
    action(engine, 99)
    assert old.chore() == (0, 0, 0, 0)  # its next look is due in minutes


def revision(engine: sa.Engine, number: int, *tags: str, **contents: str) -> None:
    """Store an old revision with these documents."""
    with engine.begin() as connection:
        connection.execute(t.revisions.insert().values(id=number, created_at=OLD))
        for tag in tags:
            connection.execute(t.revision_tags.insert().values(revision=number, tag=tag, data={}))
        for position, (name, content) in enumerate(contents.items()):
            row = {"hash": content, "metadata": "{}", "data": "1"}
            connection.execute(insert(t.document_contents).values(row).on_conflict_do_nothing())
            document = {"schema": "a/B/v1", "layer": "site", "name": name, "collection": "design", "since": number}
            held = {"revision": number, "position": position, "hash": content}
            connection.execute(t.revision_documents.insert().values({**document, **held}))


def revisions(engine: sa.Engine) -> set[int]:
    with engine.connect() as connection:
        return set(connection.execute(sa.select(t.revisions.c.id)).scalars())


def test_old_revisions_go_with_the_documents_that_no_other_has(store: Store, engine: sa.Engine) -> None:
    revision(engine, 1, "committed", one="a", two="b")
    revision(engine, 2, "committed", one="c", two="b")
    revision(engine, 3, "committed", one="a", two="d")
    revision(engine, 4, "committed", one="a")
    old = prune(store)

    assert old.expired() == (0, 3, 0, 0)
    assert [old.batch().revisions for _ in range(2)] == [3, 0]
    assert revisions(engine) == {4}
    with engine.connect() as connection:
        assert connection.execute(sa.select(t.document_contents.c.hash)).scalars().all() == ["a"]
        assert connection.execute(sa.select(t.revision_tags.c.revision)).scalars().all() == [4]


def test_revisions_that_are_needed_stay(store: Store, engine: sa.Engine) -> None:
    """Those of kept actions, the newest with each tag, all since the last success of a site action, and the newest."""
    for number in range(1, 12):
        tags = {2: ["rollback_commit"], 3: ["committed"], 7: ["site-action-success"], 8: ["committed"]}
        revision(engine, number, *tags.get(number, ["site-action-failure"] if number in (4, 5) else []))
    for which, number in ((0, 3), (1, 6), (2, 9)):
        action(engine, which, revision=number)

    assert prune(store).expired() == (2, 4, 0, 0)
    assert prune(store, newest=2).batch() == (1, 3, 0, 0)
    assert revisions(engine) == {2, 5, 6, 7, 8, 9, 10, 11}
    assert prune(store, days=501).expired() == prune(store, newest=99).expired() == (0, 0, 0, 0)


def test_every_table_that_refers_to_actions_is_known() -> None:
    """A new table with another name for the column would keep its actions for ever."""
    referring = {
        table.name
        for table in metadata.sorted_tables
        for key in table.foreign_keys
        if key.column.table.name == "actions"
    }
    assert referring <= {table.name for table in _PARTS}


def plan(engine: sa.Engine, which: int, stored_at: datetime, action_id: ActionId | None = None) -> None:
    row = {"id": number(which), "name": "deploy_site", "digest": "", "content": {}, "request": {}, "shown": {}}
    row |= {"stored_by": "ann", "caller": "", "stored_at": stored_at, "action_id": action_id}
    with engine.begin() as connection:
        connection.execute(plans.insert().values(row))


def test_old_plans_go_and_those_of_actions_go_with_them(store: Store, engine: sa.Engine) -> None:
    for which in range(2):
        action(engine, which)
        plan(engine, which, OLD, number(which))
    for which, stored_at in enumerate([OLD, NOW, *[OLD] * BATCH], start=2):
        plan(engine, which, stored_at)
    old = prune(store)

    assert old.expired() == (1, 0, BATCH + 1, 0)
    assert [old.batch() for _ in range(3)] == [(1, 0, BATCH, 0), (0, 0, 1, 0), (0, 0, 0, 0)]
    with engine.connect() as connection:
        assert [int(one) for one in connection.execute(sa.select(plans.c.id).order_by(plans.c.id)).scalars()] == [1, 3]


def test_holds_go_once_they_have_ended_long_ago(
    store: Store, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window does not place the hold of a node again that somebody has released."""
    ends = {
        1: {"until": OLD},
        2: {"released_by": "ann", "released_at": OLD},
        3: {"until": NOW},
        4: {"until": NOW, "released_by": "ann", "released_at": OLD},
        5: {},
        6: {"until": OLD, "released_by": "ann", "released_at": OLD},
    }
    row = {"kind": "manual", "reason": "disk", "placed_by": "ann", "placed_at": OLD}
    with engine.begin() as connection:
        for which, end in ends.items():
            connection.execute(t.holds.insert().values({"id": number(which), "node": "n1", **row, **end}))
    monkeypatch.setattr(module, "HOLDS", 2)
    old = prune(store)

    assert old.expired().holds == 3
    assert [old.chore().holds for _ in range(3)] == [2, 1, 0]
    with engine.connect() as connection:
        assert {int(one) for one in connection.execute(sa.select(t.holds.c.id)).scalars()} == {3, 4, 5}
