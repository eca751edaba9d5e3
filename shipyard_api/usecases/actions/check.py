"""Check a request for an action before it is stored (contract: shipyard-rest 6.4, shipyard-actions chapter 4)."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.deployment_configuration import PhaseLimits
from shipyard_api.domain.documents import Revision, Version
from shipyard_api.domain.errors import (
    IntermediateCommits,
    InvalidDesign,
    InvalidParameters,
    InvalidTargets,
    NoTargetRevision,
    NothingCommitted,
    NothingDrains,
    NothingRelabels,
    ParametersBreakSchema,
    ShipyardError,
    UnknownNodes,
)
from shipyard_api.domain.findings import Finding, Level, error, errors
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import (
    ALLOW_INTERMEDIATE_COMMITS,
    MISPLACED,
    MODE,
    PRESERVE_LOCAL_STORAGE,
    TARGET_NODES,
    Parameters,
    RedeployMode,
    TargetRevision,
    misplaced,
)
from shipyard_api.domain.provisioner_limits import ProvisionerLimits
from shipyard_api.domain.site_design import DesignRules, SiteInputs
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.targets import restricted
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.domain.touched_share import TooMuchTouched, TouchedShare
from shipyard_api.ports.documents import DesignStore, Heads, RenderingFailed, UnknownRevision
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.state.store import Transaction
from shipyard_api.usecases.actions.check_acceptance import CheckAcceptance
from shipyard_api.usecases.actions.check_software import CheckSoftware
from shipyard_api.usecases.actions.preconditions import refuse_held, refuse_operations, refuse_stragglers
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import COMMITS, SITE_ACTIONS, committed_revision
from shipyard_api.usecases.deploy_templates.plan import NO_STEPS, PlanDeploySteps, StepPlan
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd

# The check only needs to know whether there are any; the log names this many.
_COMMITS_READ = 100
_ANY: Any = {"status": (), "prefix": "", "after": ""}
VERSIONS = {
    TargetRevision.COMMITTED: Version.COMMITTED,
    TargetRevision.SUCCESSFUL_SITE_ACTION: Version.SUCCESSFUL_SITE_ACTION,
    TargetRevision.LAST_SITE_ACTION: Version.LAST_SITE_ACTION,
}
_NEWER = " If it is new in a revision that failed, use target-revision=last-site-action."


@dataclass(frozen=True, slots=True)
class DesignCheck:
    """Outcome of reading a design for an action. ``inputs`` is None if the action cannot work from the design."""

    inputs: SiteInputs | None = None
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRequest:
    """A request with what its checks found. ``refusal`` is None if the request may become an action now.

    Checks stop at the first refusal, so later fields keep their defaults. ``revision`` is also None where no documents
    are committed, ``parameters`` where they are invalid, and ``design`` where the action needs none.
    ``parameter_findings``: unknown or invalid parameters, and a touched share that is too large.
    ``version``: the one that ``target-revision`` names. ``intermediate_commits``: commits without a site action.
    ``limits``: those of a teardown, for an action on single servers. ``labels``: to set in Kubernetes, by node, where
    the provisioner does not do it. ``steps``: the deploy steps of the nodes, once ``with_steps`` has planned them.
    """

    request: ActionRequest
    parameters: Parameters | None = None
    parameter_findings: Sequence[Finding] = ()
    revision: Revision | None = None
    allow_intermediate_commits: bool | None = None
    intermediate_commits: Sequence[Revision] = ()
    version: Version | None = None
    design: DesignCheck | None = None
    limits: TeardownLimits | None = None
    labels: Mapping[NodeName, Mapping[str, str]] | None = None
    steps: StepPlan = NO_STEPS
    refusal: ShipyardError | None = None

    @property
    def inputs(self) -> SiteInputs | None:
        """What the action works from."""
        return self.design.inputs if self.design else None

    @property
    def design_errors(self) -> Sequence[Finding]:
        """Errors in the design. Without a refusal, the caller accepted them with ``continue-on-fail``."""
        return errors(self.design.findings) if self.design else ()

    @property
    def overridden(self) -> JsonObject:
        """Problems that the caller chose to override, for the log; empty if there are none."""
        problems = {
            "intermediate": list(self.intermediate_commits),
            "errors": [finding.message for finding in self.design_errors],
        }
        return {name: found for name, found in problems.items() if found}

    def refused(self, refusal: ShipyardError) -> "CheckedRequest":
        """Return the same request with a refusal."""
        return replace(self, refusal=refusal)


@dataclass(frozen=True, slots=True)
class CheckAction:
    """Checks requests for actions; changes nothing."""

    designs: DesignStore
    rendered: RenderedDesigns
    schemas: Schemas
    rules: DesignRules
    plan_steps: PlanDeploySteps
    check_acceptance: CheckAcceptance
    check_software: CheckSoftware
    check_etcd: CheckEtcd

    def __call__(
        self, request: ActionRequest, heads: Heads | None = None, revision: Revision | None = None
    ) -> CheckedRequest:
        """Return what the action would work from, or why it is refused.

        Other running actions are not checked here: they may end before this action is stored. ``heads`` are read
        unless given; ``revision`` replaces the committed one.
        """
        checked = self._parse(request)
        parameters = checked.parameters
        if parameters is None or checked.refusal:
            return checked
        action = ACTIONS[request.name]
        heads = heads or self.designs.heads()
        revision = revision or committed_revision(heads)
        checked = replace(checked, revision=revision)
        if action.reads is None:
            return checked
        if revision is None:
            return checked.refused(NothingCommitted())
        allowed = _allows_intermediate_commits(request, parameters)
        commits = self._intermediate_commits(heads, revision) if action.uses_commits else ()
        checked = replace(checked, allow_intermediate_commits=allowed, intermediate_commits=commits)
        if commits and not allowed:
            return checked.refused(IntermediateCommits(commits))
        target: Revision | None = revision
        if parameters.target_revision:
            target = _revision_of(parameters.target_revision, heads, revision)
            checked = replace(checked, revision=target or revision, version=VERSIONS[parameters.target_revision])
        elif action.tears_down:
            target = self._last_with(parameters.targets, revision)
            checked = replace(checked, revision=target)
        design = self.design(request.name, target or revision)
        checked = replace(checked, design=design)
        if design.inputs is None or (checked.design_errors and not parameters.continues_on_fail):
            return checked.refused(InvalidDesign(design.findings))
        if target is None and parameters.target_revision:
            return checked.refused(NoTargetRevision(parameters.target_revision.value))
        if action.runs_tasks and not action.deploys and parameters.software:
            return replace(checked, refusal=self.check_software(revision, parameters.software))
        if action.services:
            return self._with_serviced(checked, design.inputs, parameters)
        if parameters.targets:
            checked = self._with_targets(checked, design.inputs, parameters)
        return checked

    def design(self, name: ActionName, revision: Revision) -> DesignCheck:
        """Read as much of a revision as the action needs. Raises UnknownRevision."""
        reads = ACTIONS[name].reads
        if reads is None:
            return DesignCheck()
        try:
            return DesignCheck(*reads(self.rules, revision, self.rendered.of(revision)))
        except RenderingFailed as failed:
            return DesignCheck(findings=failed.findings)

    def within_share(self, checked: CheckedRequest) -> CheckedRequest:
        """Return a request that touches too much of the site with a warning, and refused unless it is forced."""
        inputs = checked.inputs
        if checked.refusal or inputs is None or self.rules.max_share >= 1:
            return checked
        try:
            nodes = self.rendered.inventory(Revision(inputs.revision)).nodes
            share = TouchedShare(len(self._touched(checked)), len(nodes), self.rules.max_share)
        except RenderingFailed:
            return checked
        if not share.too_large:
            return checked
        name = checked.request.name
        warned = replace(checked, parameter_findings=(*checked.parameter_findings, share.finding(name)))
        forced = checked.parameters and checked.parameters.force
        return warned if forced else warned.refused(TooMuchTouched(name, share))

    def with_etcd(self, checked: CheckedRequest) -> CheckedRequest:
        """Return the request of a teardown, refused if answering etcd clusters forbid it; ``force`` goes on."""
        if checked.refusal or checked.inputs is None or checked.parameters is None:
            return checked
        revision = Revision(checked.inputs.revision)
        return replace(checked, refusal=self.check_etcd.of_action(checked.request.name, checked.parameters, revision))

    def with_steps(self, checked: CheckedRequest) -> CheckedRequest:
        """Return a request that nothing refuses with the deploy steps of its nodes, or with its refusal.

        Raises ports.errors if the provisioner does not answer; it is asked only if a template is for one of the nodes.
        """
        inputs = checked.inputs
        if checked.refusal or inputs is None:
            return checked
        if ACTIONS[checked.request.name].services and checked.parameters:
            plan = self.plan_steps.service(checked.parameters.template, self._nodes(inputs))
            return self._planned(checked, inputs, plan, InvalidParameters(errors(plan.findings)))
        if not ACTIONS[checked.request.name].deploys:
            return checked
        if not inputs.targets and (faults := errors(self.check_acceptance(inputs.revision))):
            # Not even continue-on-fail: no node could ever be accepted.
            return checked.refused(InvalidDesign(faults))
        # Of the whole design: which nodes the groups hold, the provisioner says when the action runs.
        plan = self.plan_steps(inputs.revision, inputs.targets or None)
        plan = plan if inputs.targets else self.plan_steps.left_alone(plan)
        return self._planned(checked, inputs, plan, InvalidDesign(plan.findings))

    def _planned(
        self, checked: CheckedRequest, inputs: SiteInputs, plan: StepPlan, refusal: ShipyardError
    ) -> CheckedRequest:
        if errors(plan.findings):
            # Not even continue-on-fail: the nodes would be deployed without what their templates are for.
            return replace(checked, steps=plan).refused(refusal)
        design = DesignCheck(replace(inputs, steps=plan.requested), checked.design.findings if checked.design else ())
        return replace(checked, steps=plan, design=design)

    def refuse_stragglers(self, tx: Transaction, checked: CheckedRequest) -> None:
        """Raise Conflict if work of an earlier action still holds nodes of this one."""
        everything = ACTIONS[checked.request.name].on_site
        targeted = checked.inputs is not None and bool(checked.inputs.targets)
        if not (everything or targeted) or not checked.inputs or not checked.parameters or checked.parameters.force:
            return
        stragglers = tx.stragglers.open()
        if stragglers:
            refuse_stragglers(stragglers, self._nodes(checked.inputs))

    def refuse_operations(self, tx: Transaction, checked: CheckedRequest) -> None:
        """Raise NodeOperationRunning if a single operation is at work on nodes of this action."""
        if running := tx.actions.node_operations():
            refuse_operations(running, checked.request.name, self._nodes_of(checked))

    def holds(self, tx: Transaction, checked: CheckedRequest) -> Sequence[Hold]:
        """Return the active holds on the nodes that the action would touch."""
        holds = tx.holds.active()
        nodes = self._nodes_of(checked) if holds else ()
        return [hold for hold in holds if hold.node in nodes]

    def refuse_held(self, tx: Transaction, checked: CheckedRequest) -> Sequence[Hold]:
        """Return the holds that the request overrides. Raises NodesHeld and HoldsNotOverridden."""
        force = bool(checked.parameters and checked.parameters.force)
        return refuse_held(self.holds(tx, checked), force=force, may_override=checked.request.may_override_holds)

    def _parse(self, request: ActionRequest) -> CheckedRequest:
        """Return the request with its parsed parameters."""
        faults = self.schemas.check(f"actions/{request.name}", dict(request.parameters))
        if faults:
            refusal = ParametersBreakSchema(faults)
            return CheckedRequest(request=request, parameter_findings=faults, refusal=refusal)
        try:
            parameters, warnings = ACTIONS.parse(request.name, request.parameters)
        except InvalidParameters as invalid:
            return CheckedRequest(request=request, parameter_findings=invalid.findings, refusal=invalid)
        except InvalidTargets as invalid:
            return CheckedRequest(request=request, refusal=invalid)
        refused: InvalidParameters | None = None
        if warnings and request.strict:
            warnings = tuple(replace(warning, level=Level.ERROR) for warning in warnings)
            refused = InvalidParameters(warnings)
        elif not parameters.force and (wrong := misplaced(warnings)):
            warnings = (*wrong, *(one for one in warnings if one.name != MISPLACED))
            refused = InvalidParameters(wrong)
        return CheckedRequest(
            request=request,
            parameters=parameters,
            parameter_findings=warnings,
            allow_intermediate_commits=request.allow_intermediate_commits,
            refusal=refused,
        )

    def _intermediate_commits(self, heads: Heads, committed: Revision) -> Sequence[Revision]:
        """Return the revisions committed since the last site action, without the committed one (seed 004).

        Before the first site action, revision 0 counts as the last one acted on.
        """
        acted_on = heads.with_any(*SITE_ACTIONS) or Revision(0)
        tags = [tag.value for tag in COMMITS]
        since = self.designs.revisions(tags=tags, after=acted_on, limit=_COMMITS_READ)
        return [record.revision for record in since if record.revision < committed]

    def _last_with(self, nodes: Collection[NodeName], committed: Revision) -> Revision:
        """Return the last revision that has these nodes: the committed one, or that of the last action on a node."""
        read = self.plan_steps.store.read
        actions = read(lambda tx: {one.action for one in tx.nodes.latest(names=nodes, limit=len(nodes), **_ANY)})
        worked = read(lambda tx: {action.revision for action in tx.actions.by_ids(actions)})
        for revision in (committed, *sorted((one for one in worked if one), reverse=True)):
            with suppress(RenderingFailed, UnknownRevision):
                if self.rendered.inventory(revision).nodes.keys() >= set(nodes):
                    return revision
        return committed

    def _with_targets(self, checked: CheckedRequest, inputs: SiteInputs, parameters: Parameters) -> CheckedRequest:
        """Return the request of an action on single servers with its targets and limits, or with its refusal."""
        revision = Revision(inputs.revision)
        try:
            known = self.rendered.inventory(revision).nodes
        except RenderingFailed as failed:
            return checked.refused(InvalidDesign(failed.findings))
        usual = parameters.target_revision is TargetRevision.SUCCESSFUL_SITE_ACTION
        newer = _NEWER if usual and ACTIONS[checked.request.name].deploys else ""
        unknown = [
            error("UnknownNode", f"Revision {revision} has no node {node}.{newer}")
            for node in parameters.targets
            if node not in known
        ]
        if unknown:
            return checked.refused(UnknownNodes(unknown))
        limits = self.rules.limits
        if parameters.preserves_local_storage and not limits.preserves_storage:
            return checked.refused(InvalidParameters([_cannot_preserve(limits.system)]))
        if parameters.mode is RedeployMode.REBUILD and limits.no_rebuild:
            return checked.refused(InvalidParameters([_cannot_rebuild(limits)]))
        teardown, faults = inputs.configuration.teardown.with_parameters(parameters.limits)
        if faults:
            return checked.refused(InvalidParameters(faults))
        if ACTIONS[checked.request.name].tears_down and not self.rules.drains and not parameters.force:
            return checked.refused(NothingDrains(parameters.targets))
        labels = None
        if ACTIONS[checked.request.name].relabels:
            if not limits.relabels and not self.rules.cluster:
                return checked.refused(NothingRelabels(limits.system))
            if not limits.relabels:
                labels = {node: dict(sorted(known[node].labels)) for node in parameters.targets}
        targeted = replace(inputs, targets=parameters.targets)
        findings = checked.design.findings if checked.design else ()
        return replace(checked, design=DesignCheck(targeted, findings), limits=teardown, labels=labels)

    def _with_serviced(self, checked: CheckedRequest, inputs: SiteInputs, parameters: Parameters) -> CheckedRequest:
        """Return the request of a service with the groups that hold its nodes, or with its refusal.

        One group at a time is drained, for as long as a drain may take.
        """
        limits = self.rules.limits
        if limits.no_service:
            return checked.refused(InvalidParameters([_cannot_service(limits)]))
        teardown, faults = inputs.configuration.teardown.with_parameters(parameters.limits)
        if faults:
            return checked.refused(InvalidParameters(faults))
        try:
            machines = self.rendered.inventory(Revision(inputs.revision))
        except RenderingFailed as failed:
            return checked.refused(InvalidDesign(failed.findings))
        members = {group.name: select(group.selectors, machines) for group in inputs.strategy.groups}
        grouped = frozenset[NodeName]().union(*members.values())
        if unknown := [node for node in parameters.targets if node not in grouped]:
            text = f"No deployment group of revision {inputs.revision} has the node"
            return checked.refused(UnknownNodes([error("UnknownNode", f"{text} {node}.") for node in unknown]))
        nodes: Collection[NodeName] = parameters.targets
        nodes = nodes or self.plan_steps.store.read(lambda tx: tx.nodes.deployed(grouped))
        if not nodes:
            return checked.refused(InvalidParameters([_nothing_to_service()]))
        configuration = replace(
            inputs.configuration,
            prepare_nodes=PhaseLimits(inputs.configuration.drain_interval, teardown.drain),
            mode=replace(inputs.configuration.mode, max_parallel_groups=1),
        )
        groups = restricted(inputs.strategy, members, nodes)
        serviced = replace(inputs, groups=groups, configuration=configuration)
        findings = checked.design.findings if checked.design else ()
        return replace(checked, design=DesignCheck(serviced, findings), limits=teardown)

    def _touched(self, checked: CheckedRequest) -> Collection[NodeName]:
        if checked.inputs and ACTIONS[checked.request.name].on_site:
            return self._nodes(checked.inputs)
        return checked.parameters.targets if checked.parameters else ()

    def _nodes_of(self, checked: CheckedRequest) -> Collection[NodeName]:
        """Return the nodes that must be free for the action.

        A run of the task graph that names no nodes goes on without those that are held: their tasks fail.
        """
        return self._touched(checked) or (checked.parameters.named if checked.parameters else ())

    def _nodes(self, inputs: SiteInputs) -> frozenset[NodeName]:
        """Return the nodes that an action on this design works on."""
        machines = self.rendered.inventory(Revision(inputs.revision))
        return frozenset().union(*(select(group.selectors, machines) for group in inputs.strategy.groups))


def _allows_intermediate_commits(request: ActionRequest, parameters: Parameters) -> bool | None:
    """Return whether the query or the parameter of that name allows them (seed 004); None if neither is set.

    Either is enough: the command line always sends the query, with False unless its flag is given.
    """
    if ALLOW_INTERMEDIATE_COMMITS not in request.parameters:
        return request.allow_intermediate_commits
    return bool(parameters.allows_intermediate_commits or request.allow_intermediate_commits)


def _cannot_preserve(system: str) -> Finding:
    message = f"{system} erases all disks of a machine and cannot preserve local storage."
    return error("StorageNotPreserved", message, path=f"/parameters/{PRESERVE_LOCAL_STORAGE}")


def _cannot_rebuild(limits: ProvisionerLimits) -> Finding:
    message = f"{limits.system} cannot rebuild servers: {limits.no_rebuild}."
    return error("NoRebuild", message, path=f"/parameters/{MODE}")


def _cannot_service(limits: ProvisionerLimits) -> Finding:
    return error("NoService", f"{limits.system} cannot run steps on deployed servers: {limits.no_service}.")


def _nothing_to_service() -> Finding:
    message = f"No server of the deployment groups is deployed. Name servers in {TARGET_NODES}."
    return error("NothingToService", message, path=f"/parameters/{TARGET_NODES}")


def _revision_of(target: TargetRevision, heads: Heads, committed: Revision) -> Revision | None:
    if target is TargetRevision.COMMITTED:
        return committed
    return heads.with_any(*(SITE_ACTIONS if target is TargetRevision.LAST_SITE_ACTION else SITE_ACTIONS[:1]))
