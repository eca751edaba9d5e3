"""The states that have actions: created, at work, ended; and what they have told."""

from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from shipyard_api.domain.actions import RunState, StepState
from shipyard_api.domain.documents import Revision
from shipyard_api.storage import tables as t
from tests.integration.api.contract.noting import leave_notes
from tests.integration.api.contract.states import FAILURE, Stage, committed, state


def _action(stage: Stage) -> dict[str, Any]:
    return committed(stage) | stage.create('{"name": "deploy_site", "parameters": {"continue-on-fail": "true"}}')


@state()
def queued(stage: Stage) -> dict[str, Any]:
    """An action was created a moment ago."""
    return _action(stage)


@state()
def running(stage: Stage) -> dict[str, Any]:
    """Two steps of an action are done, the third runs."""
    names = _action(stage)
    steps = stage.advance(names["action"], StepState.SUCCESS, StepState.SUCCESS)
    return names | {"done": steps[0], "current": steps[-1]}


@state()
def paused(stage: Stage) -> dict[str, Any]:
    """A running action was paused."""
    names = running(stage)
    answer = stage.site.admin.post(f"/actions/{names['action']}/control/pause")
    assert answer.status_code == 202, answer.text
    return names


@state()
def stopping(stage: Stage) -> dict[str, Any]:
    """A running action was told to stop, and the engine has not heard of it yet."""
    names = running(stage)
    answer = stage.site.admin.post(f"/actions/{names['action']}/control/stop")
    assert answer.status_code == 202, answer.text
    return names


@state()
def stopped_and_paused(stage: Stage) -> dict[str, Any]:
    """An action that was told to stop is paused, as an earlier release could leave it."""
    names = stopping(stage)
    stage.change(names["action"], state=RunState.PAUSED.value)
    return names


@state()
def succeeded(stage: Stage) -> dict[str, Any]:
    """An action has ended well."""
    names = _action(stage)
    stage.end(names["action"], RunState.SUCCESS)
    return names


@state()
def failed(stage: Stage) -> dict[str, Any]:
    """The second step of an action failed, and so did the action."""
    names = _action(stage)
    steps = stage.advance(names["action"], StepState.SUCCESS, begin=False)
    stage.end(names["action"], RunState.FAILED)
    return names | {"done": steps[0]}


@state()
def old(stage: Stage) -> dict[str, Any]:
    """An action ended well 90 days ago, and nothing happened since."""
    names = succeeded(stage)
    then = datetime.now(UTC) - timedelta(days=90)
    stage.change(names["action"], created_at=then, started_at=then, ended_at=then + timedelta(hours=1))
    return names | {"then": f"{then:%Y-%m-%dT%H:%M:%S.%f}"}


@state()
def many(stage: Stage) -> dict[str, Any]:
    """A hundred and fifty actions have ended; the last one is running."""
    names = succeeded(stage)
    with stage.engine.begin() as connection:
        row = connection.execute(sa.select(t.actions).where(t.actions.c.id == names["action"])).one()
        others = [{**row._mapping, "id": f"01BX5ZZKBKACTAV9WEVGEM{number:04}"} for number in range(149)]
        connection.execute(t.actions.insert(), others)
    return names


@state()
def retried(stage: Stage) -> dict[str, Any]:
    """An action failed, and another one runs."""
    names = failed(stage)
    stage.site.designs.tag(Revision(names["committed"]), FAILURE, {"dag_id": "deploy_site"})
    second = stage.create()
    stage.advance(second["action"])
    return {"first": names["action"], **second}


@state()
def noted(stage: Stage) -> dict[str, Any]:
    """A step of an action has left notes: one leads to more, and Drydock has it; the action's own leads nowhere."""
    return committed(stage) | leave_notes(stage)


@state()
def noted_lost(stage: Stage) -> dict[str, Any]:
    """The same, and Drydock does not give it."""
    names = noted(stage)
    stage.site.drydock.answers.clear()
    return names
