"""The plans of all other actions: checks, site steps, destroying and relabelling nodes."""

from collections.abc import Callable, Mapping, Sequence
from math import inf

from shipyard_simulators.drydock.deploy import plan_deploy
from shipyard_simulators.drydock.plan import ATTEMPTS, Plan, side_by_side
from shipyard_simulators.drydock.prepare import plan_prepare
from shipyard_simulators.drydock.tasks import Message, Task
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind, TaskOutcomeKind

_TO_RELEASE = {
    "Allocated",
    "Deployed",
    "Deploying",
    "Failed deployment",
    "Releasing failed",
    "Failed disk erasing",
}


def plan_action(plan: Plan, nodes: Sequence[str]) -> None:
    """Plan the task; ``nodes`` are those that its filter selected."""
    _PLANNERS[plan.root.action](plan, nodes)


def plan_failure(plan: Plan, text: str) -> None:
    """Make the whole task fail at once."""
    plan.root.failed = True
    plan.root.messages.append(Message(plan.start, text, True, "NA", "NA"))
    plan.finish(plan.start, (), ())


def _plan_validate_design(plan: Plan, _nodes: Sequence[str]) -> None:
    plan.finish(plan.start + plan.duration(), (), ())
    # An upstream defect: this task fails for any design.
    plan.root.failed = True


def _plan_site_step(actions: Sequence[str]) -> Callable[[Plan, Sequence[str]], None]:
    def plan_site_step(plan: Plan, _nodes: Sequence[str]) -> None:
        outcome = plan.scenario.task_outcome(plan.root.action)
        kind = outcome.kind
        start = plan.start
        whole = plan.duration(plan.whole_outcome())
        for index, action in enumerate(actions):
            never = kind is TaskOutcomeKind.NEVER and index == len(actions) - 1
            end = inf if never else plan.start + whole * (index + 1) / len(actions)
            step = plan.add(plan.root, action, (start, end))
            step.failed = kind is TaskOutcomeKind.FAIL or (kind is TaskOutcomeKind.PARTIAL and index == 0)
            if step.failed:
                text = outcome.reason or f"{action} failed"
                step.messages.append(Message(end, text, True, "NA", "NA"))
            start = end
        plan.finish(start, (), ())
        plan.root.failed = kind is TaskOutcomeKind.FAIL
        plan.root.partial = kind is TaskOutcomeKind.PARTIAL

    return plan_site_step


def _plan_verify_nodes(plan: Plan, nodes: Sequence[str]) -> None:
    # Node results stay one level down: the lists of the root are empty.
    step = _plan_over_nodes(plan, "interrogate_oob", nodes)
    plan.finish(step.ended if step else plan.start, (), ())
    plan.root.failed = bool(step and step.failures)


def _plan_relabel_nodes(plan: Plan, nodes: Sequence[str]) -> None:
    step = _plan_over_nodes(plan, "relabel_node", nodes)
    if step:
        plan.finish(step.ended, step.successes, step.failures)
    else:
        plan.finish(plan.start, (), ())


def _plan_over_nodes(plan: Plan, action: str, nodes: Sequence[str]) -> Task | None:
    """Add one step over all nodes below the root; the outcome of the whole task decides its result."""
    if not nodes:
        return None
    outcome = plan.whole_outcome()
    duration = inf if outcome.kind is NodeOutcomeKind.NEVER else plan.duration(outcome)
    spans = side_by_side([duration] * len(nodes), plan.start)
    step = plan.add(plan.root, action, (plan.start, max(end for _, end in spans)))
    error = (outcome.reason or f"{action} failed") if outcome.kind is NodeOutcomeKind.FAIL else ""
    for node, span in zip(nodes, spans, strict=True):
        if span[0] < inf:
            plan.add_node(step, node, span, error=error)
    step.successes, step.failures = ((), tuple(nodes)) if error else (tuple(nodes), ())
    return step


def _plan_destroy_nodes(plan: Plan, nodes: Sequence[str]) -> None:
    if not nodes:
        plan.finish(plan.start, (), ())
        return
    known = {node: plan.status(node) for node in nodes}
    outcomes = {
        node: plan.outcome(node, "destroy") if status else NodeOutcome(NodeOutcomeKind.OK)
        for node, status in known.items()
    }
    durations = [
        0.0 if known[node] is None else inf if outcome.kind is NodeOutcomeKind.NEVER else plan.duration(outcome)
        for node, outcome in outcomes.items()
    ]
    spans = side_by_side(durations, plan.start)
    step = plan.add(plan.root, "destroy_node", (plan.start, max(end for _, end in spans)))
    successes, failures = list[str](), list[str]()
    for node, span in zip(nodes, spans, strict=True):
        if span[0] == inf:
            continue
        status, outcome = known[node], outcomes[node]
        if status is None:
            plan.add_attempts(step, node, span, [""])
            successes.append(node)
            plan.log(span[0], "node_skipped", phase="destroy", node=node, status=None)
            continue
        plan.log(span[0], "node_started", phase="destroy", node=node)
        error = outcome.reason or "erasing the disks failed"
        releasing = (span[0], "Releasing" if status in _TO_RELEASE else status)
        if outcome.kind is NodeOutcomeKind.FALSE_SUCCESS or (
            outcome.kind is NodeOutcomeKind.FAIL and plan.scenario.quirks["failed_erase_is_success"]
        ):
            # The machine is deleted although it was not erased. The second attempt finds none, which is success.
            plan.add_attempts(step, node, span, [error, ""])
            successes.append(node)
            plan.change(node, releasing, (span[1], None))
            plan.log(span[1], "node_falsely_destroyed", node=node, reason=error)
        elif outcome.kind is NodeOutcomeKind.FAIL:
            plan.add_attempts(step, node, span, [error] * ATTEMPTS)
            failures.append(node)
            # Only a release erases disks; any other machine stays as it is.
            plan.change(node, releasing, (span[1], "Failed disk erasing" if status in _TO_RELEASE else status))
            plan.log(span[1], "node_failed", phase="destroy", node=node, reason=error)
        else:
            plan.add_attempts(step, node, span, [""])
            successes.append(node)
            plan.change(node, releasing, (span[1], None))
            plan.log(span[1], "node_destroyed", phase="destroy", node=node)
    step.successes, step.failures = tuple(successes), tuple(failures)
    plan.finish(step.ended, successes, failures)


_PLANNERS: Mapping[str, Callable[[Plan, Sequence[str]], None]] = {
    "validate_design": _plan_validate_design,
    "verify_site": _plan_site_step(("validate_node_services",)),
    "prepare_site": _plan_site_step(
        ("create_network_template", "configure_user_credentials", "configure_node_provisioner")
    ),
    "verify_nodes": _plan_verify_nodes,
    "prepare_nodes": plan_prepare,
    "deploy_nodes": plan_deploy,
    "destroy_nodes": _plan_destroy_nodes,
    "relabel_nodes": _plan_relabel_nodes,
}
