"""What of a plan a signature covers (product, section 13): all that decides what the action does."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from shipyard_api.actions.frozen_software import FrozenSoftware
from shipyard_api.domain.documents import canonical, secret_texts
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.plans.plan import PlanContent
from shipyard_api.domain.rollout.planning import PlannedGroup
from shipyard_api.domain.specification.impact import Impact
from shipyard_api.domain.task_graph.commands import CommandError
from shipyard_api.domain.task_graph.node_facts import masked
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.usecases.actions.design_changes import DesignChanges
from shipyard_api.usecases.actions.plan import Plan
from shipyard_api.usecases.actions.plan_software import SoftwarePlan

# Inputs that another part of the content has, or that differ between two actions that do the same. Those of the
# software stage may hold secrets; its runs follow from them.
ELSEWHERE = {
    *("v", "revision", "groups", "targets", "target_group", "policy", "deploy_steps", "clean_steps", "labels"),
    *("limits", "software", "action", "name", "made", "kept", "kept_items", "retried", "times", "mode"),
    *("placed", "moved", "relabelled", "untasked"),
}
# How long phases of this site usually take is measured anew for every action; what the design says of it is kept.
_MEASURED = {"seconds", "usual"}
_MODE = ("max_parallel_groups", "max_nodes_in_flight", "deploy_as_prepared", "on_timeout")


def content_of(plan: Plan) -> PlanContent:
    """Return the content of a plan, without the statuses of its nodes and the holds on them."""
    inputs, runs = plan.inputs.to_json(), runs_of(plan)
    return PlanContent.of(
        {**runs.secrets, **({"the design": plan.design.digest} if plan.design else {})},
        action={"name": plan.name, "retry": plan.retried, "parameters": plan.parameters},
        revision=plan.revision,
        nodes=dict.fromkeys(sorted(plan.nodes), ""),
        holds={},
        left_alone=list(plan.skipped),
        kept=list(plan.kept),
        groups={planned.group.name: _group(planned) for planned in plan.groups},
        steps=list(plan.steps),
        deploy_steps=[*inputs.get("deploy_steps", ()), *inputs.get("clean_steps", ())],
        software=_software(plan.software) if plan.software else None,
        tasks=runs.documents,
        facts=_facts(plan.frozen) if plan.frozen and runs.documents else {},
        settings=plan.software.stage.facts.settings if plan.software and plan.software.stage else {},
        limits=_limits(inputs),
        policy={name: value for name, value in _mapping(inputs, "policy").items() if name not in _MEASURED},
        labels=_mapping(inputs, "labels"),
        classes=classes(plan.changes) if plan.changes else {},
    )


def classes(changes: DesignChanges) -> Mapping[NodeName, str]:
    """Return the class of each node that the action changes, leaves with something else, or knows nothing of."""
    return {node: entry.impact.value for node, entry in changes.nodes.items() if entry.impact is not Impact.UNCHANGED}


def _mapping(inputs: JsonObject, name: str) -> Mapping[str, Any]:
    value: Mapping[str, Any] | None = inputs.get(name)
    return value or {}


def _limits(inputs: JsonObject) -> JsonObject:
    """Return what bounds the action, by name; a difference in it is a sentence that an operator reads."""
    times = {name: {"interval": pair[0], "timeout": pair[1]} for name, pair in _mapping(inputs, "times").items()}
    mode = dict(zip(_MODE, inputs.get("mode", ()), strict=False))
    others = {name: inputs[name] for name in sorted(inputs.keys() - ELSEWHERE)}
    return {**_mapping(inputs, "limits"), **times, **mode, **others}


def _group(planned: PlannedGroup) -> JsonObject:
    group, criteria = planned.group, planned.group.success_criteria
    return {
        "critical": group.critical,
        "depends_on": sorted(group.depends_on),
        "success_criteria": {
            "percent_successful_nodes": criteria.percent_successful_nodes,
            "minimum_successful_nodes": criteria.minimum_successful_nodes,
            "maximum_failed_nodes": criteria.maximum_failed_nodes,
        },
        "accept": list(group.accept),
        "nodes": list(planned.members),
        "waves": {wave.name: list(wave.nodes) for wave in planned.waves},
    }


class Runs(NamedTuple):
    """Every task that an action may run, by id, as a person may read it.

    ``secrets``: the texts of what hides any, by what it is.
    """

    documents: Mapping[TaskId, JsonObject]
    secrets: Mapping[str, str]


def runs_of(plan: Plan) -> Runs:
    """Return the tasks of the software stage and of acceptance, with the values of all nodes in them."""
    stage = plan.software.stage if plan.software else None
    documents = dict(stage.documents) if stage else {}
    if plan.frozen:
        accepting = {TaskId(task) for planned in plan.groups for task in planned.group.accept}
        with suppress(CommandError):  # the groups' own check has refused such a task
            documents |= plan.frozen.filled(accepting - documents.keys())
    known = {*secret_texts(plan.design.secrets), *(stage.secrets if stage else ())} if plan.design else set()
    shown = {task: masked(document, known) for task, document in sorted(documents.items())}
    secrets = {f"task {task}": _text(document) for task, document in documents.items() if document != shown[task]}
    values = (plan.inputs.software or {}).get("values")
    return Runs(shown, {**secrets, **({"values of the run": _text(values)} if values else {})})


def _text(value: object) -> str:
    return canonical(value).decode(errors="surrogatepass")


def _facts(frozen: FrozenSoftware) -> JsonObject:
    """Return what tasks may know of each node, and where they reach it."""
    facts = frozen.facts({})
    nodes: dict[str, dict[str, Any]] = {
        node: {**described, "addresses": dict(facts.addresses.get(node, {}))} for node, described in facts.nodes.items()
    }
    for node, host in frozen.hosts.items():
        nodes.setdefault(node, {})["ssh"] = f"{host.address}:{host.port}"
    return nodes


def _software(plan: SoftwarePlan) -> JsonObject:
    """Return how much runs, and the hash of what runs where in which order: a site may have 200,000 runs of tasks."""
    batches = [
        [batch.priority, batch.wave, [[run.unit, list(run.nodes), list(run.tasks)] for run in batch.runs]]
        for batch in plan.batches
    ]
    runs = [run for batch in plan.batches for run in batch.runs]
    return {
        "runs of tasks": sum(len(run.nodes) * len(run.tasks) for run in runs),
        "nodes": sorted({node for run in runs for node in run.nodes}),
        "skipped": sorted(task for task, _ in plan.skipped),
        "order": hashlib.sha256(canonical(batches)).hexdigest(),
    }
