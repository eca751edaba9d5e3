"""Limits of an action that change while it runs: what is read, changed, refused, and who may."""

import json
from collections.abc import Mapping
from typing import Any

import falcon
import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.api.mount import Mount
from shipyard_api.domain.actions import ActionId, ActionName
from shipyard_api.domain.teardown.drain import OnBlocked
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.state.actions import LIMITS
from shipyard_api.storage import tables as t
from shipyard_api.usecases.tokens import ApiTokens
from tests.integration.api.wire import JSON, V1, Caller, Site, everything_said, small_design
from tests.integration.storage.conftest import new_action

DEFAULTS = dict(TeardownLimits().parameters())


@pytest.fixture
def action(site: Site, engine: sa.Engine) -> ActionId:
    """A redeploy_server at work, as it is stored."""
    new = replace(new_action("a"), name=ActionName("redeploy_server"))
    with site.store.begin() as tx:
        created = tx.actions.create(new).id
    _state(engine, "running")
    return created


def _state(engine: sa.Engine, state: str, **values: Any) -> None:
    ended = sa.func.now() if state in ("success", "failed") else None
    with engine.begin() as connection:
        connection.execute(t.actions.update().values(state=state, ended_at=ended, **values))


def change(caller: Caller, action: str, limits: Mapping[str, Any]) -> Any:
    return caller.ask("PATCH", f"{V1}/actions/{action}/limits", body=json.dumps(limits), headers=JSON)


def test_limits_change_while_the_action_runs_and_a_note_says_so(
    site: Site, engine: sa.Engine, action: ActionId
) -> None:
    path = f"/actions/{action}"
    assert site.viewer.get(f"{path}/limits").json == DEFAULTS
    frozen = TeardownLimits(drain=100, drain_grace_period=50)
    _state(engine, "running", inputs={"v": 1, LIMITS: frozen.to_json()}, wake_at=None)
    assert site.viewer.get(f"{path}/limits").json == dict(frozen.parameters())

    first = change(site.admin, action, {"drain-timeout": "200", "grace-period": 50})
    second = change(site.admin, action, {"on-blocked": "fail", "drain-timeout": 300})

    wanted = replace(frozen, drain=300, on_blocked=OnBlocked.FAIL)
    assert (first.status, first.json["drain-timeout"]) == (falcon.HTTP_200, 200)
    assert second.json == site.viewer.get(f"{path}/limits").json == dict(wanted.parameters())
    with site.store.begin() as tx:
        assert tx.actions.limits(action) == wanted
    described = site.viewer.get(path).json
    assert [note["note_val"] for note in described["notes"] if note["sub_type"] == "Limits Changed"] == [
        "ann changed drain-timeout from 100 to 200",
        "ann changed drain-timeout from 200 to 300, on-blocked from wait to fail",
    ]
    assert [line["command"] for line in described["command_audit"]] == ["invoke", "set limits", "set limits"]
    with engine.connect() as connection:
        assert connection.execute(sa.select(t.actions.c.wake_at <= sa.func.site_time())).scalar_one()


BAD = {
    "nothing": ({}, "No limit is given"),
    "unknown": ({"drain_timeout": 5}, "'drain_timeout'"),
    "no number": ({"drain-timeout": "soon"}, "drain-timeout is 'soon'"),
    "zero": ({"remove-etcd-timeout": 0}, "remove-etcd-timeout is 0"),
    "long grace": ({"grace-period": 3600}, "grace period"),
    "unknown word": ({"on-blocked": "force"}, "on-blocked is 'force'"),
}


def test_limits_that_cannot_work_change_nothing_nor_do_those_of_others(
    site: Site, engine: sa.Engine, action: ActionId
) -> None:
    """Which values cannot work: tests/unit/domain/teardown/test_limits.py."""
    for limits, says in BAD.values():
        answer = change(site.admin, action, limits)
        assert (answer.status, says in everything_said(answer)) == (falcon.HTTP_400, True)
    assert site.viewer.get(f"/actions/{action}/limits").json == DEFAULTS
    assert change(site.admin, "0" * 26, {"drain-timeout": 7200}).status == falcon.HTTP_404
    # One that does not run gets limits for later.
    for state in ("queued", "paused"):
        _state(engine, state, wake_at=None)
        assert change(site.admin, action, {"drain-timeout": 7200}).status == falcon.HTTP_200
        with engine.connect() as connection:
            assert connection.execute(sa.select(t.actions.c.wake_at)).scalar_one() is None
    for state, values, title in (
        ("success", {}, "Unable to change action"),
        ("failed", {}, "Unable to change action"),
        ("running", {"name": "deploy_site"}, "No limits to change"),
    ):
        _state(engine, state, **values)
        answer = change(site.admin, action, {"drain-timeout": 7300})
        assert (answer.status, answer.json["message"]) == (falcon.HTTP_409, title)


def test_deleting_blocked_pods_takes_a_rule_of_its_own(app: Mount, site: Site, action: ActionId) -> None:
    lower = Caller(app, ApiTokens(site.store).create("bob", "admin_ucp")[1])
    delete = {"on-blocked": "delete"}

    assert change(lower, action, {"drain-timeout": 7200}).status == falcon.HTTP_200
    assert change(lower, action, delete).status == falcon.HTTP_403
    for name in ("redeploy_server", "remove_server", "service_server", "power_cycle"):
        created = {"name": name, "parameters": {"target_nodes": ["n1"], **delete}}
        assert lower.act(json.dumps(created)).status == falcon.HTTP_403
        assert site.admin.act(json.dumps(created)).status != falcon.HTTP_403

    assert change(site.admin, action, delete).json["on-blocked"] == "delete"


def test_a_retry_keeps_the_limits_that_were_set_but_no_right_to_delete(site: Site, engine: sa.Engine) -> None:
    site.commit(*small_design())
    parameters = {"target_nodes": ["n1"], "force": True, "target-revision": "committed"}
    answer = site.admin.act(json.dumps({"name": "redeploy_server", "parameters": parameters}))
    assert answer.status_code == 201, answer.text
    action = answer.json["id"]
    assert change(site.admin, action, {"drain-timeout": 7200, "on-blocked": "delete"}).status == falcon.HTTP_200
    _state(engine, "failed")

    retried = site.admin.post(f"/actions/{action}/control/retry", force="true").json["id"]

    limits = site.viewer.get(f"/actions/{retried}/limits").json
    assert limits == {**DEFAULTS, "drain-timeout": 7200}
