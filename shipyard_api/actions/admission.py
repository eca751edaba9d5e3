"""What must hold before an action is accepted: checks that each action lists in its order.

Contract: shipyard-actions, chapter 4. A check gets the case so far and returns it with its findings, or refused; the
first refusal ends the admission. Running actions are not checked here: they may end before this action is stored.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from shipyard_api.actions.action import Action, Case, Desk
from shipyard_api.actions.inputs import teardown_inputs
from shipyard_api.domain.deploy_steps.planning import StepPlan, requested_of
from shipyard_api.domain.deployment_configuration import PhaseLimits
from shipyard_api.domain.documents import Revision, Version
from shipyard_api.domain.drift.differences import why_down
from shipyard_api.domain.error_kinds import Invalid, ShipyardError
from shipyard_api.domain.errors import (
    IntermediateCommits,
    InvalidDesign,
    InvalidParameters,
    NodesDown,
    NoTargetRevision,
    NothingCommitted,
    NothingDrains,
    NothingRelabels,
    NoWindowOpens,
    TooMuchTouched,
    UnknownNodes,
)
from shipyard_api.domain.findings import error, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import (
    MODE,
    PRESERVE_LOCAL_STORAGE,
    RUNBOOK,
    TARGET_NODES,
    RedeployMode,
    TargetRevision,
)
from shipyard_api.domain.remedies import bring_in
from shipyard_api.domain.rollout.policy.budgets import batch_size, domains
from shipyard_api.domain.rollout.policy.policy import Rule
from shipyard_api.domain.rollout.policy.reading import PolicyInputs
from shipyard_api.domain.rollout.policy.survey import (
    closed_now,
    policy_not_passed,
    policy_passed,
    smaller_batches,
)
from shipyard_api.domain.specification.given import PLACEMENT, labelled
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.targets import BlastRadius, restricted
from shipyard_api.ports.documents import COMMITS, SITE_ACTIONS, RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import PeerError

# The check only needs to know whether there are any; the log names this many.
_COMMITS_READ = 100
_ANY: Any = {"status": (), "prefix": "", "after": ""}
VERSIONS = {
    TargetRevision.COMMITTED: Version.COMMITTED,
    TargetRevision.SUCCESSFUL_SITE_ACTION: Version.SUCCESSFUL_SITE_ACTION,
    TargetRevision.LAST_SITE_ACTION: Version.LAST_SITE_ACTION,
}
_NEWER = " If it is new in a revision that failed, use target-revision=last-site-action."


def committed(case: Case, _: Desk) -> Case:
    """Refuse without committed documents."""
    return case if case.committed else case.refused(NothingCommitted())


def commits_used(case: Case, desk: Desk) -> Case:
    """Refuse if revisions were committed since the last site action, beside the committed one (seed 004).

    Before the first site action, revision 0 counts as the last one acted on.
    """
    acted_on = case.heads.with_any(*SITE_ACTIONS) or Revision(0)
    since = desk.designs.revisions(tags=[tag.value for tag in COMMITS], after=acted_on, limit=_COMMITS_READ)
    commits = [record.revision for record in since if case.committed and record.revision < case.committed]
    case = replace(case, commits=commits)
    return case.refused(IntermediateCommits()) if commits and not case.allows_commits else case


def of_target_revision(case: Case, _: Desk) -> Case:
    """Work from the revision that ``target-revision`` names; from the committed one if there is no such revision."""
    named = _named(case)
    version = VERSIONS[case.parameters.target_revision] if case.parameters.target_revision else None
    return replace(case.having(revision=named) if named else case, version=version)


def target_revision_exists(case: Case, _: Desk) -> Case:
    """Refuse if there is no revision that ``target-revision`` names."""
    target = case.parameters.target_revision
    return case.refused(NoTargetRevision(target.value)) if target and _named(case) is None else case


def of_last_with_targets(case: Case, desk: Desk) -> Case:
    """Work from the last revision that has the targets: the committed one, or that of the last action on a node."""
    found = last_with(case.parameters.targets, desk, Revision(case.inputs.revision))
    return case.having(revision=found) if found else case


def last_with(nodes: Sequence[NodeName], desk: Desk, *newest: Revision) -> Revision | None:
    """Return the last revision that has these nodes: one of the newest, or that of the last action on one of them."""
    actions = desk.store.read(
        lambda tx: {record.action for record in tx.nodes.latest(names=nodes, limit=len(nodes), **_ANY)}
    )
    worked = desk.store.read(lambda tx: {action.revision for action in tx.actions.by_ids(actions)})
    for revision in (*newest, *sorted(filter(None, worked), reverse=True)):
        with suppress(RenderingFailed, UnknownRevision):
            if desk.inventory(revision).nodes.keys() >= set(nodes):
                return revision
    return None


def design_sound(case: Case, desk: Desk) -> Case:
    """Read the committed design; refuse if it cannot be used, or has errors and they are not accepted.

    A target revision only decides what is put on servers: limits and protection are those of the committed design.
    """
    design = desk.design(case.action, case.committed or Revision(case.inputs.revision))
    site = design.inputs and replace(design.inputs, revision=case.inputs.revision)
    case = replace(case.having(site=site), findings=design.findings)
    if design.inputs is None or (errors(design.findings) and not case.parameters.continues_on_fail):
        return case.refused(InvalidDesign(design.findings))
    return case


def binding(action: Action, policy: PolicyInputs) -> PolicyInputs:
    """Return the rules of a policy that bind the action and have a meaning for it."""
    bound = policy.binds(action.name, usually=action.takes_nodes)
    policy = policy.only(action.rules if bound else {Rule.LATE})
    # Nobody knows how long a teardown takes.
    return policy if action.deploys or action.services else replace(policy, seconds={})


def paced(case: Case, desk: Desk) -> Case:
    """Keep of the site's policy the rules that bind the action and have a meaning for it.

    ``force`` passes its budgets and windows, if the caller may; a gate between waves is approved instead.
    """
    action, policy = case.action, case.site.policy
    if policy is None:
        return case
    policy = binding(action, policy)
    if case.parameters.force and policy.can_be_passed:
        found = policy_passed(action.name) if case.may_pass_policy else policy_not_passed(action.name)
        policy = replace(policy, passed=case.may_pass_policy)
        case = replace(case, warnings=(*case.warnings, found))
    elif not action.on_site and (found_closed := closed_now(policy, desk.rules.now())):
        case = replace(case, warnings=(*case.warnings, found_closed))
    kept = policy if policy.paces or policy.passed or policy.lateness else None
    return case.having(site=replace(case.site, policy=kept))


def batches_fit(case: Case, desk: Desk) -> Case:
    """Take down as many targets at a time as the budgets of the policy allow."""
    policy, wanted = case.site.policy, case.parameters.max_parallel_nodes
    if policy is None or case.inputs.wipe is None:
        return case
    targets = case.parameters.targets
    size, budget = batch_size(targets, wanted, domains(policy.policy.budgets, dict.fromkeys(targets), policy.topology))
    if budget is None:
        return case
    case = replace(case, warnings=(*case.warnings, smaller_batches(budget, size, wanted)))
    return case.having(max_parallel_nodes=size)


def windows_open(case: Case, desk: Desk) -> Case:
    """Refuse if the windows of the site's rollout policy let no server begin any more."""
    found = desk.rules.closed(case.site)
    case = replace(case, warnings=(*case.warnings, *found))
    return case.refused(NoWindowOpens(found)) if found else case


