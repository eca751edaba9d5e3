"""Asking which nodes the groups of a rollout hold, and what is known of them before the first is sent."""

from shipyard_api.actions.steps import rollout_polls, uncounted
from shipyard_api.actions.steps.acceptance import Acceptance, PlanAcceptance
from shipyard_api.actions.steps.rollout_messages import Kind, Members, SelectMembers
from shipyard_api.actions.steps.software.software_stage import NoPlan
from shipyard_api.actions.steps.specifications import Planned, Specifications
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.storage.unit_of_work import Store


def select(
    question: SelectMembers,
    store: Store,
    provisioner: Provisioner,
    acceptance: PlanAcceptance | None,
    specifications: Specifications | None,
    *,
    kind: Kind,
) -> Members:
    """Return the members; the provisioner selects them from the design. Raises ports.errors."""
    groups = question.inputs.strategy.groups
    design = provisioner.design_reference(question.inputs.revision)
    selected = provisioner.select_nodes(design, [group.selectors for group in groups])
    by_group = {group.name: nodes for group, nodes in zip(groups, selected, strict=True)}
    accepted = [by_group[group.name] for group in groups if group.accept]
    plan = _plan(question, acceptance, frozenset().union(*accepted)) if accepted else None
    nodes = frozenset().union(*selected)
    released = kind in (Kind.DEPLOYMENT, Kind.PRESERVING)
    to_release = rollout_polls.to_release(store, provisioner, nodes) if released else {}
    planned = Planned()
    if specifications is not None:
        planned = specifications.plan(question.inputs, nodes, services=kind is Kind.SERVICE)
    return Members(by_group, plan, to_release, uncounted.ask(store), planned)


def _plan(
    question: SelectMembers, acceptance: PlanAcceptance | None, nodes: frozenset[NodeName]
) -> Acceptance | NoPlan:
    if acceptance is None:
        return NoPlan("this action runs none")
    return acceptance.plan(question.action, question.inputs.revision, question.inputs.strategy, nodes)
