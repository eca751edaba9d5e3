"""The software stage from the configured systems: plan it, run it (product, section 7; seeds 001 and 002)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.frozen_software import NO_SSH, FrozenSoftware, acceptance_of, freeze, plan_run
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import SiteChecks
from shipyard_api.actions.steps.acceptance import Acceptance, PlanAcceptance
from shipyard_api.actions.steps.software.software_stage import NoPlan, PlanSoftware, SoftwareStage
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.actions.steps.software.task_item import TaskItem
from shipyard_api.domain.actions import ActionId, StepId
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.findings import Finding, errors, messages_in_short
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.software import is_whole, software_digests
from shipyard_api.domain.strategy.strategy import Strategy
from shipyard_api.domain.task_graph.commands import NodeFiles
from shipyard_api.domain.task_graph.execution import kept
from shipyard_api.domain.task_graph.layers import SITE
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.storage.unit_of_work import Transaction
from shipyard_api.workflow.step import AnyStep, Json

SOFTWARE = StepId("software.run_task_graph")
TESTS = StepId("software.run_tests")
_SHOWN = 5


class SoftwareSteps(Struct, frozen=True):
    """The step of the software stage, as it is configured."""

    checks: SiteChecks

    def steps(self, inputs: ActionInputs, step: StepId = SOFTWARE, *, deploys: bool = False) -> tuple[AnyStep, ...]:
        """Return the step; none for an action of a site without a task graph.

        ``deploys``: only on the nodes that the action has deployed.
        """
        if inputs.software is None:
            return ()
        access = self.checks.systems.access
        item = TaskItem(access.tasks if access else None, splits=True, facts=self._facts)
        # The nodes of an action that deploys have begun already.
        windows = inputs.policy.of_servers if inputs.policy and not deploys else None
        return (SoftwareStage(step, partial(self.plan, deploys=deploys), item, windows=windows),)

    def _facts(self, action: str, nodes: Sequence[NodeName]) -> Mapping[NodeName, NodeFiles]:
        with self.checks.store.begin() as tx:
            software = StageSoftware.find(tx.task_results.step_texts(ActionId(action)))
        return {node: software.facts.files(node) for node in nodes} if software else {}

    def plan(self, question: PlanSoftware, *, deploys: bool = False) -> StageSoftware | NoPlan:
        """Plan the run, and keep its primaries. Raises ports.errors."""
        access, action, written = self.checks.systems.access, ActionId(question.action), question.selection or {}
        if access is None:
            return NoPlan(f"The site has a task graph, and {NO_SSH}")
        read = self._read(action, question.revision, written, deploys=deploys)
        if isinstance(read, NoPlan):
            return read
        frozen, rendering = read
        store = self.checks.store
        with store.begin() as tx:
            deployed = frozenset(tx.actions.deployed(action)) if deploys else None
        plan = plan_run(frozen, rendering, written, deployed, access)
        stage = plan.stage
        if stage is None or errors(plan.findings):
            return no_plan(errors(plan.findings))
        if is_whole(written):
            fingerprint, every = self.checks.designs.store.fingerprint, () if written else deployed or ()
            given = software_digests(stage.flow.nodes_of, stage.documents, stage.facts.keys, fingerprint, every)
            stage = replace(stage, given=given)
        with store.begin() as tx:
            if question.retried:
                stage = keeping(tx, stage, ActionId(question.retried))
            if stage.flow.cells and not stage.noop:
                tx.software.keep_primaries(SITE, frozen.primaries)
        return stage

    def _read(
        self, action: ActionId, revision: int, written: Json, *, deploys: bool
    ) -> tuple[FrozenSoftware, Rendering] | NoPlan:
        """Return what the action has frozen, or what is there now for an action of an earlier release; and its design.

        Raises ports.errors.
        """
        access = self.checks.systems.access
        try:
            rendering = self.checks.designs.rendered(Revision(revision))
        except RenderingFailed as failed:
            return no_plan(failed.findings)
        except UnknownRevision as unknown:
            return NoPlan(str(unknown))
        with self.checks.store.begin() as tx:
            if stored := tx.actions.software(action):
                frozen = FrozenSoftware.from_json(stored)
                return frozen.reached(rendering, access) if access else frozen, rendering
            site = tx.software.site(SITE, rendering.machines.nodes)
        return freeze(site, rendering, access, written, deploys=deploys), rendering

    @property
    def acceptance(self) -> PlanAcceptance:
        """How acceptance tasks of groups run."""
        access = self.checks.systems.access
        return PlanAcceptance(self._acceptance, TaskItem(access.tasks if access else None))

    def _acceptance(
        self, action: str, revision: int, strategy: Strategy, nodes: Collection[NodeName]
    ) -> Acceptance | NoPlan:
        if self.checks.systems.access is None:
            return NoPlan(NO_SSH)
        read = self._read(ActionId(action), revision, {}, deploys=True)
        if isinstance(read, NoPlan):
            return read
        acceptance = acceptance_of(*read, action, strategy, nodes)
        return acceptance if isinstance(acceptance, Acceptance) else no_plan(acceptance)


def keeping(tx: Transaction, software: StageSoftware, retried: ActionId) -> StageSoftware:
    """Return the run without the tasks that an action, or an action that it retried, has done already.

    A task that was changed since runs again, and all tasks do on nodes that were deployed since.
    """
    record, earlier = tx.actions.get(retried), StageSoftware.find(tx.task_results.step_texts(retried))
    if record is None or earlier is None:
        return software
    succeeded = {*tx.task_results.succeeded(retried), *earlier.kept_tasks}
    again = tx.nodes.touched_since(record.created_at, {node for node, _ in succeeded})
    same = {task for task, entry in software.documents.items() if earlier.documents.get(task) == entry}
    done = {(node, task) for node, task in succeeded if node not in again and task in same}
    return replace(software, kept=kept(software.flow, done))


def no_plan(findings: Iterable[Finding]) -> NoPlan:
    """Return these faults as the reason why nothing runs."""
    return NoPlan(messages_in_short(findings, _SHOWN))
