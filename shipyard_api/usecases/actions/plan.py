"""Preview what an action would do, without doing any of it (product, section 5).

Group members come from the design here; the running action gets them from the provisioner.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.actions.action import Case
from shipyard_api.actions.beside import beside, holds
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.frozen_software import FrozenSoftware
from shipyard_api.actions.inputs import ActionInputs, teardown_inputs
from shipyard_api.actions.software_steps import SOFTWARE, TESTS, no_plan
from shipyard_api.actions.steps import pacing
from shipyard_api.actions.steps.hardware import Hardware
from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.deploy_steps.planning import (
    NO_STEPS,
    PlannedNodes,
    RequestedSteps,
    StepPlan,
    running,
    shared_steps,
)
from shipyard_api.domain.documents import Rendering, Revision, Version
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.domain.errors import FirstStepFails, VersionNotFound
from shipyard_api.domain.findings import Finding, error, errors, warning
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.parameters import Parameters
from shipyard_api.domain.rollout.moves import Mode
from shipyard_api.domain.rollout.planning import PlannedGroup, plan_groups
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.strategy.strategy import Strategy
from shipyard_api.domain.teardown.limits import TeardownLimits
from shipyard_api.ports.clock import Clock
from shipyard_api.ports.documents import DesignStore, Heads, RenderingFailed, UnknownRevision
from shipyard_api.ports.errors import PeerError
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.check import CheckAction
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.design_changes import DesignChanges, design_changes, findings_of, with_written
from shipyard_api.usecases.actions.design_groups import design_at, members_of, strategy_of
from shipyard_api.usecases.actions.first_steps import run_checks
from shipyard_api.usecases.actions.forecast import assumptions_of, read_history
from shipyard_api.usecases.actions.plan_software import PlanSoftware, Retried, SoftwarePlan, tasks_given, without_graph
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import read_versions
from shipyard_api.usecases.nodes.drain_plan import NodeDrainPlan, PlanDrain
from shipyard_api.workflow.definition import Definition

_ON_THE_WORKER = frozenset({"NoSsh", "FileMissing"})
"""Faults of a run that the worker may not have: it may have other settings, and other files on its host."""


class Plan(Struct, frozen=True, kw_only=True):
    """What an action would do, and what blocks it now.

    ``version`` and ``revision`` are those that the action works from: ``target-revision`` may name older ones.
    ``version`` is None for servers that left the design: the action works from the last revision that has them.
    A retry has ``retried`` instead of ``version``, and uses the inputs of that action. ``revision`` is None if no
    documents are committed. ``findings`` cover only the part of the design that the action uses. If the design cannot
    be read or the action deploys nothing, ``mode`` is None and there are no groups, but for the batches of servers that
    are taken down for good. ``kept``: nodes that a retry does
    not touch, in order of name. ``held``: the active holds on nodes that it would touch. ``drains``: the drain plan of
    each server to redeploy, or why it has none. ``deploy_steps``: those of the nodes that have deploy templates.
    ``clean_steps``: what a runbook runs before.
    ``skipped``: nodes that the provisioner shows as deployed, so that there is nothing to do.
    ``changes``: the design against the deployed one, for an action on the whole site.
    ``software``: None for an action without a software stage, and for a site without a task graph.
    ``parameters``: as they are shown. ``inputs``: as much as is known of what the action would freeze.
    ``frozen``: what it would freeze of the task graph. ``design``: the documents of the revision.
    """

    name: ActionName
    version: Version | None = None
    retried: ActionId | None = None
    revision: Revision | None
    refusal: ShipyardError | None
    findings: Sequence[Finding]
    steps: Sequence[StepId]
    mode: Mode | None
    groups: Sequence[PlannedGroup]
    kept: Sequence[NodeName] = ()
    held: Sequence[Hold] = ()
    drains: Mapping[NodeName, NodeDrainPlan | str] = field(default_factory=dict)
    deploy_steps: Sequence[PlannedNodes] = ()
    clean_steps: Sequence[PlannedNodes] = ()
    skipped: Sequence[NodeName] = ()
    changes: DesignChanges | None = None
    software: SoftwarePlan | None = None
    parameters: JsonObject = field(default_factory=dict)
    inputs: ActionInputs = field(default_factory=ActionInputs)
    frozen: FrozenSoftware | None = None
    design: Rendering | None = None

    @property
    def nodes(self) -> frozenset[NodeName]:
        """The nodes of all groups, without groups those that the parameters name."""
        members = frozenset(node for planned in self.groups for node in planned.members)
        return members or frozenset(ACTIONS.targets(self.name, self.parameters))


class PlanAction(Struct, frozen=True, kw_only=True):
    """The use case; changes nothing. Peers are asked for drain plans, deploy steps and deployed nodes."""

    store: Store
    check: CheckAction
    control: ControlAction
    designs: DesignStore
    rendered: RenderedDesigns
    definitions: Mapping[ActionName, Definition]
    plan_drain: PlanDrain
    plan_software: PlanSoftware
    hardware: Hardware
    clock: Clock

    def __call__(self, request: ActionRequest, version: Version, *, complete: bool = False) -> Plan:
        """Return the plan of an action on a version: the committed one, or the buffer as if it were committed.

        Raises NotFound if the buffer is empty. ``complete``: raises ports.errors if a peer is silent, instead of
        returning a finding, and the refusal if there is one.
        """
        heads = self.designs.heads()
        revision = read_versions(self.designs, heads).of(version)
        if revision is None and version is Version.BUFFER:
            raise VersionNotFound(version)
        case = self._preview(request, heads, revision, complete=complete)
        if complete and case.refusal:
            raise case.refusal
        plan = self._located(self.of(case, None, revision, complete=complete))
        used = version if case.version in (None, Version.COMMITTED) else case.version
        older = case.version is None and case.revision not in (None, revision)
        plan = replace(
            plan,
            version=None if older else used,
            held=self._holds(case),
            drains=self._drains(case, plan.groups),
        )
        plan = self._foreseen(plan, case.parsed)
        # The first check of some actions has compared it already.
        return replace(plan, findings=tuple(dict.fromkeys((*plan.findings, *self._hardware(plan)))))

    def _located(self, plan: Plan) -> Plan:
        """Return the plan with where the values of its changes were written."""
        if plan.changes is None or plan.revision is None:
            return plan
        return replace(plan, changes=with_written(plan.changes, plan.revision, self.designs.documents))

    def _hardware(self, plan: Plan) -> Sequence[Finding]:
        """Return how the servers that the action would deploy differ from the expected hardware; without errors."""
        site = plan.inputs.site
        if site is None or not site.hardware or plan.revision is None or plan.refusal:
            return ()
        try:
            return self.hardware.findings(plan.revision, plan.nodes.difference(plan.skipped, plan.kept))
        except PeerError as trouble:
            return (warning("HardwareUnknown", f"The hardware of servers was not compared: {trouble}"),)

    def freeze(self, name: ActionName, revision: Revision | None, written: JsonObject) -> FrozenSoftware | None:
        """Return what an action freezes of the site's task graph, if it runs any and its design can be read.

        ``written``: the limits of its run.
        """
        if not ACTIONS[name].runs_tasks or revision is None:
            return None
        try:
            return self.plan_software.freeze(revision, written, deploys=ACTIONS[name].deploys)
        except (RenderingFailed, UnknownRevision):
            return None

    def of(
        self,
        case: Case,
        frozen: FrozenSoftware | None = None,
        revision: Revision | None = None,
        *,
        complete: bool = True,
    ) -> Plan:
        """Return what a request that was checked would do: the part of its plan that does not follow from pods.

        ``frozen``: what the action freezes, None: as it would now. ``revision``: the one that counts as committed;
        None: as it was checked. ``complete``: as for a plan.
        """
        name = case.action.name
        revision = revision or case.committed
        design = case.design or design_at(self.check, name, revision)
        strategy = strategy_of(case, design.inputs)
        groups = self._groups(design.inputs, strategy, ()) if design.inputs and strategy else ()
        written = case.parameters.software
        frozen = frozen or self.freeze(name, revision or case.revision, written)
        software = self._software(frozen, name, revision or case.revision, groups, written)
        steps = case.steps
        inputs = _inputs(case, design.inputs, software)
        deployed = self._deployed(name, groups, case.parameters.targets, design.inputs, complete=complete)
        skipped = _members(groups).intersection(deployed or ())
        digests = tasks_given(software, written, skipped, self.rendered.fingerprint)
        changes = self._changes(name, revision, steps.chosen, deployed, digests)
        skipped -= case.inputs.ways.interrupted
        definition = None if case.refusal else self.definitions.get(name)
        missing = without_graph(definition, inputs) if definition else ()
        return Plan(
            name=name,
            revision=case.revision or revision,
            refusal=case.refusal,
            findings=(*design.findings, *case.warnings, *steps.findings, *missing, *findings_of(changes)),
            steps=self._steps(name, inputs),
            mode=design.inputs.configuration.mode if design.inputs and strategy and not ACTIONS[name].removes else None,
            groups=groups,
            deploy_steps=steps.applied,
            clean_steps=steps.cleaning or _before(design.inputs, groups, skipped),
            skipped=sorted(skipped),
            software=software,
            parameters={} if case.refusal else self.check.shown(case),
            inputs=inputs,
            frozen=frozen,
            design=self._design(case.revision or revision),
            changes=changes,
        )

    def retry(self, action: str, *, force: bool, may_override_holds: bool, complete: bool = False) -> Plan:
        """Return the plan of a retry of an action, which may not have failed yet; raises as a plan."""
        plan = self.of_retry(action, force=force, may_override_holds=may_override_holds, complete=complete)
        return self._located(self._foreseen(plan))

    def of_retry(
        self,
        action: str,
        *,
        force: bool,
        may_override_holds: bool,
        frozen: FrozenSoftware | None = None,
        complete: bool = True,
    ) -> Plan:
        """Return what a retry would do, as ``of`` does for a request."""
        retry = self.control.plan_retry(action, force=force, may_override_holds=may_override_holds)
        old = retry.action
        deploys = ACTIONS[old.name].deploys or ACTIONS[old.name].on_site
        inputs = retry.inputs.site if deploys else None
        steps = self._frozen_steps(old.name, inputs) if inputs else NO_STEPS
        groups = self._groups(inputs, inputs.strategy, retry.kept) if inputs else ()
        written = retry.inputs.software
        goes_on = Retried(old.id, frozenset(retry.kept) if ACTIONS[old.name].deploys else None)
        frozen = None if written is None else frozen or self.freeze(old.name, old.revision, written)
        software = self._software(frozen, old.name, old.revision, groups, written or {}, goes_on)
        deployed = self._deployed(old.name, groups, inputs.targets if inputs else (), inputs, complete=complete)
        chosen = inputs.deploy_steps if inputs else {}
        left_alone = _members(groups).intersection(deployed or ())
        digests = tasks_given(software, written or {}, left_alone, self.rendered.fingerprint)
        changes = self._changes(old.name, old.revision, chosen, deployed, digests)
        about_design = design_at(self.check, old.name, old.revision).findings if deploys else ()
        return Plan(
            name=old.name,
            retried=old.id,
            revision=old.revision,
            refusal=retry.refusal,
            findings=(*about_design, *steps.findings, *findings_of(changes)),
            steps=self._steps(old.name, retry.inputs),
            mode=inputs.configuration.mode if inputs else None,
            groups=groups,
            kept=retry.kept,
            held=retry.held,
            deploy_steps=steps.nodes,
            clean_steps=_before(inputs, groups, retry.kept),
            software=software,
            parameters=old.parameters,
            inputs=retry.inputs,
            frozen=frozen,
            design=self._design(old.revision),
            changes=changes,
        )

    def _preview(self, request: ActionRequest, heads: Heads, revision: Revision | None, *, complete: bool) -> Case:
        """Return the checks of the request, and of what blocks it at this moment. ``revision``: None for committed."""
        case = self.check.with_peers(self.check(request, heads, revision), None if complete else _without_steps)
        with self.store.begin() as tx:
            return case if case.refusal else beside(case, self.check, tx)

    def _foreseen(self, plan: Plan, parameters: Parameters | None = None) -> Plan:
        """Return the plan with what the checks of its first steps find, unless it is refused already."""
        definition = self.definitions.get(plan.name)
        if plan.refusal or definition is None:
            return plan
        continues = parameters is not None and parameters.continues_on_fail
        inputs = replace(plan.inputs, continue_on_fail=True) if continues else plan.inputs
        first = run_checks(definition, inputs, self.clock.now())
        new = [finding for finding in first.findings if finding not in plan.findings]
        return replace(plan, refusal=first.refusal or _run_fails(plan), findings=(*plan.findings, *dict.fromkeys(new)))

    def _deployed(
        self,
        name: ActionName,
        groups: Sequence[PlannedGroup],
        targets: Collection[NodeName],
        inputs: SiteInputs | None,
        *,
        complete: bool,
    ) -> Collection[NodeName] | None:
        """Return the deployed nodes of the site, for an action on all of it; None if the provisioner is silent.

        ``complete``: raises ports.errors instead.
        """
        if not ACTIONS[name].deploys or targets:
            return ()
        members = _members(groups)
        nodes = self.rendered.inventory(Revision(inputs.revision)).nodes.keys() if inputs and members else ()
        try:
            return self.check.plan_steps.deployed({*members, *nodes})
        except PeerError:
            if complete:
                raise
            return None

    def _changes(
        self,
        name: ActionName,
        revision: Revision | None,
        steps: RequestedSteps | None,
        deployed: Collection[NodeName] | None,
        software: Mapping[NodeName, str],
    ) -> DesignChanges | None:
        if name not in ACTIONS.of_the_site or revision is None:
            return None
        services = not self.check.rules.limits.no_service
        specifications = self.check.plan_steps.specifications
        return design_changes(specifications, revision, steps, deployed, services=services, software=software)

    def _frozen_steps(self, name: ActionName, inputs: SiteInputs) -> StepPlan:
        if ACTIONS[name].services:
            return StepPlan(_as_frozen(inputs.deploy_steps))
        try:
            return self.check.plan_steps.frozen(inputs.deploy_steps)
        except PeerError as trouble:
            return _unknown_steps(trouble)

    def _drains(self, case: Case, groups: Sequence[PlannedGroup]) -> Mapping[NodeName, NodeDrainPlan | str]:
        if (ways := case.inputs.ways).interrupted:
            reinstalled = self.plan_drain.each(ways.reinstalled, case.committed)
            return {**reinstalled, **self.plan_drain.each(ways.drained, None)}
        if case.action.tears_down and case.parsed:
            return self.plan_drain.each(case.parameters.targets, case.committed)
        if case.action.services and case.refusal is None:
            # No etcd member leaves.
            return self.plan_drain.each(sorted({node for group in groups for node in group.members}), None)
        return {}

    def _holds(self, case: Case) -> Sequence[Hold]:
        with self.store.begin() as tx:
            return holds(case, self.check, tx) if case.parsed else ()

    def _groups(self, inputs: SiteInputs, strategy: Strategy, kept: Collection[NodeName]) -> tuple[PlannedGroup, ...]:
        try:
            members = members_of(self.rendered, inputs, strategy)
        except (RenderingFailed, UnknownRevision):
            return ()
        mode = inputs.configuration.mode
        uncounted = frozenset() if inputs.targets else self.store.read(lambda tx: tx.holds.uncounted())
        pace = pacing.of(inputs, members, uncounted=uncounted)
        if mode.max_parallel_groups == 1 and not pace.refuses:
            return plan_groups(strategy, members, mode, kept)
        usual = assumptions_of(inputs, read_history(self.store), {})
        return plan_groups(strategy, members, mode, kept, usual, pace, self.clock.now())

    def _design(self, revision: Revision | None) -> Rendering | None:
        try:
            return self.rendered.of(revision) if revision else None
        except (RenderingFailed, UnknownRevision):
            return None

    def _software(
        self,
        frozen: FrozenSoftware | None,
        name: ActionName,
        revision: Revision | None,
        groups: Sequence[PlannedGroup],
        written: JsonObject,
        retried: Retried | None = None,
    ) -> SoftwarePlan | None:
        """Return what the stage runs if every node is deployed."""
        if frozen is None or revision is None:
            return None
        deployed = _members(groups) if ACTIONS[name].deploys else None
        return self.plan_software(frozen, revision, deployed, written, retried)

    def _steps(self, name: ActionName, inputs: ActionInputs) -> Sequence[StepId]:
        definition = self.definitions.get(name)
        return definition.step_ids(inputs) if definition else []


def _run_fails(plan: Plan) -> ShipyardError | None:
    """Return why a run of tasks would not begin. An action that deploys runs its tasks last, when much has changed."""
    step = next((step for step in plan.steps if step in (SOFTWARE, TESTS)), None)
    if step is None or plan.software is None or ACTIONS[plan.name].deploys:
        return None
    faults = [fault for fault in errors(plan.software.findings) if fault.name not in _ON_THE_WORKER]
    return FirstStepFails(step, no_plan(faults).reason, faults) if faults else None


def _members(groups: Sequence[PlannedGroup]) -> set[NodeName]:
    return {node for planned in groups for node in planned.members}


def _inputs(case: Case, inputs: SiteInputs | None, software: SoftwarePlan | None) -> ActionInputs:
    """Return as much of the inputs of an action as its steps follow from."""
    if case.parsed is None:
        return ActionInputs(site=inputs, software=None if software is None else {})
    known = replace(case.inputs, site=inputs, software=None if software is None else case.parameters.software)
    if known.limits is not None or not case.action.tears_down:
        return known
    return replace(known, **teardown_inputs(case.parameters, TeardownLimits(), destroys=True))


def _as_frozen(requested: RequestedSteps) -> Sequence[PlannedNodes]:
    """Return frozen steps of a service or of a cleaning: nothing else runs."""
    return [PlannedNodes(nodes, steps, running(steps)) for nodes, steps in shared_steps(requested)]


def _before(
    inputs: SiteInputs | None, groups: Sequence[PlannedGroup], spared: Collection[NodeName]
) -> Sequence[PlannedNodes]:
    """Return the steps of a runbook or of a burn-in on the nodes of the groups, but for those that are not touched."""
    nodes = sorted({node for planned in groups for node in planned.members}.difference(spared))
    return _as_frozen(inputs.preparing(nodes)) if inputs else ()


def _without_steps(case: Case, trouble: PeerError) -> Case:
    return replace(case, steps=_unknown_steps(trouble))


def _unknown_steps(trouble: PeerError) -> StepPlan:
    message = f"{trouble.system} does not say which deploy steps its nodes support: {trouble.detail}"
    return StepPlan(findings=[error("DeployStepsUnknown", message)])
