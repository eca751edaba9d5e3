"""Check a request for an action before it is stored (contract: shipyard-rest 6.4, shipyard-actions chapter 4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shipyard_api.actions.action import Action, Case, Check, DesignCheck
from shipyard_api.actions.beside import beside, holds
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.domain.documents import Revision, secret_texts
from shipyard_api.domain.error_kinds import Invalid, ShipyardError
from shipyard_api.domain.errors import InvalidParameters, ParametersBreakSchema
from shipyard_api.domain.findings import Finding, Level, errors
from shipyard_api.domain.holds import Hold
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.parameters import ALLOW_INTERMEDIATE_COMMITS, MISPLACED, VALUES, Parameters, misplaced, shown
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.teardown.protection import Protection
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.documents import DesignStore, Heads, RenderingFailed
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.schemas import Schemas
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.check_acceptance import CheckAcceptance
from shipyard_api.usecases.actions.check_software import CheckSoftware
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd

_NO_HEADS = Heads(Revision(0), {})


@dataclass(frozen=True, slots=True)
class Checked:
    """A request after its checks. ``case``: None if its parameters are invalid. ``findings``: about its parameters."""

    request: ActionRequest
    case: Case | None = None
    findings: Sequence[Finding] = ()
    invalid: ShipyardError | None = None

    @property
    def refusal(self) -> ShipyardError | None:
        """Why the request may not become an action now, None if it may."""
        return self.case.refusal if self.case else self.invalid

    @property
    def parameters(self) -> Parameters | None:
        """The parsed parameters; None if they are invalid."""
        return self.case.parameters if self.case else None

    @property
    def revision(self) -> Revision | None:
        """What the action works from; None without documents."""
        return Revision(self.case.inputs.revision) if self.case and self.case.inputs.revision else None

    @property
    def design(self) -> DesignCheck | None:
        """The outcome of reading the design; None if it was not read."""
        read = self.case is not None and self.case.findings is not None
        return DesignCheck(self.case.inputs.site, self.case.findings or ()) if self.case and read else None

    @property
    def design_errors(self) -> Sequence[Finding]:
        """Errors in the design. Without a refusal, the caller accepted them with ``continue-on-fail``."""
        return errors(self.design.findings) if self.design else ()

    @property
    def warnings(self) -> Sequence[Finding]:
        """What the caller should know beside the design's findings."""
        return (*self.findings, *(self.case.warnings if self.case else ()))

    @property
    def overridden(self) -> JsonObject:
        """Problems that the caller chose to override, for the log; empty if there are none."""
        commits = list(self.case.commits) if self.case else []
        problems = {"intermediate": commits, "errors": [finding.message for finding in self.design_errors]}
        return {name: findings for name, findings in problems.items() if findings}

    def refused(self, refusal: ShipyardError) -> "Checked":
        """Return the same request with a refusal."""
        return replace(self, case=self.case.refused(refusal)) if self.case else replace(self, invalid=refusal)


