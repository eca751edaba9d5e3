"""The route table of the dialect: each address with its resource, which declares its methods and rights."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct

from shipyard_api.api.airship import (
    action_nodes,
    actions,
    approvals,
    configdocs,
    deploy_steps,
    differences,
    drain_plans,
    error_answers,
    forecasts,
    hardware,
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
from shipyard_api.api.http.security import SecurityTxt
from shipyard_api.api.http.waiting import EndedActions
from shipyard_api.api.metrics import Metrics
from shipyard_api.domain.node_operations import NodeOperation
from shipyard_api.ports.metrics import Exposition
from shipyard_api.usecases.health import CheckHealth, ClockSkew
from shipyard_api.usecases.holds.health import ReportHealth


class Collaborators(Struct, frozen=True, kw_only=True):
    """What the resources work with.

    ``check_schema`` raises UnsuitableDatabase if the database has a schema of another release. ``events``: the
    addresses of event streams, and ``sign_in`` those of an identity provider, which have the errors of this dialect.
    """

    use_cases: UseCases
    check_schema: Callable[[], None]
    clock_skew: ClockSkew
    check_health: CheckHealth
    metrics: Exposition
    ended_actions: EndedActions
    events: Mapping[str, Guarded]
    sign_in: Mapping[str, Guarded]
    openapi: Path
    security_contact: str
    costly: CostlyWork


def routes(parts: Collaborators) -> dict[str, Guarded]:
    """Return every address with its resource."""
    v1, cases = "/api/v1.0", parts.use_cases
    on_actions, describe, read = cases.actions, cases.actions.describe, cases.configdocs.read
    rendered, costly, task_results = RenderedActions(), parts.costly, cases.software.results
    return {
        "/versions": versions.Versions(),
        "/.well-known/security.txt": SecurityTxt(parts.security_contact),
        "/health": health.Readiness(parts.check_schema, on_actions.find_skipped_actions, parts.clock_skew),
        "/health/live": health.Live(),
        "/health/ready": health.Ready(parts.check_health),
        "/metrics": Metrics(parts.metrics),
        "/openapi.json": health.OpenApi(parts.openapi),
        **parts.events,
        **parts.sign_in,
        f"{v1}/health": versions.Health(),
        f"{v1}/configdocs": differences.ConfigdocsStatus(read),
        f"{v1}/configdocs/{{collection_id}}": configdocs.Collection(cases.configdocs.load, read, cases.design_bytes),
        f"{v1}/renderedconfigdocs": rendered_documents.RenderedConfigdocs(read),
        f"{v1}/commitconfigdocs": configdocs.Commit(cases.configdocs.commit),
        f"{v1}/revisions/{{revision}}/rendered-documents": rendered_documents.RevisionDesign(read),
        f"{v1}/actions": actions.Actions(
            on_actions.create, on_actions.list, cases.journal.notes, cases.schemas, rendered, cases.json_bytes
        ),
        f"{v1}/actions/{{action_id}}": actions.Action(describe, cases.journal.notes, rendered),
        f"{v1}/actions/{{action_id}}/control/{{control_verb}}": actions.Control(on_actions.control, on_actions.retry),
        f"{v1}/actions/{{action_id}}/steps/{{step_id}}": steps.Step(describe, cases.journal.notes),
        f"{v1}/actions/{{action_id}}/steps/{{step_id}}/logs": steps.StepLogs(cases.journal.logs),
        f"{v1}/actions/{{action_id}}/validations/{{validation_id}}": validations.ActionValidation(
            cases.journal.validations
        ),
        f"{v1}/actions/{{action_id}}/groups": action_nodes.Groups(describe),
        f"{v1}/actions/{{action_id}}/nodes": action_nodes.Nodes(describe),
        f"{v1}/actions/{{action_id}}/tasks": tasks.Tasks(task_results),
        f"{v1}/actions/{{action_id}}/tasks/{{task}}/nodes/{{node_name}}/output": tasks.TaskOutput(task_results),
        f"{v1}/actions/{{action_id}}/limits": limits.Limits(on_actions.limits, cases.json_bytes),
        f"{v1}/actions/{{action_id}}/reconciliation": reconciliation.Reconciliations(
            on_actions.reconcile, cases.json_bytes
        ),
        f"{v1}/actions/{{action_id}}/approvals": approvals.ActionApprovals(on_actions.approve, cases.json_bytes),
        f"{v1}/actions/{{action_id}}/forecast": forecasts.ActionForecasts(on_actions.forecast, costly),
        f"{v1}/actions/{{action_id}}/report": reports.Report(on_actions.report),
        f"{v1}/actions/{{action_id}}/overview": overviews.ActionOverview(describe, on_actions.overview, rendered),
        f"{v1}/actions/{{action_id}}/node-places": overviews.ActionNodePlaces(on_actions.overview),
        f"{v1}/caller": versions.Caller(),
        f"{v1}/plans": plans.Plans(on_actions.plan, on_actions.plans, cases.schemas, cases.json_bytes, costly),
        f"{v1}/plans/{{plan_id}}": stored_plans.Plan(on_actions.plans),
        f"{v1}/plans/{{plan_id}}/approvals": stored_plans.PlanApprovals(on_actions.plans, cases.json_bytes),
        f"{v1}/forecasts": forecasts.Forecasts(on_actions.forecast, cases.schemas, cases.json_bytes, costly),
        f"{v1}/notedetails/{{note_id}}": notes.NoteDetails(cases.journal.notes),
        f"{v1}/workflows": workflows.Workflows(on_actions.list),
        f"{v1}/workflows/{{workflow_id}}": workflows.Workflow(describe, on_actions.list),
        f"{v1}/nodes": site_nodes.SiteNodes(cases.nodes.list),
        f"{v1}/nodes/{{node_name}}": site_nodes.SiteNode(cases.nodes.list),
        f"{v1}/nodes/{{node_name}}/holds": holds.NewHolds(cases.node_holds, cases.schemas, cases.json_bytes),
        **{
            f"{v1}/nodes/{{node_name}}/{operation.value}": node_operations.OneNode(
                operation, cases.operate, parts.ended_actions, cases.json_bytes
            )
            for operation in NodeOperation
        },
        f"{v1}/nodes/{{node_name}}/drain-plan": drain_plans.NodeDrain(cases.nodes.plan_drain),
        f"{v1}/nodes/{{node_name}}/hardware": hardware.Hardware(cases.nodes.hardware),
        f"{v1}/nodes/{{node_name}}/deploy-steps": deploy_steps.NodeSteps(cases.plan_steps),
        f"{v1}/nodes/{{node_name}}/tasks": tasks.NodeTasks(task_results),
        f"{v1}/etcd-cluster-health-statuses": node_operations.EtcdHealthStatuses(cases.etcd_health),
        f"{v1}/nodes/{{node_name}}/health": holds.Health(
            ReportHealth(cases.node_holds), cases.schemas, cases.json_bytes
        ),
        f"{v1}/adoptions": site_nodes.Adoptions(cases.adopt, cases.schemas, cases.json_bytes),
        f"{v1}/holds": holds.Holds(cases.node_holds),
        f"{v1}/holds/{{hold_id}}": holds.Hold(cases.node_holds),
        f"{v1}/site/differences": site_differences.SiteDifferences(cases.find_drift),
        f"{v1}/site_statuses": site_nodes.SiteStatuses(cases.nodes.statuses),
    }


def dialect(parts: Collaborators) -> Dialect:
    """Return the dialect: its routes, its parameter that every address takes, its form of errors."""
    resources = routes(parts)
    errors = partial(error_answers.install, addresses=tuple(resources))
    return Dialect(lambda _: resources, errors, middleware=[Problems(problem), Verbosity()])