def software_runs(case: Case, desk: Desk) -> Case:
    """Refuse a run with unknown nodes or tasks, or with nothing to run."""
    return case.refused(desk.check_software(Revision(case.inputs.revision), case.parameters.software))


def on_targets(case: Case, desk: Desk) -> Case:
    """Narrow the action to its targets; refuse if the design lacks one."""
    parameters, revision = case.parameters, Revision(case.inputs.revision)
    try:
        known = desk.inventory(revision).nodes
    except RenderingFailed as failed:
        return case.refused(InvalidDesign(failed.findings))
    usual = parameters.target_revision is TargetRevision.SUCCESSFUL_SITE_ACTION
    newer = _NEWER if usual and case.action.deploys else ""
    unknown = [
        error("UnknownNode", f"Revision {revision} has no node {node}.{newer}")
        for node in parameters.targets
        if node not in known
    ]
    if unknown:
        return case.refused(UnknownNodes(unknown))
    return case.having(site=replace(case.site, targets=parameters.targets))


def disks_preserved(case: Case, desk: Desk) -> Case:
    """Refuse to preserve local storage if the provisioner cannot."""
    limits = desk.rules.limits
    if not case.parameters.preserves_local_storage or limits.preserves_storage:
        return case
    message = f"{limits.system} erases all disks of a machine and cannot preserve local storage."
    return case.refused(_wrong("StorageNotPreserved", message, PRESERVE_LOCAL_STORAGE))


