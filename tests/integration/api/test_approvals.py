"""The approvals between the waves of an action: read, given, refused, and who may."""

import json
from datetime import UTC, datetime
from typing import Any

import falcon
import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.waiting import Awaited
from shipyard_api.storage import tables as t
from tests.integration.api.wire import JSON, V1, Caller, Site, everything_said
from tests.integration.storage.conftest import new_action

NOW = datetime(2026, 11, 26, tzinfo=UTC)
GATE = WaveGate("canary", 0, 0, 1, NOW, "a")


def await_approval(engine: sa.Engine) -> None:
    """Let the only action wait for an approval."""
    waiting = Awaited("operator", "approval", gates=(GATE,)).after(None, NOW).to_json()
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="running", waiting_for=waiting, wake_at=None))


@pytest.fixture
def action(site: Site, engine: sa.Engine) -> ActionId:
    """An action that waits for an approval."""
    with site.store.begin() as tx:
        created = tx.actions.create(new_action("a")).id
    await_approval(engine)
    return created


def answer(caller: Caller, action: str, given: Any) -> Any:
    return caller.ask("POST", f"{V1}/actions/{action}/approvals", body=json.dumps(given), headers=JSON)


def test_an_approval_is_asked_for_until_it_is_given_and_a_note_says_by_whom(
    site: Site, engine: sa.Engine, action: ActionId
) -> None:
    path = f"/actions/{action}"
    assert site.viewer.get(f"{path}/approvals").json == {"waiting": [GATE.to_json()], "given": []}

    given = answer(site.admin, action, {"approve": True, "reason": "quiet"})

    assert (given.status, given.json["waiting"]) == (falcon.HTTP_200, [])
    assert [(one["wave"], one["approve"], one["by"]) for one in given.json["given"]] == [("canary", True, "ann")]
    assert site.viewer.get(f"{path}/approvals").json == given.json
    described = site.viewer.get(path).json
    assert [note["note_val"] for note in described["notes"] if note["sub_type"] == "Wave Approval"] == [
        "ann approved what follows wave canary of group a: quiet"
    ]
    assert [line["command"] for line in described["command_audit"]] == ["invoke", "approve"]
    with engine.connect() as connection:
        assert connection.execute(sa.select(t.actions.c.wake_at <= sa.func.site_time())).scalar_one()


def test_answers_that_cannot_be_used_change_nothing(site: Site, engine: sa.Engine, action: ActionId) -> None:
    refused = answer(site.admin, action, {"approve": True, "wave": "rest"})
    assert refused.status == falcon.HTTP_400
    assert "It waits after: canary of a." in everything_said(refused)
    assert answer(site.viewer, action, {"approve": True}).status == falcon.HTTP_403
    assert answer(site.admin, "0" * 26, {"approve": True}).status == falcon.HTTP_404
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state="failed", ended_at=sa.func.now()))
    assert answer(site.admin, action, {"approve": True}).status == falcon.HTTP_409
    assert site.viewer.get(f"/actions/{action}/approvals").json == {"waiting": [], "given": []}
