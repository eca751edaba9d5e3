"""Workflows: actions as the runs of an engine that upstream's clients know (contract: shipyard-rest, chapter 9)."""

from datetime import UTC, timedelta
from typing import Any, ClassVar

import falcon

from shipyard_api.api.airship import step_views, times
from shipyard_api.api.airship.action_views import posted, shown_steps
from shipyard_api.api.airship.errors import InvalidWorkflowId, WorkflowNotFound
from shipyard_api.api.airship.parameters import link_next, wanted_actions
from shipyard_api.api.entities.types import zulu
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import single
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.state.actions import ActionRecord
from shipyard_api.usecases.actions.describe import ActionRun, DescribeAction, ListActions
from shipyard_api.usecases.actions.request import named

_RECENT = timedelta(days=30)


class Workflows:
    """``/workflows``: the runs of the last days."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_workflows"}

    def __init__(self, actions: ListActions) -> None:
        self._actions = actions

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the runs in order of creation; a ``since`` that says nothing counts as absent, as upstream."""
        since = times.since(single(req, "since") or "") or _RECENT
        records, is_cut = self._actions(wanted_actions(req, since))
        link_next(req, resp, records[-1].id if records else None, is_cut=is_cut)
        further = self._actions.further([action.id for action in records])
        resp.media = [_workflow(action, further.get(action.id, {})) for action in records]


class Workflow:
    """``/workflows/{workflow_id}``: one run."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_workflow"}

    def __init__(self, describe: DescribeAction, actions: ListActions) -> None:
        self._describe = describe
        self._actions = actions

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, workflow_id: str) -> None:
        """Answer with the run and the full records of its steps."""
        run = self._run(workflow_id)
        resp.media = {
            **_workflow(run.action, self._actions.further([run.action.id]).get(run.action.id, {})),
            "sub_dags": [],
            "steps": [step_views.record(run, shown) for shown in shown_steps(run.steps)],
        }

    def _run(self, workflow: str) -> ActionRun:
        dag, separator, date = workflow.partition("__")
        if not separator:
            raise InvalidWorkflowId()
        name = named(dag)
        moment = times.moment(date)
        run = self._describe.created_at(name, moment) if name and moment else None
        if run is None:
            raise WorkflowNotFound(workflow)
        return run


def _workflow(action: ActionRecord, further: JsonObject) -> dict[str, Any]:
    """Return a run as it is listed; ``further``: members of its request that Shipyard only keeps.

    Its id has the time without a zone: clients check that, letter by letter.
    """
    created = action.created_at.astimezone(UTC)
    return {
        "workflow_id": f"{action.name}__{created.strftime('%Y-%m-%dT%H:%M:%S.%f')}",
        "id": action.id,
        "dag_id": action.name,
        "run_id": action.id,
        "dag_run_id": action.id,
        "state": action.state.value,
        "execution_date": zulu(created),
        "start_date": zulu(action.started_at),
        "end_date": zulu(action.ended_at),
        "external_trigger": True,
        "conf": {"action": {**further, **posted(action)}},
    }
