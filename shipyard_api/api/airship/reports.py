"""The report on an action: all its groups and nodes in one response. Shipyard v1.0 has no such resource."""

from collections import Counter
from itertools import starmap
from typing import ClassVar

import falcon
from msgspec import UNSET

from shipyard_api.api.airship.action_views import cases, summary
from shipyard_api.api.airship.tasks import task_totals
from shipyard_api.api.entities import reports as entities
from shipyard_api.api.entities.actions import ActionSummary
from shipyard_api.api.entities.groups import ReportedGroup, ReportedPhase
from shipyard_api.api.entities.nodes import NodePhase, ReportedNode
from shipyard_api.api.entities.types import counts
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
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
        failed = [reported.node.name for reported in report.nodes if reported.node.status is NodeStatus.FAILURE]
        resp.media = entities.Report.of(
            report,
            action=summary(ActionSummary, report.action),
            failed_steps=list(starmap(entities.FailedStep, report.failed_steps.items())),
            way_back=way_back(report.action, failed, report.cordoned, report.lacking),
            totals=entities.ReportTotals(
                counts(GroupStatus, Counter(reported.group.status for reported in report.groups)),
                counts(NodeStatus, Counter(reported.node.status for reported in report.nodes)),
            ),
            groups=[_group(group) for group in report.groups],
            nodes=_nodes(report),
            tasks=task_totals(report.tasks),
            skipped_tasks=list(starmap(entities.SkippedTask, report.skipped_tasks.items())),
            tolerated=list(starmap(entities.ToleratedNode, sorted(report.tolerated.items()))),
            **{"cases": (), "cases_unknown": UNSET, **cases(report.action, report.cases)},
        )


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
