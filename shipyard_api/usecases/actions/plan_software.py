"""Preview the software stage of an action, without running anything (product, section 7)."""

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.actions.frozen_software import FrozenSoftware, freeze, has_graph, plan_run
from shipyard_api.actions.inputs import ActionInputs
from shipyard_api.actions.site_checks import RemoteAccess
from shipyard_api.actions.software_steps import keeping
from shipyard_api.actions.steps.software.state import StageSoftware
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.findings import Finding, warning
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.software import is_whole, software_digests
from shipyard_api.domain.task_graph.command_run import COMMAND
from shipyard_api.domain.task_graph.layers import SITE, Layer
from shipyard_api.domain.task_graph.plan import Batch, Run, SkipReason
from shipyard_api.domain.task_graph.roles import check_tags
from shipyard_api.domain.task_graph.tasks import TaskId
from shipyard_api.ports.remote_tasks import Host
from shipyard_api.storage.unit_of_work import Store, Transaction
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.workflow.definition import Definition

Hosts = Callable[[Rendering, Sequence[NodeName]], tuple[Mapping[NodeName, Host], Sequence[Finding]]]


class SoftwarePlan(Struct, frozen=True):
    """What the software stage would run. Errors among the findings: it would fail, and why.

    ``stage``: what the step of the action works from; None if there is no plan.
    """

    batches: Sequence[Batch] = ()
    skipped: Sequence[tuple[TaskId, SkipReason]] = ()
    findings: Sequence[Finding] = ()
    stage: StageSoftware | None = None


class Retried(Struct, frozen=True):
    """The action that a run goes on with. ``nodes``: those that are not deployed again; None for all."""

    action: ActionId
    nodes: Collection[NodeName] | None = None

    def keeps(self, node: NodeName) -> bool:
        """Return whether the node is not deployed again."""
        return self.nodes is None or node in self.nodes


class PlanSoftware(Struct, frozen=True):
    """The use case. ``access``: None without SSH."""

    store: Store
    rendered: RenderedDesigns
    access: RemoteAccess | None

    def freeze(self, revision: Revision, written: JsonObject, *, deploys: bool) -> FrozenSoftware | None:
        """Return what an action on a revision reads of the site's task graph at this moment.

        None without a task graph. ``written``: the limits of its run. Raises UnknownRevision and RenderingFailed.
        """
        rendering = self.rendered.of(revision)
        with self.store.begin() as tx:
            if not has_graph(tx, written):
                return None
            # Design nodes that have no roles yet are planned as such.
            site = tx.software.site(SITE, rendering.machines.nodes)
        return freeze(site, rendering, self.access, written, deploys=deploys)

    def __call__(
        self,
        frozen: FrozenSoftware,
        revision: Revision,
        deployed: Collection[NodeName] | None,
        written: JsonObject,
        retried: Retried | None = None,
    ) -> SoftwarePlan:
        """Return the plan of a run on a revision that was frozen. ``deployed`` and ``written``: as of ``SiteRun``.

        ``retried``: the action whose run continues; the plan lists only tasks that run now.
        """
        run = plan_run(frozen, self.rendered.of(revision), written, deployed, self.access)
        findings = [*run.findings]
        if not {"tests", COMMAND} & written.keys():
            findings += self.store.read(lambda tx: check_tags(_layer(tx), frozen.nodes))
        if run.site_plan.plan is None or run.stage is None:
            return SoftwarePlan(findings=findings)
        stage = run.stage
        batches: Sequence[Batch] = run.site_plan.plan.batches
        if retried is not None:
            done = self.store.read(lambda tx: keeping(tx, stage, retried.action)).kept_tasks
            batches = _without(batches, {(node, task) for node, task in done if retried.keeps(node)})
        return SoftwarePlan(batches, sorted(run.site_plan.plan.skipped.items()), findings, stage)


def tasks_given(
    planned: SoftwarePlan | None,
    written: JsonObject,
    nodes: Collection[NodeName],
    fingerprint: Callable[[bytes], str],
) -> Mapping[NodeName, str]:
    """Return the digests of the tasks that a run would leave: empty for those of the nodes that it has none for.

    ``planned``: None without a task graph. ``written``: the limits of the run.
    """
    if not is_whole(written):
        return {}
    every = () if written else nodes
    if planned is None:
        return dict.fromkeys(every, "")
    if (stage := planned.stage) is None:
        return {}
    return software_digests(stage.flow.nodes_of, stage.documents, stage.facts.keys, fingerprint, every)


def without_graph(definition: Definition, inputs: ActionInputs) -> Sequence[Finding]:
    """Return the warning that an action runs no tasks, if people may expect it to and the site has none."""
    return [warning("NothingToRun", definition.missing)] if definition.missing and inputs.software is None else ()


def _layer(tx: Transaction) -> Layer:
    cluster = tx.software.cluster(SITE)
    return cluster.layer if cluster else Layer()


def _without(batches: Sequence[Batch], done: Collection[tuple[NodeName, TaskId]]) -> Sequence[Batch]:
    """Return the batches without tasks that were done on nodes; nodes with the same tasks left stay together."""
    kept = []
    for batch in batches:
        runs = []
        for run in batch.runs:
            alike: dict[tuple[TaskId, ...], list[NodeName]] = {}
            for node in run.nodes:
                alike.setdefault(tuple(task for task in run.tasks if (node, task) not in done), []).append(node)
            runs += [Run(run.unit, tuple(nodes), tasks) for tasks, nodes in alike.items() if tasks]
        if runs:
            kept.append(replace(batch, runs=tuple(runs)))
    return kept
