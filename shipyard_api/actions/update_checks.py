"""What an update of a site does to changed servers: checks that compare the design with what each was given."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from shipyard_api.actions.action import Case, Desk
from shipyard_api.actions.admission import last_with
from shipyard_api.actions.frozen_software import has_graph
from shipyard_api.actions.inputs import teardown_inputs
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.deploy_steps.templates import TemplateStep
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.errors import InvalidDesign, NothingDrains, TooManyReinstalls
from shipyard_api.domain.findings import Finding, errors, in_short, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.policy.policy import Rule
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.rollout.ways import Ways
from shipyard_api.domain.specification.given import LABELS, PLACEMENT, STEPS, labelled
from shipyard_api.domain.specification.impact import NodeImpact
from shipyard_api.domain.specification.kinds import Aspect

TEARDOWN_HISTORY = 50
"""How many actions the durations of teardowns are taken from."""

Impacts = Mapping[NodeName, NodeImpact]


def changes_known(case: Case, desk: Desk) -> Case:
    """Choose what is done to each deployed server that differs from the design, by its class."""
    revision = Revision(case.inputs.revision)
    nodes = case.site.nodes(desk.inventory(revision))
    impacts = desk.specifications.impacts(
        revision,
        nodes,
        case.steps.chosen,
        deployed=desk.plan_steps.deployed(nodes),
        services=not desk.rules.limits.no_service,
    )
    case = _interrupted(_untasked(case, desk, nodes), desk, impacts)
    return case if case.refusal else _relabelled(case, desk, impacts)


def servers_removed(case: Case, desk: Desk) -> Case:
    """Choose the servers that have left the design, each with the last revision that has it, if they are removed."""
    if not case.parameters.removes:
        return case
    designed = desk.inventory(Revision(case.inputs.revision)).nodes.keys()
    gone = desk.store.read(
        lambda tx: {*tx.specifications.names(), *(node.name for node in tx.observations.left_nodes(ActionId("")))}
    )
    revisions = {node: last_with([node], desk) for node in sorted(gone - designed)}
    removed = {node: revision for node, revision in revisions.items() if revision}
    if not removed:
        return case
    gone_for_good = warning(
        "ServersRemoved", f"{len(removed)} server(s) are taken down for good: {in_short([*removed])}."
    )
    case = replace(case, warnings=(*case.warnings, gone_for_good))
    if not desk.rules.drains and not case.parameters.force:
        return case.refused(NothingDrains(sorted(removed)))
    return _having_limits(case.having(removed=removed), desk)


def _untasked(case: Case, desk: Desk, nodes: Collection[NodeName]) -> Case:
    """Set the servers that have run tasks, if the site has no task graph any more; nothing takes back what they did."""
    with desk.store.begin() as tx:
        records = {} if has_graph(tx, case.parameters.software) else tx.specifications.of(nodes)
    untasked = sorted(node for node, record in records.items() if record.aspects.get(Aspect.SOFTWARE.value))
    return case.having(untasked=tuple(untasked)) if untasked else case


def _interrupted(case: Case, desk: Desk, impacts: Impacts) -> Case:
    """Set the ways of the servers that are interrupted: those to install again, and those that run new steps."""
    choice, parameters = case.parameters.on_change, case.parameters
    reinstalled = tuple(sorted(node for node, entry in impacts.items() if entry.impact in choice.reinstalled))
    serviced = tuple(sorted(node for node, entry in impacts.items() if entry.impact in choice.serviced))
    if parameters.max_reinstalls is not None and len(reinstalled) > parameters.max_reinstalls:
        return case.refused(TooManyReinstalls(case.action.name, reinstalled, parameters.max_reinstalls))
    if not reinstalled and not serviced:
        return case
    if not desk.rules.drains and not parameters.force:
        return case.refused(NothingDrains(sorted((*reinstalled, *serviced))))
    case = _having_limits(case, desk)
    site, limits = case.site, desk.protection(case).limits
    configuration = replace(site.configuration, mode=site.configuration.mode._replace(max_parallel_groups=1))
    ways = Ways(
        reinstalled,
        serviced,
        at_once=parameters.max_parallel_nodes,
        drain_interval=site.configuration.drain_interval,
        drain_timeout=limits.drain,
        differs={node: impacts[node].aspects for node in (*reinstalled, *serviced)},
    )
    policy = _with_teardowns(case, desk) if reinstalled else site.policy
    case = case.having(site=replace(site, configuration=configuration, ways=ways, policy=policy))
    case = replace(case, warnings=(*case.warnings, *_announced(reinstalled, serviced)))
    return _with_service_steps(case, desk, {node: impacts[node].aspects for node in serviced})


def _with_teardowns(case: Case, desk: Desk) -> PolicyInputs | None:
    """Return the policy of the site; if it has windows, with the time that a server takes to be taken down."""
    policy = case.site.policy
    if policy is None or not policy.asks(Rule.WINDOWS):
        return policy
    history = desk.store.read(lambda tx: tx.nodes.teardown_history(actions=TEARDOWN_HISTORY))
    return policy.taking_down(history, case.inputs.longest_teardown(desk.rules.time_scale))


def _announced(reinstalled: Sequence[NodeName], serviced: Sequence[NodeName]) -> Iterator[Finding]:
    """Return what the action does to running servers, which its caller reads before it runs."""
    if reinstalled:
        what = f"{len(reinstalled)} server(s) are taken down and deployed again, group by group"
        yield warning("ServersReinstalled", f"{what}: {in_short(reinstalled)}.")
    if serviced:
        what = f"{len(serviced)} server(s) are drained, run changed deploy steps, and are uncordoned"
        yield warning("ServersServiced", f"{what}: {in_short(serviced)}.")


def _with_service_steps(case: Case, desk: Desk, changed: Mapping[NodeName, Collection[str]]) -> Case:
    """Let each server that is serviced run the steps of its changed templates, and only these."""
    nodes: dict[str, list[NodeName]] = {}
    for node, aspects in changed.items():
        for aspect in aspects:
            if aspect.startswith(STEPS):
                nodes.setdefault(aspect.removeprefix(STEPS), []).append(node)
    steps: dict[NodeName, tuple[TemplateStep, ...]] = {}
    for template, members in sorted(nodes.items()):
        plan = desk.plan_steps.service(template, "", members)
        if faults := errors(plan.findings):
            return case.refused(InvalidDesign(faults))
        for node, requested in plan.requested.items():
            steps[node] = (*steps.get(node, ()), *requested)
    return case.having(site=replace(case.site, deploy_steps={**case.site.deploy_steps, **steps}))


def _relabelled(case: Case, desk: Desk, impacts: Impacts) -> Case:
    """Set the labels of deployed nodes that differ from the design in nothing that the update leaves alone.

    Where nothing sets labels, such nodes are left as they are. A server that is installed again gets all labels.
    """
    revision, limits, choice = Revision(case.inputs.revision), desk.rules.limits, case.parameters.on_change
    machines, kept = desk.inventory(revision), choice.done - choice.reinstalled
    differ = {node: entry.aspects for node, entry in sorted(impacts.items()) if entry.impact in kept and entry.aspects}
    differ = {node: aspects for node, aspects in differ.items() if {LABELS, PLACEMENT}.intersection(aspects)}
    wanted = desk.specifications.wanted(revision, differ.keys(), None)
    labels = {node: dict(sorted(machines.nodes[node].labels)) for node, aspects in differ.items() if LABELS in aspects}
    settable = labels if limits.relabels or desk.rules.cluster else {}
    found: dict[str, object] = {
        "placed": {node: wanted[node][PLACEMENT] for node in differ if node in settable},
        "moved": {node: wanted[node][PLACEMENT] for node in differ if node not in labels},
    }
    if settable and limits.relabels:
        found["relabelled"] = {node: labelled(each) for node, each in settable.items()}
    elif settable:
        found["labels"] = settable
    return case.having(**{name: value for name, value in found.items() if value})


def _having_limits(case: Case, desk: Desk) -> Case:
    limits = desk.protection(case).limits
    return case.having(**teardown_inputs(case.parameters, limits, destroys=False))