def rebuild_possible(case: Case, desk: Desk) -> Case:
    """Refuse to rebuild servers if the provisioner cannot."""
    limits = desk.rules.limits
    if case.parameters.mode is not RedeployMode.REBUILD or not limits.no_rebuild:
        return case
    return case.refused(_wrong("NoRebuild", f"{limits.system} cannot rebuild servers: {limits.no_rebuild}.", MODE))


def cleaning_possible(case: Case, desk: Desk) -> Case:
    """Refuse a runbook if the provisioner runs none before a deployment, or if the action keeps disks."""
    limits, parameters = desk.rules.limits, case.parameters
    if not parameters.runbook:
        return case
    if limits.no_clean:
        message = f"{limits.system} cannot run steps on servers before it deploys them: {limits.no_clean}."
        return case.refused(_wrong("NoCleaning", message, RUNBOOK))
    if parameters.mode is RedeployMode.REBUILD or parameters.preserves_local_storage:
        message = f"A runbook may erase disks, which {MODE}=rebuild and {PRESERVE_LOCAL_STORAGE} keep: leave one out."
        return case.refused(_wrong("CleaningErases", message, RUNBOOK))
    return case


def teardown_limits(case: Case, desk: Desk) -> Case:
    """Set how servers are drained and taken down; refuse limits that cannot work."""
    parameters = case.parameters
    limits, faults = desk.protection(case).limits.with_parameters(parameters.limits)
    if faults:
        return case.refused(InvalidParameters(faults))
    return case.having(**teardown_inputs(parameters, limits, destroys=case.action.tears_down))


def something_drains(case: Case, desk: Desk) -> Case:
    """Refuse a teardown where nothing drains servers, unless it is forced."""
    drains = desk.rules.drains or case.parameters.force
    return case if drains else case.refused(NothingDrains(case.parameters.targets))


def servers_up(case: Case, desk: Desk) -> Case:
    """Refuse targets that are down by their newest record."""
    down = [
        node for node in desk.store.read(lambda tx: tx.observations.down(case.parameters.targets)) if node.taken_down
    ]
    found = [error("NodeDown", f"Node {node.name} is down, {why_down(node)}.") for node in down]
    return case.refused(NodesDown(found)) if found else case


def labels_settable(case: Case, desk: Desk) -> Case:
    """Refuse if nothing sets labels; take them from the design if Kubernetes is asked directly."""
    limits = desk.rules.limits
    if not limits.relabels and not desk.rules.cluster:
        return case.refused(NothingRelabels(limits.system))
    known = desk.inventory(Revision(case.inputs.revision)).nodes
    labels = {node: dict(sorted(known[node].labels)) for node in case.parameters.targets}
    wanted = desk.specifications.wanted(case.inputs.revision, labels.keys(), None)
    placed = {node: wanted[node][PLACEMENT] for node in labels}
    if limits.relabels:
        return case.having(relabelled={node: labelled(each) for node, each in labels.items()}, placed=placed)
    return case.having(labels=labels, placed=placed)


def in_cluster(case: Case, desk: Desk) -> Case:
    """Refuse targets that the cluster does not have. A silent cluster is left to the action, which waits for it."""
    outside: Sequence[NodeName] = ()
    with suppress(PeerError):
        outside = desk.outside_cluster(case.parameters.targets)
    found = [error("NodeNotInCluster", f"Node {node} is not in the cluster: {bring_in(node)}.") for node in outside]
    return case.refused(NodesDown(found)) if found else case


def service_possible(case: Case, desk: Desk) -> Case:
    """Refuse if the provisioner cannot run steps on deployed servers."""
    limits = desk.rules.limits
    if not limits.no_service:
        return case
    finding = error("NoService", f"{limits.system} cannot run steps on deployed servers: {limits.no_service}.")
    return case.refused(InvalidParameters([finding]))


