"""The report on an action: all its groups and nodes in one response. Shipyard v1.0 has no such resource."""

from collections import Counter
from typing import Any, ClassVar

import falcon

from shipyard_api.api.airship.action_views import summary_entity
from shipyard_api.api.airship.cases import cases_entity
from shipyard_api.api.airship.tasks import task_entity, task_totals
from shipyard_api.api.entities.groups import ReportedGroup, ReportedPhase
from shipyard_api.api.entities.nodes import NodePhase, ReportedNode
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.groups import GroupStatus
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.usecases.actions import report as report_action
from shipyard_api.usecases.actions.report import ReportAction
from shipyard_api.usecases.actions.way_back import way_back


class Report:
    """``/actions/{action_id}/report``: the whole action."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, report: ReportAction) -> None:
        self._report = report

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, action_id: str) -> None:
        """Return groups, nodes, findings and totals of an action, running or ended."""
        report = self._report(action_id)
        resp.media = {
            "action": summary_entity(report.action),
            "verdict": report.verdict,
            "seconds": report.seconds,
            "failed_steps": [{"id": step, "detail": why} for step, why in report.failed_steps.items()],
            "way_back": way_back(report.action, _failed(report), report.cordoned, report.lacking),
            "older": list(report.older),
            "cases": [],
            **cases_entity(report.action, report.cases),
            "totals": _totals(report),
            "findings": [_finding(finding) for finding in report.findings],
            "groups": [_group(group) for group in report.groups],
            "nodes": _nodes(report),
            "tasks": task_totals(report.tasks),
            "failed_tasks": [task_entity(record) for record in report.failed_tasks],
            "skipped_tasks": [{"task": task, "reason": why} for task, why in report.skipped_tasks.items()],
            "tolerated": [{"node": node, "reason": why} for node, why in sorted(report.tolerated.items())],
        }


def _failed(report: report_action.Report) -> list[str]:
    return [reported.node.name for reported in report.nodes if reported.node.status is NodeStatus.FAILURE]


def _totals(report: report_action.Report) -> dict[str, Any]:
    groups = Counter(reported.group.status for reported in report.groups)
    nodes = Counter(reported.node.status for reported in report.nodes)
    return {
        "groups": {"total": len(report.groups), **{status.value: groups[status.value] for status in GroupStatus}},
        "nodes": {"total": len(report.nodes), **{status.value: nodes[status] for status in NodeStatus}},
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "level": finding.level.value,
        "message": finding.message,
        "path": finding.path,
        "source": finding.source,
        "documents": [{"schema": document.schema, "name": document.name} for document in finding.documents],
    }


def _group(reported: report_action.ReportedGroup) -> ReportedGroup:
    phases = [ReportedPhase.of(phase, look_at=place) for phase, place in reported.phases]
    return ReportedGroup.of(reported, reported.group, phases=phases)


def _nodes(report: report_action.Report) -> list[ReportedNode]:
    """Return the nodes. A phase is rendered once for all the nodes that it sent: there can be 10,000 of them."""
    sent = {id(phase): NodePhase.of(phase) for reported in report.groups for phase, _ in reported.phases}
    return [
        ReportedNode.of(reported.node, reported, phases=[sent[id(phase)] for phase in reported.phases])
        for reported in report.nodes
    ]
