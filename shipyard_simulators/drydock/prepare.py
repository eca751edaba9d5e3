"""The plan of prepare_nodes: power on machines that MAAS does not know, wait for them, commission them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from shipyard_simulators.drydock.plan import ATTEMPTS, IDENTIFY_ATTEMPTS, Plan, Span, hardware_records, side_by_side
from shipyard_simulators.drydock.tasks import Task
from shipyard_simulators.outcomes import NodeOutcome, NodeOutcomeKind

_ALREADY = {"Ready", "Allocated", "Deploying", "Deployed"}
_UNDER_WAY = {"Commissioning", "Testing"}
_TO_COMMISSION = {"New", "Broken", "Failed commissioning", "Failed testing"}

# The share of a node's time up to the end of each step; commissioning takes the rest.
_BOOT_SET, _POWERED, _IDENTIFIED = 0.05, 0.1, 0.4

_REASONS = {
    "set_node_boot": "the out-of-band controller did not answer",
    "identify_node": "powered on, but never appeared in MAAS",
    "configure_hardware": "commissioning failed",
}


@dataclass(frozen=True, slots=True)
class _Preparation:
    """The work on one node: its status before, its outcome, and its duration."""

    node: str
    status: str | None
    outcome: NodeOutcome
    duration: float

    @property
    def at_once(self) -> bool:
        return self.status is not None and self.status not in _TO_COMMISSION


def plan_prepare(plan: Plan, nodes: Sequence[str]) -> None:
    """Plan the preparation of the nodes."""
    preparations = [_work(plan, node) for node in nodes]
    spans = side_by_side([work.duration for work in preparations], plan.start)
    successes, failures = list[str](), list[str]()
    for work, span in zip(preparations, spans, strict=True):
        if span[0] == inf:
            continue  # no slot is free: the nodes before it never end
        # A single node has its steps right below the root; several have a task of their own each.
        alone = len(preparations) == 1
        above = plan.root if alone else plan.add(plan.root, "prepare_nodes", span, nodes=[work.node])
        _plan_node(plan, above, work, span)
        above.successes, above.failures = _gathered(above.children, work)
        successes += above.successes
        failures += above.failures
    plan.finish(max((span[1] for span in spans), default=plan.start), successes, failures)


def _work(plan: Plan, node: str) -> _Preparation:
    status = plan.status(node)
    if status is not None and status not in _TO_COMMISSION:
        return _Preparation(node, status, NodeOutcome(NodeOutcomeKind.OK), 0.0)
    outcome = plan.outcome(node, "prepare")
    return _Preparation(node, status, outcome, inf if outcome.kind is NodeOutcomeKind.NEVER else plan.duration(outcome))


def _gathered(steps: Sequence[Task], work: _Preparation) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the success and failure lists of a parent for one node, gathered from all steps below."""
    if work.outcome.kind is NodeOutcomeKind.NEITHER_LIST:
        return (), ()
    return (
        (work.node,) if any(work.node in step.successes for step in steps) else (),
        (work.node,) if any(work.node in step.failures for step in steps) else (),
    )


def _plan_node(plan: Plan, parent: Task, work: _Preparation, span: Span) -> None:
    if work.at_once:
        _plan_known(plan, parent, work, span)
        return
    plan.log(span[0], "node_started", phase="prepare", node=work.node)
    if work.status is None:
        failed = _plan_enlistment(plan, parent, work, span)
        if failed:
            _log_failure(plan, work, span, failed)
            return
        # A node that never becomes ready still appears in MAAS, after the usual time.
        usual = span[0] + plan.duration() if span[1] == inf else span[1]
        known = _point(span[0], usual, _IDENTIFIED)
    else:
        known = span[0]
        _identify_known(plan, parent, work, known)
    _plan_commissioning(plan, parent, work, (known, span[1]), span)


def _plan_known(plan: Plan, parent: Task, work: _Preparation, span: Span) -> None:
    """Leave a machine that MAAS knows as it is: it counts as prepared, unless its status forbids that."""
    _identify_known(plan, parent, work, span[0])
    if work.status in _ALREADY | _UNDER_WAY:
        _step(plan, parent, "configure_hardware", work, span, [""])
        plan.log(span[0], "node_skipped", phase="prepare", node=work.node, status=work.status)
        return
    error = f"MAAS says {work.status}"
    _step(plan, parent, "configure_hardware", work, span, [error])
    _log_failure(plan, work, span, error)