def on_deployed_groups(case: Case, desk: Desk) -> Case:
    """Narrow the strategy to the groups that hold the nodes: the targets, or every deployed one.

    One group at a time is drained, for as long as a drain may take.
    """
    site = case.site
    try:
        machines = desk.inventory(Revision(site.revision))
    except RenderingFailed as failed:
        return case.refused(InvalidDesign(failed.findings))
    members = {group.name: select(group.selectors, machines) for group in site.strategy.groups}
    grouped = frozenset[NodeName]().union(*members.values())
    nodes: Collection[NodeName] = case.parameters.targets
    if unknown := [node for node in nodes if node not in grouped]:
        text = f"No deployment group of revision {site.revision} has the node"
        return case.refused(UnknownNodes([error("UnknownNode", f"{text} {node}.") for node in unknown]))
    nodes = nodes or desk.store.read(lambda tx: tx.nodes.deployed(grouped))
    if not nodes:
        message = f"No server of the deployment groups is deployed. Name servers in {TARGET_NODES}."
        return case.refused(_wrong("NothingToService", message, TARGET_NODES))
    drain = case.inputs.limits.drain if case.inputs.limits else site.configuration.teardown.drain
    configuration = replace(
        site.configuration,
        prepare_nodes=PhaseLimits(site.configuration.drain_interval, drain),
        mode=site.configuration.mode._replace(max_parallel_groups=1),
        burn_in=None,
    )
    groups = restricted(site.strategy, members, nodes)
    return case.having(site=replace(site, groups=groups, configuration=configuration))


def share_small(case: Case, desk: Desk) -> Case:
    """Warn if the action touches too much of the site, and refuse it unless it is forced."""
    if desk.rules.max_share >= 1:
        return case
    try:
        machines = desk.inventory(case.committed or Revision(case.inputs.revision))
    except RenderingFailed:
        return case
    name = case.action.name
    touched = case.site.nodes(machines) if case.action.on_site else case.parameters.targets
    share = BlastRadius(len(touched), len(machines.nodes), desk.rules.max_share)
    if not share.too_large:
        return case
    case = replace(case, warnings=(*case.warnings, share.finding(name)))
    return case if case.parameters.force else case.refused(TooMuchTouched(name, share))


def acceptance_runs(case: Case, desk: Desk) -> Case:
    """Refuse acceptance tasks that cannot run. Not even continue-on-fail: no node could ever be accepted."""
    faults = errors(desk.check_acceptance(case.inputs.revision))
    return case.refused(InvalidDesign(faults)) if faults else case


def site_steps(case: Case, desk: Desk) -> Case:
    """Plan the deploy steps of all nodes; the provisioner is asked only if a template is for one of them.

    Of the whole design: which nodes the groups hold, the provisioner says when the action runs.
    """
    plan = desk.plan_steps.skip_deployed(case.inputs.revision)
    return _planned(case, plan, InvalidDesign(plan.findings))


def target_steps(case: Case, desk: Desk) -> Case:
    """Plan the deploy steps of the targets."""
    plan = desk.plan_steps(case.inputs.revision, case.site.targets)
    return _planned(case, plan, InvalidDesign(plan.findings))


def cleaning_steps(case: Case, desk: Desk) -> Case:
    """Plan the steps of the runbook that cleans the targets, if there is one."""
    if not case.parameters.runbook:
        return case
    plan = desk.plan_steps.cleaning(case.parameters.runbook, case.site.targets)
    steps = replace(case.steps, cleaning=plan.cleaning, findings=(*case.steps.findings, *plan.findings))
    case = replace(case, steps=steps)
    if errors(plan.findings):
        return case.refused(InvalidParameters(errors(plan.findings)))
    return case.having(site=replace(case.site, clean_steps=requested_of(plan.cleaning)))


def service_steps(case: Case, desk: Desk) -> Case:
    """Plan the steps of the template, or of the runbook, on the nodes."""
    nodes = case.site.nodes(desk.inventory(Revision(case.inputs.revision)))
    plan = desk.plan_steps.service(case.parameters.template, case.parameters.runbook, nodes)
    return _planned(case, plan, InvalidParameters(errors(plan.findings)))


def etcd_allows(case: Case, desk: Desk) -> Case:
    """Refuse a teardown that answering etcd clusters forbid; ``force`` goes on."""
    return case.refused(desk.etcd_forbids(case))


def _planned(case: Case, plan: StepPlan, refusal: ShipyardError) -> Case:
    case = replace(case, steps=plan)
    if errors(plan.findings):
        # Not even continue-on-fail: the nodes would be deployed without what their templates are for.
        return case.refused(refusal)
    return case.having(site=replace(case.site, deploy_steps=plan.requested))


def _named(case: Case) -> Revision | None:
    target = case.parameters.target_revision
    if target is TargetRevision.COMMITTED:
        return case.committed
    return case.heads.with_any(*(SITE_ACTIONS if target is TargetRevision.LAST_SITE_ACTION else SITE_ACTIONS[:1]))


def _wrong(name: str, message: str, parameter: str) -> Invalid:
    return InvalidParameters([error(name, message, path=f"/parameters/{parameter}")])
