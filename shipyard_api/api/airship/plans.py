"""Plans: what an action would do, without side effects; ours, beside the contract."""

from functools import partial
from typing import Any, ClassVar

import falcon
import falcon.asgi
from msgspec import to_builtins

from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.api.airship.deploy_steps import planned_entity
from shipyard_api.api.airship.drain_plans import drain_plan_entity
from shipyard_api.api.airship.errors import InvalidPlan, text_of
from shipyard_api.api.airship.explanations import lines_in
from shipyard_api.api.airship.holds import may_override, may_pass_policy
from shipyard_api.api.airship.parameters import action_name, parameters
from shipyard_api.api.airship.statuses import details, messages
from shipyard_api.api.airship.stored_plans import stored_entity
from shipyard_api.api.airship.times import with_offset
from shipyard_api.api.entities.holds import Hold
from shipyard_api.api.entities.plans import ListedPlan, PlanList
from shipyard_api.api.http.authentication import Policy, require
from shipyard_api.api.http.errors import status_of
from shipyard_api.api.http.limits import NO_WRITE, SMALL_WRITE
from shipyard_api.api.http.reading import boolean, parse_checked, read_json_body
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.documents import Version
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.moves import Mode
from shipyard_api.domain.rollout.planning import PlannedGroup, PlannedWave
from shipyard_api.domain.specification.impact import Impact, OnChange
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.schemas import Schemas
from shipyard_api.usecases.actions.design_changes import DesignChanges, Written
from shipyard_api.usecases.actions.plan import Plan, PlanAction
from shipyard_api.usecases.actions.plan_content import runs_of
from shipyard_api.usecases.actions.plan_software import SoftwarePlan
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.actions.stored_plans import StoredPlans
from shipyard_api.usecases.nodes.drain_plan import NodeDrainPlan

STORE_RULE = "workflow_orchestrator:store_plan"
"""Who may store plans."""