def _plan_enlistment(plan: Plan, parent: Task, work: _Preparation, span: Span) -> str:
    """Plan everything before MAAS knows the node; return the error if it never does."""
    kind = work.outcome.kind
    if kind is NodeOutcomeKind.FAIL and not plan.scenario.quirks["both_lists"] and not _falsely(plan, work):
        error = work.outcome.reason or _REASONS["set_node_boot"]
        step = plan.add(parent, "set_node_boot", span, nodes=[work.node], failures=[work.node])
        plan.add_node(step, work.node, span, error=error)
        return error
    never_seen = kind is NodeOutcomeKind.BOTH_LISTS or (kind is NodeOutcomeKind.FAIL and not _falsely(plan, work))
    usual = span[0] + plan.duration() if span[1] == inf else span[1]
    moments = [_point(span[0], usual, share) for share in (0, _BOOT_SET, _POWERED, 1 if never_seen else _IDENTIFIED)]
    for action, begin, end in zip(("set_node_boot", "power_cycle_node"), moments, moments[1:], strict=False):
        step = plan.add(parent, action, (begin, end), nodes=[work.node], successes=[work.node])
        plan.add_node(step, work.node, (begin, end))
    if never_seen:
        error = work.outcome.reason or _REASONS["identify_node"]
        _step(plan, parent, "identify_node", work, (moments[2], moments[3]), [error] * IDENTIFY_ATTEMPTS)
        return error
    _step(plan, parent, "identify_node", work, (moments[2], moments[3]), [""])
    plan.change(work.node, (moments[3], "New"))
    return ""


def _plan_commissioning(plan: Plan, parent: Task, work: _Preparation, span: Span, whole: Span) -> None:
    kind = work.outcome.kind
    error = work.outcome.reason or _REASONS["configure_hardware"]
    if _falsely(plan, work):
        # The second attempt reads an old status; the third finds Commissioning and takes it as done.
        _step(plan, parent, "configure_hardware", work, span, [error, error, ""])
        aftermath = span[1] + (whole[1] - whole[0]) / 4
        plan.change(work.node, (span[0], "Commissioning"), (aftermath, "Failed commissioning"))
        plan.log(span[1], "node_falsely_prepared", node=work.node, reason=error)
    elif kind in (NodeOutcomeKind.FAIL, NodeOutcomeKind.BOTH_LISTS, NodeOutcomeKind.NEITHER_LIST):
        _step(plan, parent, "configure_hardware", work, span, [error] * ATTEMPTS)
        plan.change(work.node, (span[0], "Commissioning"), (span[1], "Failed commissioning"))
        _log_failure(plan, work, whole, error)
    else:
        last = _step(plan, parent, "configure_hardware", work, span, [""])
        last.records += hardware_records(work.node, span[1], plan.scenario.parts(work.node)) if span[1] < inf else []
        plan.change(work.node, (span[0], "Commissioning"), (span[1], "Ready"))
        plan.log(span[1], "node_prepared", phase="prepare", node=work.node, seconds=round(whole[1] - whole[0], 6))


def _falsely(plan: Plan, work: _Preparation) -> bool:
    """Return whether Drydock reports the failed commissioning of this node as success."""
    return work.outcome.kind is NodeOutcomeKind.FALSE_SUCCESS or (
        work.outcome.kind is NodeOutcomeKind.FAIL and plan.scenario.quirks["failed_commissioning_is_success"]
    )


def _step(plan: Plan, parent: Task, action: str, work: _Preparation, span: Span, errors: Sequence[str]) -> Task:
    """Add a step with attempts at one node below the parent; the last attempt decides."""
    step = plan.add(parent, action, span, nodes=[work.node])
    if errors[-1]:
        step.failures = (work.node,)
    else:
        step.successes = (work.node,)
    return plan.add_attempts(step, work.node, span, errors)


def _identify_known(plan: Plan, parent: Task, work: _Preparation, moment: float) -> None:
    """Add the step that identifies a machine that MAAS knows: it ends at once, without an attempt below it."""
    plan.add(parent, "identify_node", (moment, moment), nodes=[work.node], successes=[work.node])


def _log_failure(plan: Plan, work: _Preparation, span: Span, error: str) -> None:
    plan.log(span[1], "node_failed", phase="prepare", node=work.node, reason=error)


def _point(begin: float, end: float, share: float) -> float:
    return begin + (end - begin) * share
