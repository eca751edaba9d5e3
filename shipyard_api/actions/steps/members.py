"""Asking which nodes the groups of a rollout hold, and what is known of them before the first is sent."""

from msgspec.structs import replace

from shipyard_api.actions.steps import pacing, rollout_polls, uncounted
from shipyard_api.actions.steps.acceptance import Acceptance, PlanAcceptance
from shipyard_api.actions.steps.rollout_messages import Members, SelectMembers
from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.actions.steps.settling import released, unprepared
from shipyard_api.actions.steps.software.software_stage import NoPlan
from shipyard_api.actions.steps.specifications import Planned, Specifications
from shipyard_api.actions.steps.taking_down import TakesDown
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.groups import MembersKnown
from shipyard_api.domain.facts.nodes import NodesKept
from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.rollout.ways import Way
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.workflow.step import Folded


def select(
    question: SelectMembers,
    store: Store,
    provisioner: Provisioner,
    acceptance: PlanAcceptance | None,
    specifications: Specifications | None,
    takes_down: TakesDown | None,
    *,
    way: Way,
) -> Members:
    """Return the members; the provisioner selects them from the design. Raises ports.errors."""
    groups = question.inputs.strategy.groups
    design = provisioner.design_reference(question.inputs.revision)
    selected = provisioner.select_nodes(design, [group.selectors for group in groups])
    by_group = {group.name: nodes for group, nodes in zip(groups, selected, strict=True)}
    accepted = [by_group[group.name] for group in groups if group.accept]
    plan = _plan(question, acceptance, frozenset().union(*accepted)) if accepted else None
    nodes = frozenset().union(*selected)
    to_release = rollout_polls.to_release(store, provisioner, nodes) if way.installs else {}
    planned = Planned()
    if specifications is not None:
        planned = specifications.plan(question.inputs, nodes, services=way is Way.SERVICE)
    interrupted, revision = sorted(question.inputs.ways.interrupted & nodes), question.inputs.revision
    clusters = takes_down.members(revision, interrupted) if takes_down and interrupted else {}
    return Members(by_group, plan, to_release, uncounted.ask(store), planned, clusters)


def fold(state: RolloutState, report: Members, provisioner: str) -> Folded[RolloutState]:
    """Begin the rollout with its members. ``provisioner``: its name."""
    if isinstance(report.acceptance, NoPlan):
        state.failed = f"the acceptance tasks of the groups cannot run: {report.acceptance.reason}"
        return Folded(state)
    state.acceptance = report.acceptance
    if report.clusters:
        state.inputs = replace(state.inputs, ways=replace(state.inputs.ways, clusters=report.clusters))
    strategy, members = state.inputs.strategy, report.by_group
    pace = pacing.of(state.inputs, members)
    rollout = state.rollout = Rollout(strategy, members, state.inputs.configuration.mode, pace)
    planned, kept = report.planned, tuple(node for node in state.kept if node in rollout.nodes)
    given = {node: text for node, text in planned.given.items() if node not in kept}
    facts: list[Fact] = [MembersKnown.of(strategy, members, given), *uncounted.apply(state, report.uncounted)]
    if planned.left:
        state.left = planned.left.nodes
        facts.append(planned.left)
    if kept:
        rollout.restore(nodes=dict.fromkeys(kept, NodeStatus.SUCCESS))
        facts.append(NodesKept(kept, state.kept_from))
    to_release = {node: label for node, label in report.to_release.items() if node not in kept}
    rollout.restore(nodes=dict.fromkeys(to_release, NodeStatus.PREPARED), spared=to_release)
    facts.extend(released(provisioner, members, to_release))
    if state.usual.job(Phase.PREPARE) is None:
        left = [node for node in rollout.nodes if node not in kept]
        rollout.restore(nodes=dict.fromkeys(left, NodeStatus.PREPARED), spared=left)
        facts.extend(unprepared(members, left))
    return Folded(state, tuple(facts))


def _plan(
    question: SelectMembers, acceptance: PlanAcceptance | None, nodes: frozenset[NodeName]
) -> Acceptance | NoPlan:
    if acceptance is None:
        return NoPlan("this action runs none")
    return acceptance.plan(question.action, question.inputs.revision, question.inputs.strategy, nodes)
