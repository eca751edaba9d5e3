"""The plan of deploy_nodes: network, storage, platform, installation, and waiting for boot actions.

Every step waits for its slowest node before the next one starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from shipyard_simulators.drydock.plan import ATTEMPTS, Plan, records_of, side_by_side
from shipyard_simulators.drydock.tasks import Message, Task
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind

# The share of a node's time that each step takes, in order.
_SHARES = {
    "apply_node_networking": 0.05,
    "apply_node_storage": 0.05,
    "apply_node_platform": 0.05,
    "deploy_node": 0.8,
    "bootaction_report": 0.05,
}
# Storage runs, but Drydock does not link its tasks to the tree.
_UNLINKED = "apply_node_storage"
# The step at which a node with this outcome stops; other nodes pass every step.
_STOPS = {
    NodeOutcomeKind.FAIL: "deploy_node",
    NodeOutcomeKind.NEVER: "deploy_node",
    NodeOutcomeKind.NEITHER_LIST: "apply_node_storage",
    NodeOutcomeKind.SILENT_BOOT_ACTION: "bootaction_report",
}
_REASONS = {
    NodeOutcomeKind.FAIL: "installation failed",
    NodeOutcomeKind.NEITHER_LIST: "the storage layout could not be applied",
    NodeOutcomeKind.SILENT_BOOT_ACTION: "a boot action did not report",
}


@dataclass(slots=True)
class _Deployment:
    node: str
    outcome: NodeOutcome
    duration: float
    refused: str = ""
    at_once: bool = False

    @property
    def worked_on(self) -> bool:
        return not self.refused and not self.at_once

    def stops_at(self, step: str) -> bool:
        return self.worked_on and _STOPS.get(self.outcome.kind) == step

    @property
    def error(self) -> str:
        return self.refused or self.outcome.reason or _REASONS.get(self.outcome.kind, "failed")


def plan_deploy(plan: Plan, nodes: Sequence[str]) -> None:
    """Plan the deployment of the nodes."""
    left = [_work(plan, node) for node in nodes]
    moment, last, failures = plan.start, list[str](), list[str]()
    for work in left:
        if work.worked_on:
            plan.log(plan.start, "node_started", phase="deploy", node=work.node)
    for action in _SHARES:
        if not left:
            break  # a step that no node reaches is not in the tree
        step = _plan_step(plan, action, left, moment)
        if action != _UNLINKED:
            plan.root.children.append(step)
            failures += step.failures
        last = list(step.successes)
        moment = step.ended
        passed = set(step.successes)
        left = [work for work in left if work.node in passed and not work.stops_at(action)]
        if moment == inf:
            break
    plan.finish(moment, last, failures)


def _work(plan: Plan, node: str) -> _Deployment:
    ok = NodeOutcome(NodeOutcomeKind.OK)
    status = plan.status(node)
    if status == "Deployed":
        plan.log(plan.start, "node_skipped", phase="deploy", node=node, status=status)
        return _Deployment(node, ok, 0, at_once=True)
    if status != "Ready":
        refused = f"MAAS says {status}" if status else "MAAS does not know the node"
        plan.log(plan.start, "node_failed", phase="deploy", node=node, reason=refused)
        if status == "Failed deployment":
            # It is released, but not yet Ready when Drydock looks: only the next task can continue with it.
            plan.change(node, (plan.start, "Releasing"), (plan.start + plan.duration() / 20, "Ready"))
        return _Deployment(node, ok, 0, refused=refused)
    outcome = plan.outcome(node, "deploy")
    if outcome.kind is NodeOutcomeKind.FAIL and plan.scenario.quirks["neither_list"]:
        outcome = NodeOutcome(NodeOutcomeKind.NEITHER_LIST, outcome.reason, outcome.seconds)
    duration = plan.duration(outcome)
    if outcome.kind is NodeOutcomeKind.SILENT_BOOT_ACTION:
        plan.site.silent.add(node)
    elif outcome.kind in (NodeOutcomeKind.OK, NodeOutcomeKind.SLOW) and node in plan.site.silent:
        outcome = NodeOutcome(NodeOutcomeKind.SILENT_BOOT_ACTION, "a boot action of an earlier deployment is silent")
    return _Deployment(node, outcome, duration)


def _plan_step(plan: Plan, action: str, deployments: Sequence[_Deployment], start: float) -> Task:
    """Return a step over the nodes that reached it, not yet linked to the root."""
    durations = [
        inf if work.outcome.kind is NodeOutcomeKind.NEVER and work.stops_at(action) else work.duration * _SHARES[action]
        for work in deployments
    ]
    spans = side_by_side(durations, start)
    step = Task(
        action,
        created=start,
        design_ref=plan.root.design_ref,
        parent=plan.root,
        started=start,
        ended=max(end for _, end in spans),
    )
    successes, failures = list[str](), list[str]()
    for work, span in zip(deployments, spans, strict=True):
        if span[0] == inf:
            continue  # no slot is free: the nodes before it never end
        failed = work.stops_at(action) or (bool(work.refused) and action == "apply_node_networking")
        if failed and action != _UNLINKED:
            failures.append(work.node)
        if not failed:
            successes.append(work.node)
        error = work.error if failed else ""
        if action == "deploy_node":
            attempts = plan.add_attempts(step, work.node, span, [error] * ATTEMPTS if failed else [""])
            if not failed:
                attempts.records += records_of(work.node, span[1], "deploy:curtin")
            if work.worked_on:
                result = "Failed deployment" if failed else "Deployed"
                plan.change(work.node, (span[0], "Deploying"), (span[1], result))
        elif action != "bootaction_report":
            plan.add_node(step, work.node, span, error=error)
        elif failed:
            step.messages.append(Message(span[1], f"Node {work.node}: {error}", True, "node", work.node))
        _log_node(plan, work, action, span[1], failed=failed)
    step.successes, step.failures = tuple(successes), tuple(failures)
    return step


def _log_node(plan: Plan, work: _Deployment, action: str, ended: float, *, failed: bool) -> None:
    if not work.worked_on:
        return
    if failed:
        plan.log(ended, "node_failed", phase="deploy", node=work.node, reason=work.error)
    elif action == "deploy_node" and not work.stops_at("bootaction_report"):
        plan.log(ended, "node_deployed", phase="deploy", node=work.node, seconds=round(ended - plan.start, 6))