class Plans:
    """``/plans``: what POST /actions, or a retry, would do now; the stored plans."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:get_plan",
        "POST": "workflow_orchestrator:create_plan",
    }

    def __init__(self, plan: PlanAction, plans: StoredPlans, schemas: Schemas, limit: int, costly: CostlyWork) -> None:
        self._plan = plan
        self._plans = plans
        self._costly = costly
        self._schemas = schemas
        self._limit = limit

    @staticmethod
    def write_cost(req: falcon.Request) -> float:
        """Return the cost of a request: a plan that is not stored changes nothing."""
        return NO_WRITE if req.get_param("store") is None else SMALL_WRITE

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the newest stored plans, the newest first."""
        resp.media = PlanList([ListedPlan.of(plan) for plan in self._plans.newest()])

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response) -> None:
        """Answer with the plan, and what would be refused as part of it; with ``store``, store it or refuse."""
        self._costly.admit(req)
        body = await read_json_body(req, self._limit)
        await self._costly.answer(req, resp, partial(self._post, req, resp, body), body)

    def _post(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        body = parse_checked(req.path, sent, self._schemas, "plan_v1")
        _check(body)
        force = bool(boolean(req, "force", default=False))
        store = bool(boolean(req, "store", default=False))
        if store:
            require(req, STORE_RULE)
        plan = self._planned(req, body, force=force, complete=store)
        resp.media = plan_entity(plan)
        if store:
            request = {**body, "parameters": plan.parameters} if "parameters" in body else body
            stored = self._plans.store_plan(plan, request, resp.media, req.context.caller)
            resp.status = falcon.HTTP_201
            resp.location = f"{req.root_path}/api/v1.0/plans/{stored.plan.id}"
            resp.media = stored_entity(stored)

    def _planned(self, req: falcon.Request, body: dict[str, Any], *, force: bool, complete: bool) -> Plan:
        if "retry" in body:
            overrides = may_override(req)
            return self._plan.retry(body["retry"], force=force, may_override_holds=overrides, complete=complete)
        name = action_name(body["name"])
        request = ActionRequest(
            name,
            parameters(name, body),
            boolean(req, "allow-intermediate-commits", default=None),
            strict=bool(boolean(req, "strict", default=False)),
            may_override_holds=may_override(req),
            may_pass_policy=may_pass_policy(req),
        )
        return self._plan(request, Version(body.get("version", Version.COMMITTED.value)), complete=complete)


def _check(body: dict[str, Any]) -> None:
    if ("name" in body) == ("retry" in body) or ("retry" in body and len(body) > 1):
        raise InvalidPlan()


def plan_entity(plan: Plan) -> dict[str, Any]:
    """Return a plan as callers read it."""
    nodes = {node for planned in plan.groups for node in planned.members}
    return {
        "name": plan.name,
        "version": plan.version.value if plan.version else None,
        "retry": plan.retried,
        "revision": plan.revision,
        "refused": _refused(plan.refusal) if plan.refusal else None,
        "findings": messages(plan.findings),
        "steps": list(plan.steps),
        "mode": _mode(plan.mode) if plan.mode else None,
        "totals": {
            "groups": len(plan.groups),
            "critical_groups": sum(planned.group.critical for planned in plan.groups),
            "nodes": len(nodes),
            "kept": len(nodes.intersection(plan.kept)),
            "sent": len({node for planned in plan.groups for node in planned.sends}.difference(plan.skipped)),
        },
        "kept": list(plan.kept),
        "left_alone": list(plan.skipped),
        "changes": _changes(plan.changes) if plan.changes else None,
        "held": to_builtins([Hold.of(hold) for hold in plan.held]),
        "drains": [_drain(node, drain) for node, drain in plan.drains.items()],
        "deploy_steps": [planned_entity(planned) for planned in plan.deploy_steps],
        "clean_steps": [planned_entity(planned) for planned in plan.clean_steps],
        "software": _software(plan.software) if plan.software else None,
        "tasks": [_task(task, document) for task, document in runs_of(plan).documents.items()],
        "groups": [_group(planned) for planned in plan.groups],
    }


def _changes(changes: DesignChanges) -> dict[str, Any]:
    differing = ((node, entry) for node, entry in changes.nodes.items() if entry.impact is not Impact.UNCHANGED)
    return {
        "added": list(changes.added),
        "removed": list(changes.removed),
        "changed": list(changes.changed),
        "counts": {impact.value: number for impact, number in changes.counts.items()},
        "nodes": [
            {"name": node, "class": entry.impact.value, "aspects": list(entry.aspects)} for node, entry in differing
        ],
        "values": [
            {
                "aspect": change.aspect.value,
                "path": change.path,
                "old": change.old,
                "new": change.new,
                "documents": [{"schema": ref.schema, "name": ref.name, "path": ref.path} for ref in change.documents],
                "written": [_written(written) for written in change.written],
                "nodes": list(change.nodes),
            }
            for change in changes.values
        ],
        "uncompared": changes.uncompared,
        "interrupts": {
            choice.value: [impact.value for impact in Impact if impact in choice.serviced | choice.reinstalled]
            for choice in OnChange
        },
    }


def _written(written: Written) -> dict[str, Any]:
    document, path = written.stored.document, written.path
    return {
        "schema": document.schema,
        "name": document.name,
        "layer": document.layer,
        "collection": written.stored.collection,
        "path": path,
        "line": lines_in(document, [path])[path],
    }


def _software(plan: SoftwarePlan) -> dict[str, Any]:
    return {
        "batches": [
            {
                "priority": batch.priority,
                "wave": batch.wave,
                "runs": [{"group": run.unit, "nodes": list(run.nodes), "tasks": list(run.tasks)} for run in batch.runs],
            }
            for batch in plan.batches
        ],
        "skipped": [{"task": task, "reason": reason.value} for task, reason in plan.skipped],
        "findings": messages(plan.findings),
    }


def _task(task: TaskId, document: JsonObject) -> dict[str, Any]:
    return {"id": task, "type": document.get("type"), "parameters": document.get("parameters") or {}}


def _drain(node: NodeName, drain: NodeDrainPlan | str) -> dict[str, Any]:
    plan, why = (drain_plan_entity(drain), None) if isinstance(drain, NodeDrainPlan) else (None, drain)
    return {"node": node, "plan": plan, "why_none": why}


def _refused(error: ShipyardError) -> dict[str, Any]:
    text = text_of(error)
    return {
        "title": text.title,
        "reason": text.reason,
        "code": status_of(error.kind.family),
        "messages": details(text.findings, text.cause),
    }


def _mode(mode: Mode) -> dict[str, Any]:
    return {
        "max_parallel_groups": mode.max_parallel_groups,
        "max_nodes_in_flight": mode.max_nodes_in_flight,
        "deploy_as_prepared": mode.deploy_as_prepared,
        "on_timeout": mode.on_timeout.value,
    }


def _group(planned: PlannedGroup) -> dict[str, Any]:
    group, waves = planned.group, [_wave(wave) for wave in planned.waves]
    criteria = group.success_criteria
    return {
        "name": group.name,
        "order": planned.order,
        "critical": group.critical,
        "depends_on": list(group.depends_on),
        "success_criteria": {
            "percent_successful_nodes": criteria.percent_successful_nodes,
            "minimum_successful_nodes": criteria.minimum_successful_nodes,
            "maximum_failed_nodes": criteria.maximum_failed_nodes,
        },
        "accept": list(group.accept),
        "can_succeed": planned.can_succeed,
        "nodes": list(planned.members),
        "sends": list(planned.sends),
        **({"waves": waves} if waves else {}),
    }


def _wave(wave: PlannedWave) -> dict[str, Any]:
    starts = with_offset(wave.starts) if wave.starts else None
    return {"name": wave.name, "nodes": list(wave.nodes), "starts": starts}
