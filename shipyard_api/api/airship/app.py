"""The route table: which address is which resource. What a resource may be asked, and by whom, it says itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from shipyard_api.api.airship import (
    action_nodes,
    actions,
    approvals,
    callers,
    configdocs,
    deploy_steps,
    differences,
    drain_plans,
    error_answers,
    forecasts,
    holds,
    limits,
    node_operations,
    notes,
    overviews,
    plans,
    reconciliation,
    rendered_documents,
    reports,
    site_differences,
    site_nodes,
    site_statuses,
    steps,
    tasks,
    validations,
    versions,
    workflows,
)
from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.api.airship.parameters import Verbosity
from shipyard_api.api.airship.rendered_actions import RenderedActions
from shipyard_api.api.http import health
from shipyard_api.api.http.authentication import Guarded
from shipyard_api.api.http.dialect import Dialect
from shipyard_api.api.http.waiting import EndedActions
from shipyard_api.api.metrics.resource import Metrics
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.ports.metrics import Exposition
from shipyard_api.ports.schemas import Schemas
from shipyard_api.usecases.actions.approve import ApproveAction
from shipyard_api.usecases.actions.control import ControlAction
from shipyard_api.usecases.actions.create import CreateAction
from shipyard_api.usecases.actions.describe import DescribeAction
from shipyard_api.usecases.actions.forecast import ForecastAction
from shipyard_api.usecases.actions.left_alone import FindLeftAlone
from shipyard_api.usecases.actions.limits import ActionLimits
from shipyard_api.usecases.actions.list import ListActions
from shipyard_api.usecases.actions.overview import OverviewAction
from shipyard_api.usecases.actions.plan import PlanAction
from shipyard_api.usecases.actions.reconcile import ReconcileAction
from shipyard_api.usecases.actions.report import ReportAction
from shipyard_api.usecases.clock_skew import ClockSkew
from shipyard_api.usecases.configdocs.commit import CommitConfigdocs
from shipyard_api.usecases.configdocs.load import LoadConfigdocs
from shipyard_api.usecases.configdocs.read import ReadConfigdocs
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps
from shipyard_api.usecases.drift.find import FindDrift
from shipyard_api.usecases.health import CheckHealth
from shipyard_api.usecases.holds.manage import NodeHolds
from shipyard_api.usecases.journal.logs import ReadLogs
from shipyard_api.usecases.journal.notes import ReadNotes
from shipyard_api.usecases.journal.validations import ReadValidations
from shipyard_api.usecases.node_operations.etcd_health import EtcdHealth
from shipyard_api.usecases.node_operations.operate import OperateNodes
from shipyard_api.usecases.nodes.drain_plan import PlanDrain
from shipyard_api.usecases.nodes.list import ListNodes
from shipyard_api.usecases.nodes.statuses import SiteStatuses
from shipyard_api.usecases.software.results import ReadTaskResults


@dataclass(frozen=True, slots=True)
class Collaborators:
    """What the resources work with. The two limits are the largest bodies accepted, in bytes.

    ``check_schema`` raises UnsuitableDatabase if the database has a schema of another release. ``events``: the
    addresses of event streams, which have the errors of this dialect.
    """

    check_schema: Callable[[], None]
    clock_skew: ClockSkew
    check_health: CheckHealth
    metrics: Exposition
    load_configdocs: LoadConfigdocs
    commit_configdocs: CommitConfigdocs
    read_configdocs: ReadConfigdocs
    create_action: CreateAction
    control_action: ControlAction
    action_limits: ActionLimits
    reconcile_action: ReconcileAction
    approve_action: ApproveAction
    plan_action: PlanAction
    forecast_action: ForecastAction
    describe_action: DescribeAction
    overview_action: OverviewAction
    find_left_alone: FindLeftAlone
    list_actions: ListActions
    report_action: ReportAction
    read_notes: ReadNotes
    read_logs: ReadLogs
    read_validations: ReadValidations
    list_nodes: ListNodes
    node_holds: NodeHolds
    operate_nodes: OperateNodes
    ended_actions: EndedActions
    etcd_health: EtcdHealth
    plan_drain: PlanDrain
    plan_steps: PlanDeploySteps
    site_statuses: SiteStatuses
    find_drift: FindDrift
    task_results: ReadTaskResults
    events: Mapping[str, Guarded]
    schemas: Schemas
    openapi: Path
    design_bytes: int
    json_bytes: int
    costly: CostlyWork


def routes(own: Collaborators) -> dict[str, Guarded]:
    """Return every address with its resource."""
    v1 = "/api/v1.0"
    describe, read = own.describe_action, own.read_configdocs
    rendered, costly = RenderedActions(), own.costly
    return {
        "/versions": versions.Versions(),
        "/health": health.Readiness(own.check_schema, own.find_left_alone, own.clock_skew),
        "/health/live": health.Live(),
        "/health/ready": health.Ready(own.check_health),
        "/metrics": Metrics(own.metrics),
        "/openapi.json": health.OpenApi(own.openapi),
        **own.events,
        f"{v1}/health": versions.Health(),
        f"{v1}/configdocs": differences.ConfigdocsStatus(read),
        f"{v1}/configdocs/{{collection_id}}": configdocs.Collection(own.load_configdocs, read, own.design_bytes),
        f"{v1}/renderedconfigdocs": rendered_documents.RenderedConfigdocs(read),
        f"{v1}/commitconfigdocs": configdocs.Commit(own.commit_configdocs),
        f"{v1}/revisions/{{revision}}/rendered-documents": rendered_documents.RevisionDesign(read),
        f"{v1}/actions": actions.Actions(
            own.create_action, own.list_actions, own.read_notes, own.schemas, rendered, own.json_bytes
        ),
        f"{v1}/actions/{{action_id}}": actions.Action(describe, own.read_notes, rendered),
        f"{v1}/actions/{{action_id}}/control/{{control_verb}}": actions.Control(own.control_action),
        f"{v1}/actions/{{action_id}}/steps/{{step_id}}": steps.Step(describe, own.read_notes),
        f"{v1}/actions/{{action_id}}/steps/{{step_id}}/logs": steps.StepLogs(own.read_logs),
        f"{v1}/actions/{{action_id}}/validations/{{validation_id}}": validations.ActionValidation(own.read_validations),
        f"{v1}/actions/{{action_id}}/groups": action_nodes.Groups(describe),
        f"{v1}/actions/{{action_id}}/nodes": action_nodes.Nodes(describe),
        f"{v1}/actions/{{action_id}}/tasks": tasks.Tasks(own.task_results),
        f"{v1}/actions/{{action_id}}/tasks/{{task}}/nodes/{{node_name}}/output": tasks.TaskOutput(own.task_results),
        f"{v1}/actions/{{action_id}}/limits": limits.Limits(own.action_limits, own.json_bytes),
        f"{v1}/actions/{{action_id}}/reconciliation": reconciliation.Reconciliations(
            own.reconcile_action, own.json_bytes
        ),
        f"{v1}/actions/{{action_id}}/approvals": approvals.ActionApprovals(own.approve_action, own.json_bytes),
        f"{v1}/actions/{{action_id}}/forecast": forecasts.ActionForecasts(own.forecast_action, costly),
        f"{v1}/actions/{{action_id}}/report": reports.Report(own.report_action),
        f"{v1}/actions/{{action_id}}/overview": overviews.ActionOverview(describe, own.overview_action, rendered),
        f"{v1}/actions/{{action_id}}/node-places": overviews.ActionNodePlaces(own.overview_action),
        f"{v1}/caller": callers.Caller(),
        f"{v1}/plans": plans.Plans(own.plan_action, own.schemas, own.json_bytes, costly),
        f"{v1}/forecasts": forecasts.Forecasts(own.forecast_action, own.schemas, own.json_bytes, costly),
        f"{v1}/notedetails/{{note_id}}": notes.NoteDetails(own.read_notes),
        f"{v1}/workflows": workflows.Workflows(own.list_actions),
        f"{v1}/workflows/{{workflow_id}}": workflows.Workflow(describe, own.list_actions),
        f"{v1}/nodes": site_nodes.SiteNodes(own.list_nodes),
        f"{v1}/nodes/{{node_name}}": site_nodes.SiteNode(own.list_nodes),
        f"{v1}/nodes/{{node_name}}/holds": holds.NewHolds(own.node_holds, own.schemas, own.json_bytes),
        **{
            f"{v1}/nodes/{{node_name}}/{one.value}": node_operations.OneNode(
                one, own.operate_nodes, own.ended_actions, own.json_bytes
            )
            for one in NodeOperation
        },
        f"{v1}/nodes/{{node_name}}/drain-plan": drain_plans.NodeDrain(own.plan_drain),
        f"{v1}/nodes/{{node_name}}/deploy-steps": deploy_steps.NodeSteps(own.plan_steps),
        f"{v1}/nodes/{{node_name}}/tasks": tasks.NodeTasks(own.task_results),
        f"{v1}/etcd-cluster-health-statuses": node_operations.EtcdHealthStatuses(own.etcd_health),
        f"{v1}/holds": holds.Holds(own.node_holds),
        f"{v1}/holds/{{hold_id}}": holds.Hold(own.node_holds),
        f"{v1}/site/differences": site_differences.SiteDifferences(own.find_drift),
        f"{v1}/site_statuses": site_statuses.SiteStatuses(own.site_statuses),
    }


def dialect(own: Collaborators) -> Dialect:
    """Return the dialect: its routes, its parameter that every address takes, its form of errors."""
    made = routes(own)
    return Dialect(made, partial(error_answers.install, addresses=tuple(made)), [Verbosity()])
