"""Check a request for an action before it is stored (contract: shipyard-rest 6.4, shipyard-actions chapter 4)."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.action import Action, Case, Check, DesignCheck
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.domain.actions import ENDED, ActionId
from shipyard_api.domain.documents import Revision, secret_texts
from shipyard_api.domain.error_kinds import Invalid, ShipyardError
from shipyard_api.domain.errors import (
    ActionNotFound,
    ActionOver,
    InvalidParameters,
    ParametersBreakSchema,
)
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.findings import Level
from shipyard_api.domain.holds import OVERRIDDEN, Hold
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import Inventory, NodeName
from shipyard_api.domain.parameters import ALLOW_INTERMEDIATE_COMMITS, MISPLACED, VALUES, Parameters, misplaced, shown
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.domain.teardown.etcd_documents import Protection
from shipyard_api.ports.cluster import Cluster
from shipyard_api.ports.documents import DesignStore, Heads, RenderingFailed
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.actions.check_software import CheckAcceptance, CheckSoftware
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import committed_revision
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.nodes.check_etcd import CheckEtcd

_NO_HEADS = Heads(Revision(0), {})


class CheckAction(Struct, frozen=True):
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

    def __call__(self, request: ActionRequest, heads: Heads | None = None, revision: Revision | None = None) -> Case:
        """Return what the action would work from, or why it is refused. No peer but the design's store is asked.

        ``heads`` are read unless given; ``revision`` replaces the committed one.
        """
        case = self._parse(request)
        if case.refusal:
            return case
        heads = heads or self.designs.heads()
        committed = revision or committed_revision(heads)
        inputs = case.action.frozen(revision=committed or 0)
        return self._admit(replace(case, heads=heads, committed=committed, inputs=inputs), case.action.admission)

    def with_peers(self, case: Case, silent: Callable[[Case, PeerError], Case] | None = None) -> Case:
        """Return the request after the checks that ask peers. Raises ports.errors unless ``silent`` goes on."""
        return self._admit(case, case.action.asks_peers, silent)

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

    def shown(self, case: Case) -> JsonObject:
        """Return the parameters as everybody sees them; the inputs have the secret values."""
        if VALUES not in case.written or case.revision is None:
            return case.written
        return shown(case.written, secret_texts(self.rendered.of(case.revision).secrets))

    def _parse(self, request: ActionRequest) -> Case:
        """Return the request with its parsed parameters, or refused."""
        action = ACTIONS[request.name]
        case = Case(
            action=action,
            written=request.parameters,
            heads=_NO_HEADS,
            committed=None,
            allows_commits=None,
            inputs=action.frozen(),
            may_pass_policy=request.may_pass_policy,
            may_override_holds=request.may_override_holds,
        )
        if faults := self.schemas.check(f"actions/{request.name}", dict(request.parameters)):
            return replace(case, warnings=faults, refusal=ParametersBreakSchema(faults))
        try:
            parameters, warnings = ACTIONS.parse(request.name, request.parameters)
        except Invalid as invalid:
            return replace(case, warnings=invalid.findings, refusal=invalid)
        refused: Invalid | None = None
        if warnings and request.strict:
            warnings = tuple(replace(warning, level=Level.ERROR) for warning in warnings)
            refused = InvalidParameters(warnings)
        elif not parameters.force and (wrong := misplaced(warnings)):
            warnings = (*wrong, *(finding for finding in warnings if finding.name != MISPLACED))
            refused = InvalidParameters(wrong)
        allows = _allows_intermediate_commits(request, action, parameters)
        return replace(case, parsed=parameters, allows_commits=allows, warnings=warnings, refusal=refused)


def _allows_intermediate_commits(request: ActionRequest, action: Action, parameters: Parameters) -> bool | None:
    """Return whether the query or the parameter of that name allows them (seed 004); None if neither is set.

    Either is enough: the command line always sends the query, with False unless its flag is given.
    """
    if action.reads is None or ALLOW_INTERMEDIATE_COMMITS not in request.parameters:
        return request.allow_intermediate_commits
    return bool(parameters.allows_intermediate_commits or request.allow_intermediate_commits)


def override(action: NewAction, holds: Sequence[Hold]) -> NewAction:
    """Return the action with the holds that it overrides in its inputs and, as notes, in its journal."""
    if not holds:
        return action
    notes = [Noted("Hold Overridden", f"node {hold.node} is {hold}") for hold in holds]
    inputs = {**action.inputs, OVERRIDDEN: [hold.id for hold in holds]}
    return replace(action, inputs=inputs, facts=(*action.facts, *notes))


def lock_running(tx: Transaction, action: ActionId) -> ActionRecord:
    """Return an action, locked until the transaction ends. Raises ActionNotFound, and ActionOver if it has ended."""
    tx.actions.lock(action)
    record = tx.actions.get(action)
    if record is None:
        raise ActionNotFound(action)
    if record.state in ENDED:
        raise ActionOver(action)
    return record
