"""What an operator is asked after a loss of history: read, answered, refused, and who may."""

import json
from datetime import UTC, datetime
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.reconciliation import Doubt, DoubtfulJob, JobAnswers
from shipyard_api.domain.waiting import of_doubt
from shipyard_api.storage import tables as t
from tests.integration.api.wire import JSON, V1, Caller, Site, everything_said
from tests.integration.storage.conftest import new_action

NOW = datetime(2026, 11, 21, tzinfo=UTC)
N1, N9 = NodeName("n1"), NodeName("n9")
JOBS = tuple(DoubtfulJob(job, "prepare_nodes", (N1, N9)) for job in ("j1", "j2"))
DOUBT = Doubt("Drydock", "prepare_nodes", (N1,), JOBS)


@pytest.fixture
def action(site: Site, engine: sa.Engine) -> ActionId:
    """An action that waits for an answer."""
    with site.store.begin() as tx:
        created = tx.actions.create(new_action("a")).id
    waiting = of_doubt(created, DOUBT).after(None, NOW).to_json()
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="running", waiting_for=waiting, wake_at=None))
    return created


def answer(caller: Caller, action: str, answers: Any) -> Any:
    return caller.ask("PATCH", f"{V1}/actions/{action}/reconciliation", body=json.dumps(answers), headers=JSON)


def test_jobs_are_asked_about_until_they_are_answered_and_a_note_says_by_whom(
    site: Site, engine: sa.Engine, action: ActionId
) -> None:
    path = f"/actions/{action}"
    none: dict[str, list[str]] = {"ours": [], "others": []}
    assert site.viewer.get(f"{path}/reconciliation").json == {"held": [DOUBT.to_json()], "answers": none}
    waits = site.viewer.get(path).json["waiting_for"]
    assert (waits["who"], waits["what"]) == ("operator", f"answers: shipyard reconcile {action}")

    first = answer(site.admin, action, {"others": ["j2"]})
    assert answer(site.admin, action, {"others": ["j2"]}).status == falcon.HTTP_200  # given before, it changes nothing
    second = answer(site.admin, action, {"ours": ["j1"]})

    assert (first.status, first.json["held"]) == (falcon.HTTP_200, [DOUBT.to_json()])
    assert second.json == {"held": [], "answers": {"ours": ["j1"], "others": ["j2"]}}
    assert site.viewer.get(f"{path}/reconciliation").json == second.json
    described = site.viewer.get(path).json
    assert [note["note_val"] for note in described["notes"] if note["sub_type"] == "History Reconciled"] == [
        "ann answered: j2 is not this action's",
        "ann answered: j1 is this action's",
    ]
    assert [line["command"] for line in described["command_audit"]] == ["invoke", "reconcile", "reconcile"]
    with engine.connect() as connection:
        assert connection.execute(sa.select(t.actions.c.wake_at <= sa.func.site_time())).scalar_one()
    with site.store.begin() as tx:
        assert tx.actions.doubts(action)[1] == JobAnswers(frozenset({"j1"}), frozenset({"j2"}))


def test_answers_that_cannot_be_used_change_nothing(site: Site, engine: sa.Engine, action: ActionId) -> None:
    # What an item waits for is asked as well.
    waiting = of_doubt(action, DOUBT).after(None, NOW).to_json()
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(waiting_for=None))
        step = connection.execute(sa.select(t.steps.c.id).limit(1)).scalar_one()
        row = {"action_id": action, "step_id": step, "id": "n1", "task": {}, "state": "running"}
        connection.execute(t.work_items.insert().values(**row, waiting_for=waiting))
    assert site.viewer.get(f"/actions/{action}/reconciliation").json["held"] == [DOUBT.to_json()]
    refused = answer(site.admin, action, {"ours": ["j7"]})
    assert refused.status == falcon.HTTP_400
    assert "not asked about job 'j7'" in everything_said(refused)
    assert answer(site.viewer, action, {"ours": ["j1"]}).status == falcon.HTTP_403
    assert answer(site.admin, "0" * 26, {"ours": ["j1"]}).status == falcon.HTTP_404
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))
    over = answer(site.admin, action, {"ours": ["j1"]})
    assert (over.status, over.json["message"]) == (falcon.HTTP_409, "Unable to change action")
    assert site.viewer.get(f"/actions/{action}/reconciliation").json["held"] == []
