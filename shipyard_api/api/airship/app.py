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
    stored_plans,
    tasks,
    validations,
    versions,
    workflows,
)
from shipyard_api.api.airship.costly_work import CostlyWork
from shipyard_api.api.airship.parameters import Verbosity
from shipyard_api.api.airship.rendered_actions import RenderedActions
from shipyard_api.api.airship.statuses import problem
from shipyard_api.api.http import health
from shipyard_api.api.http.authentication import Guarded
from shipyard_api.api.http.dialect import Dialect, UseCases
from shipyard_api.api.http.problems import Problems
from shipyard_api.api.http.security_txt import SecurityTxt
from shipyard_api.api.http.waiting import EndedActions
from shipyard_api.api.metrics.resource import Metrics
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.ports.metrics import Exposition
from shipyard_api.usecases.clock_skew import ClockSkew
from shipyard_api.usecases.health import CheckHealth
from shipyard_api.usecases.holds.health import ReportHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class Collaborators(UseCases):
    """What the resources work with.

    ``check_schema`` raises UnsuitableDatabase if the database has a schema of another release. ``events``: the
    addresses of event streams, which have the errors of this dialect.
    """

    check_schema: Callable[[], None]
    clock_skew: ClockSkew
    check_health: CheckHealth
    metrics: Exposition
    ended_actions: EndedActions
    events: Mapping[str, Guarded]
    openapi: Path
    security_contact: str
    costly: CostlyWork


def routes(own: Collaborators) -> dict[str, Guarded]:
    """Return every address with its resource."""
    v1 = "/api/v1.0"
    on_actions, describe, read = own.actions, own.actions.describe, own.configdocs.read
    rendered, costly, task_results = RenderedActions(), own.costly, own.software.results
    return {
        "/versions": versions.Versions(),
        "/.well-known/security.txt": SecurityTxt(own.security_contact),
        "/health": health.Readiness(own.check_schema, on_actions.find_left_alone, own.clock_skew),
        "/health/live": health.Live(),
        "/health/ready": health.Ready(own.check_health),
        "/metrics": Metrics(own.metrics),
        "/openapi.json": health.OpenApi(own.openapi),
        **own.events,
        f"{v1}/health": versions.Health(),
        f"{v1}/configdocs": differences.ConfigdocsStatus(read),
        f"{v1}/configdocs/{{collection_id}}": configdocs.Collection(own.configdocs.load, read, own.design_bytes),
        f"{v1}/renderedconfigdocs": rendered_documents.RenderedConfigdocs(read),
        f"{v1}/commitconfigdocs": configdocs.Commit(own.configdocs.commit),
        f"{v1}/revisions/{{revision}}/rendered-documents": rendered_documents.RevisionDesign(read),
        f"{v1}/actions": actions.Actions(
            on_actions.create, on_actions.list, own.journal.notes, own.schemas, rendered, own.json_bytes
        ),
        f"{v1}/actions/{{action_id}}": actions.Action(describe, own.journal.notes, rendered),
        f"{v1}/actions/{{action_id}}/control/{{control_verb}}": actions.Control(on_actions.control, on_actions.retry),
        f"{v1}/actions/{{action_id}}/steps/{{step_id}}": steps.Step(describe, own.journal.notes),
        f"{v1}/actions/{{action_id}}/steps/{{step_id}}/logs": steps.StepLogs(own.journal.logs),
        f"{v1}/actions/{{action_id}}/validations/{{validation_id}}": validations.ActionValidation(
            own.journal.validations
        ),
        f"{v1}/actions/{{action_id}}/groups": action_nodes.Groups(describe),
        f"{v1}/actions/{{action_id}}/nodes": action_nodes.Nodes(describe),
        f"{v1}/actions/{{action_id}}/tasks": tasks.Tasks(task_results),
        f"{v1}/actions/{{action_id}}/tasks/{{task}}/nodes/{{node_name}}/output": tasks.TaskOutput(task_results),
        f"{v1}/actions/{{action_id}}/limits": limits.Limits(on_actions.limits, own.json_bytes),
        f"{v1}/actions/{{action_id}}/reconciliation": reconciliation.Reconciliations(
            on_actions.reconcile, own.json_bytes
        ),
        f"{v1}/actions/{{action_id}}/approvals": approvals.ActionApprovals(on_actions.approve, own.json_bytes),
        f"{v1}/actions/{{action_id}}/forecast": forecasts.ActionForecasts(on_actions.forecast, costly),
        f"{v1}/actions/{{action_id}}/report": reports.Report(on_actions.report),
        f"{v1}/actions/{{action_id}}/overview": overviews.ActionOverview(describe, on_actions.overview, rendered),
        f"{v1}/actions/{{action_id}}/node-places": overviews.ActionNodePlaces(on_actions.overview),
        f"{v1}/caller": callers.Caller(),
        f"{v1}/plans": plans.Plans(on_actions.plan, on_actions.plans, own.schemas, own.json_bytes, costly),
        f"{v1}/plans/{{plan_id}}": stored_plans.Plan(on_actions.plans),
        f"{v1}/plans/{{plan_id}}/approvals": stored_plans.PlanApprovals(on_actions.plans, own.json_bytes),
        f"{v1}/forecasts": forecasts.Forecasts(on_actions.forecast, own.schemas, own.json_bytes, costly),
        f"{v1}/notedetails/{{note_id}}": notes.NoteDetails(own.journal.notes),
        f"{v1}/workflows": workflows.Workflows(on_actions.list),
        f"{v1}/workflows/{{workflow_id}}": workflows.Workflow(describe, on_actions.list),
        f"{v1}/nodes": site_nodes.SiteNodes(own.nodes.list),
        f"{v1}/nodes/{{node_name}}": site_nodes.SiteNode(own.nodes.list),
        f"{v1}/nodes/{{node_name}}/holds": holds.NewHolds(own.node_holds, own.schemas, own.json_bytes),
        **{
            f"{v1}/nodes/{{node_name}}/{one.value}": node_operations.OneNode(
                one, own.node_operations.operate, own.ended_actions, own.json_bytes
            )
            for one in NodeOperation
        },
        f"{v1}/nodes/{{node_name}}/drain-plan": drain_plans.NodeDrain(own.nodes.plan_drain),
        f"{v1}/nodes/{{node_name}}/deploy-steps": deploy_steps.NodeSteps(own.plan_steps),
        f"{v1}/nodes/{{node_name}}/tasks": tasks.NodeTasks(task_results),
        f"{v1}/etcd-cluster-health-statuses": node_operations.EtcdHealthStatuses(own.node_operations.etcd_health),
        f"{v1}/nodes/{{node_name}}/health": holds.Health(ReportHealth(own.node_holds), own.schemas, own.json_bytes),
        f"{v1}/holds": holds.Holds(own.node_holds),
        f"{v1}/holds/{{hold_id}}": holds.Hold(own.node_holds),
        f"{v1}/site/differences": site_differences.SiteDifferences(own.find_drift),
        f"{v1}/site_statuses": site_statuses.SiteStatuses(own.nodes.statuses),
    }


def dialect(own: Collaborators) -> Dialect:
    """Return the dialect: its routes, its parameter that every address takes, its form of errors."""
    made = routes(own)
    errors = partial(error_answers.install, addresses=tuple(made))
    return Dialect(lambda _: made, errors, middleware=[Problems(problem), Verbosity()])