@dataclass(frozen=True, slots=True)
class CheckAction:
    """Checks requests for actions; changes nothing. It is the ``Desk`` of their admission.

    ``cluster``: None where no Kubernetes is configured.
    """

    designs: DesignStore
    rendered: RenderedDesigns
    schemas: Schemas
    rules: DesignRules
    plan_steps: PlanDeploySteps
    check_acceptance: CheckAcceptance
    check_software: CheckSoftware
    check_etcd: CheckEtcd
    cluster: Cluster | None = None

    def __call__(self, request: ActionRequest, heads: Heads | None = None, revision: Revision | None = None) -> Checked:
        """Return what the action would work from, or why it is refused. No peer but the design's store is asked.

        ``heads`` are read unless given; ``revision`` replaces the committed one.
        """
        checked = self._parse(request)
        if checked.case is None or checked.refusal:
            return checked
        heads = heads or self.designs.heads()
        committed = revision or committed_revision(heads)
        inputs = checked.case.action.frozen(revision=committed or 0)
        case = replace(checked.case, heads=heads, committed=committed, inputs=inputs)
        return replace(checked, case=self._admit(case, case.action.admission))

    def with_peers(self, checked: Checked, silent: Callable[[Case, PeerError], Case] | None = None) -> Checked:
        """Return the request after the checks that ask peers. Raises ports.errors unless ``silent`` goes on."""
        case = checked.case
        return replace(checked, case=self._admit(case, case.action.asks_peers, silent)) if case else checked

    def _admit(
        self, case: Case, checks: Sequence[Check], silent: Callable[[Case, PeerError], Case] | None = None
    ) -> Case:
        for check in checks:
            if case.refusal:
                break
            try:
                case = check(case, self)
            except PeerError as trouble:
                if silent is None:
                    raise
                case = silent(case, trouble)
        return case

    @property
    def store(self) -> Store:
        """Our own store."""
        return self.plan_steps.store

    @property
    def specifications(self) -> Specifications:
        """What nodes would be given, and were."""
        return self.plan_steps.specifications

    def inventory(self, revision: Revision) -> Inventory:
        """Return the machines of a revision. Raises UnknownRevision and RenderingFailed."""
        return self.rendered.inventory(revision)

    def protection(self, case: Case) -> Protection:
        """Return what protects running things by the revision that counts as committed."""
        return self.check_etcd.protection.of(case.committed)

    def etcd_forbids(self, case: Case) -> ShipyardError | None:
        """Return why the members of the targets may not leave their etcd clusters."""
        return self.check_etcd.of_targets(case)

    def outside_cluster(self, nodes: Sequence[NodeName]) -> Sequence[NodeName]:
        """Return those of the nodes that the cluster does not have, in their order; none without a cluster.

        Raises ports.errors.
        """
        members = self.cluster.readiness(nodes) if self.cluster else {}
        return [node for node in nodes if node in members and not members[node].joined]

    def design(self, action: Action, revision: Revision) -> DesignCheck:
        """Read as much of a revision as the action needs. Raises UnknownRevision."""
        if action.reads is None:
            return DesignCheck()
        try:
            return DesignCheck(*action.reads(self.rules, revision, self.rendered.of(revision)))
        except RenderingFailed as failed:
            return DesignCheck(findings=failed.findings)

    def beside(self, tx: Transaction, checked: Checked) -> Checked:
        """Return the request after the checks of what is at work beside it, and the holds that it overrides."""
        case = checked.case
        return replace(checked, case=beside(case, self, tx)) if case and not case.refusal else checked

    def holds(self, tx: Transaction, checked: Checked) -> Sequence[Hold]:
        """Return the active holds that forbid what the action would do to its nodes."""
        return holds(checked.case, self, tx) if checked.case else ()

    def shown(self, checked: Checked) -> JsonObject:
        """Return the parameters as everybody sees them; the inputs have the secret values."""
        written = checked.request.parameters
        if VALUES not in written or checked.revision is None:
            return written
        return shown(written, secret_texts(self.rendered.of(checked.revision).secrets))

    def _parse(self, request: ActionRequest) -> Checked:
        """Return the request with its parsed parameters."""
        faults = self.schemas.check(f"actions/{request.name}", dict(request.parameters))
        if faults:
            return Checked(request, findings=faults, invalid=ParametersBreakSchema(faults))
        try:
            parameters, warnings = ACTIONS.parse(request.name, request.parameters)
        except Invalid as invalid:
            return Checked(request, findings=invalid.findings, invalid=invalid)
        refused: Invalid | None = None
        if warnings and request.strict:
            warnings = tuple(replace(warning, level=Level.ERROR) for warning in warnings)
            refused = InvalidParameters(warnings)
        elif not parameters.force and (wrong := misplaced(warnings)):
            warnings = (*wrong, *(finding for finding in warnings if finding.name != MISPLACED))
            refused = InvalidParameters(wrong)
        action = ACTIONS[request.name]
        case = Case(
            action=action,
            parameters=parameters,
            heads=_NO_HEADS,
            committed=None,
            allows_commits=_allows_intermediate_commits(request, action, parameters),
            inputs=action.frozen(),
            refusal=refused,
            may_pass_policy=request.may_pass_policy,
            may_override_holds=request.may_override_holds,
        )
        return Checked(request, case, warnings)


def _allows_intermediate_commits(request: ActionRequest, action: Action, parameters: Parameters) -> bool | None:
    """Return whether the query or the parameter of that name allows them (seed 004); None if neither is set.

    Either is enough: the command line always sends the query, with False unless its flag is given.
    """
    if action.reads is None or ALLOW_INTERMEDIATE_COMMITS not in request.parameters:
        return request.allow_intermediate_commits
    return bool(parameters.allows_intermediate_commits or request.allow_intermediate_commits)
