"""Accept an action: check the request, freeze the inputs, queue the action.

Contract: shipyard-rest 6.4, shipyard-actions chapter 4. The action, its steps and its first wake-up are one
transaction: either the worker finds all of them, or nothing happened.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.action import Case
from shipyard_api.actions.beside import beside
from shipyard_api.actions.catalog import ACTIONS
from shipyard_api.actions.frozen_software import FrozenSoftware
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import made_at
from shipyard_api.domain.actions import ActionId, ActionName, nodes_of_run
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.error_kinds import Conflict
from shipyard_api.domain.errors import KeyReused
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.facts.findings import FindingReported
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.plans.plan import PlanContent
from shipyard_api.domain.rollout.policy.reading import PASSED
from shipyard_api.domain.task_graph.command_run import COMMAND
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.domain.task_graph.roles import check_tags
from shipyard_api.domain.task_graph.site_plan import graph_warnings
from shipyard_api.ports.documents import RenderingFailed
from shipyard_api.ports.state.actions import ActionRecord, NewAction
from shipyard_api.ports.state.errors import RequestKeyTaken
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.actions.agreed_plan import by_plan
from shipyard_api.usecases.actions.check import CheckAction, override
from shipyard_api.usecases.actions.plan_software import without_graph
from shipyard_api.usecases.actions.request import ActionRequest
from shipyard_api.usecases.callers import Caller
from shipyard_api.workflow.definition import Definition

LOG = logging.getLogger(__name__)


def _nothing_frozen(_name: ActionName, _revision: Revision | None, _written: JsonObject) -> FrozenSoftware | None:
    return None


def _not_planned(_case: Case, _frozen: FrozenSoftware | None) -> PlanContent:
    raise NotImplementedError("this program starts no action from a plan")


class Created(Struct, frozen=True):
    """A created action. ``replayed``: an earlier request with the same key created it."""

    action: ActionRecord
    warnings: Sequence[Finding]
    replayed: bool = False


class _SoftwareFindings(Struct, frozen=True):
    """The tag check (seed 002, Orchestration), and what the task graph has that is not evaluated."""

    tags: Sequence[Finding] = ()
    graph: Sequence[Finding] = ()


class CreateAction(Struct, frozen=True):
    """The use case. ``freeze``: returns what an action freezes of the task graph: name, revision, limits of its run.

    ``planned``: returns what a checked request would do with that, for a request that names a plan.
    """

    store: Store
    check: CheckAction
    definitions: Mapping[ActionName, Definition]
    new_id: Callable[[], str]
    freeze: Callable[[ActionName, Revision | None, JsonObject], FrozenSoftware | None] = _nothing_frozen
    planned: Callable[[Case, FrozenSoftware | None], PlanContent] = _not_planned

    def __call__(self, request: ActionRequest, caller: Caller) -> Created:
        """Return the action, queued. Raises Invalid, Precondition or Conflict, and then nothing is stored.

        Raises ports.errors if deploy templates are for its nodes and the provisioner does not answer.
        """
        if earlier := self._created_earlier(request, caller):
            return earlier
        request.agreement.check()
        case = self.check.with_peers(self.check(request))
        if case.refusal:
            raise case.refusal
        software = self._software_findings(case)
        inputs = self._inputs(request, case)
        new, runs = self._new(request, case, inputs, caller, software), inputs.software is not None
        frozen = self.freeze(request.name, case.revision, case.parameters.software)
        new = replace(new, software=frozen.to_json() if frozen and runs else None)
        content = self.planned(case, frozen) if request.agreement.plan else None
        try:
            with self.store.begin() as tx:
                if case.action.exclusive:
                    tx.actions.lock_creation()
                case = beside(case, self.check, tx)
                if case.refusal:
                    raise case.refusal
                new = by_plan(tx, override(new, case.held), request.agreement, content, case.held, caller)
                action = tx.actions.create(new)
        except (Conflict, RequestKeyTaken):
            # The conflict may be this very request, sent twice at once.
            if earlier := self._created_earlier(request, caller):
                return earlier
            raise
        if overridden := case.overridden:
            LOG.warning(
                "created despite problems", extra={"action": action.id, "revision": action.revision, **overridden}
            )
        return Created(action, (*case.warnings, *software.graph))

    def _created_earlier(self, request: ActionRequest, caller: Caller) -> Created | None:
        """Return the action that the same request created before; raises KeyReused if that request differed."""
        key = request.key(caller)
        if key is None:
            return None
        with self.store.begin() as tx:
            earlier = tx.actions.with_key(key.caller, key.key)
        if earlier is None:
            return None
        action, digest = earlier
        if digest != key.digest:
            raise KeyReused(action.id)
        return Created(action, ACTIONS.parse(action.name, action.parameters)[1], replayed=True)

    def _inputs(self, request: ActionRequest, case: Case) -> ActionInputs:
        parameters, has_design = case.parameters, case.inputs.site is not None and case.revision is not None
        runs = case.action.runs_tasks and (COMMAND in parameters.software or self._has_tasks())
        return replace(
            case.inputs,
            action=ActionId(self.new_id()),
            name=request.name,
            continue_on_fail=parameters.continues_on_fail,
            software=parameters.software if runs else None,
            made=made_at(self.check.designs, Revision(case.inputs.revision)) if has_design else None,
            further=request.further or None,
        )

    def _new(
        self, request: ActionRequest, case: Case, inputs: ActionInputs, caller: Caller, software: _SoftwareFindings
    ) -> NewAction:
        definition = self.definitions[request.name]
        return NewAction(
            id=inputs.action,
            name=request.name,
            parameters=self.check.shown(case),
            user=caller.user,
            context_marker=caller.context_marker,
            revision=case.revision,
            allow_intermediate_commits=case.allows_commits,
            inputs=inputs.to_json(),
            steps=definition.step_ids(inputs),
            key=request.key(caller),
            exclusive=ACTIONS[request.name].exclusive,
            nodes=nodes_of_run(inputs.software),
            facts=(
                *_passed(case, caller),
                *first_notes(definition, inputs, case.warnings),
                *(Noted("Tag check", finding.message) for finding in software.tags),
                *(Noted("Task graph", finding.message) for finding in software.graph),
                *map(FindingReported, (*errors(case.findings or ()), *case.steps.findings)),
            ),
        )

    def _software_findings(self, case: Case) -> _SoftwareFindings:
        """Return what an action that runs the task graph has to know about it.

        Tests and commands deploy nothing, and have none.
        """
        runs = case.action.runs_tasks and case.action.exclusive and COMMAND not in case.parameters.software
        if case.revision is None or not runs:
            return _SoftwareFindings()
        try:
            names = self.check.rendered.inventory(case.revision).nodes
        except RenderingFailed:
            return _SoftwareFindings()
        if not self._has_tasks():
            return _SoftwareFindings()
        with self.store.begin() as tx:
            site = tx.software.site(SITE, names)
        graph = graph_warnings(site.tasks, site.status, site.models)
        return _SoftwareFindings(check_tags(site.cluster.layer, site.nodes), graph)

    def _has_tasks(self) -> bool:
        with self.store.begin() as tx:
            site = tx.software.cluster(SITE)
        return site is not None and bool(site.layer.tasks)


def _passed(case: Case, caller: Caller) -> tuple[Fact, ...]:
    """Return who has forced the action past which rules of the policy."""
    policy = case.inputs.site.policy if case.inputs.site else None
    if policy is None or not policy.passed:
        return ()
    rules = " and ".join(rule.value for rule in PASSED if policy.data.get(rule.value))
    return (Noted("Policy Passed", f"{caller.user} has forced the action past the {rules} of the rollout policy"),)


def first_notes(definition: Definition, inputs: ActionInputs, warnings: Sequence[Finding]) -> tuple[Fact, ...]:
    """Return the facts that an action has from its creation on."""
    missing = without_graph(definition, inputs)
    notes = (Noted("Parameter", warning.message) for warning in warnings)
    return (
        *definition.first_facts(inputs),
        *(Noted("No task graph", finding.message) for finding in missing),
        *notes,
        *map(FindingReported, missing),
    )
