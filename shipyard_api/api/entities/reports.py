"""The overview of an action, and the report on it. The state of its rollout policy is described by hand."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, UnsetType

from shipyard_api.api.entities.actions import ActionSummary, CaseList, Older, Verdict, WayBack, WithCases
from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.groups import NodeCounts, OverviewGroup, ReportedGroup
from shipyard_api.api.entities.nodes import ReportedNode
from shipyard_api.api.entities.tasks import TaskResult, TaskTotals
from shipyard_api.api.entities.types import Natural, component, counted, described, one_of
from shipyard_api.domain.findings import Level
from shipyard_api.domain.groups import GroupStatus


class ReportTotals(Entity):
    """The numbers of groups and nodes."""

    groups: Annotated[Mapping[str, int], counted(GroupStatus, "GroupCounts")]
    nodes: NodeCounts


class FailedStep(Entity):
    """A step that failed."""

    id: str
    detail: str


class SkippedTask(Entity):
    """A task that does not run."""

    task: str
    reason: str


class ToleratedNode(Entity):
    """A node that failed or lacks a task."""

    node: str
    reason: str


class FindingDocument(Entity):
    """A document of a finding. ``path``: Position in this document."""

    schema: str
    name: str
    path: Annotated[str | UnsetType, described(lambda _: UNSET)] = UNSET


class ReportedFinding(Entity):
    """What the action found in its design.

    ``path``: As the path of a Message; may be empty. ``source``: The peer that found it; empty for Shipyard itself.
    """

    name: str
    level: Annotated[str, one_of(Level)]
    message: str
    path: str
    source: str
    documents: list[FindingDocument]


class Report(WithCases, kw_only=True):
    """All of an action.

    ``verdict``: null until the action has ended. ``seconds``: From the start of the action to its end, or until now;
    null before it starts. ``tasks``: How many nodes each task of the software stage has in each status.
    ``failed_tasks``: The first 100 tasks that failed on a node, by node and task; `GET /actions/{action_id}/tasks` has
    all. ``skipped_tasks``: The tasks of the graph that do not run, and why, once the software stage is planned.
    ``tolerated``: The nodes that failed or lack a task within the tolerance of their group, once the run has ended.
    ``failed_steps``: The steps that failed, and why. ``findings``: What the action found when it looked at its design.
    ``groups``: In the order of the strategy. ``nodes``: In order of name.
    """

    action: ActionSummary
    verdict: Verdict
    seconds: Annotated[float, described(minimum=0)] | None
    failed_steps: Sequence[FailedStep] = ()
    way_back: WayBack = ()
    older: Older = ()
    cases: CaseList = ()
    totals: ReportTotals
    findings: Sequence[ReportedFinding] = ()
    groups: Sequence[ReportedGroup]
    nodes: Sequence[ReportedNode]
    tasks: Sequence[TaskTotals] = ()
    failed_tasks: Sequence[TaskResult] = ()
    skipped_tasks: Sequence[SkippedTask] = ()
    tolerated: Sequence[ToleratedNode] = ()


class OverviewAction(ActionSummary, kw_only=True):
    """An action without its steps. ``verdict``: null until the action has ended."""

    verdict: Verdict


class LetteredNodes(Entity):
    """The nodes of an action.

    ``letters``: One letter for each node, in order of name. n - not started, q - queued at the provisioner, i - being
    prepared, p - prepared, d - being deployed, s - success, f - failure.
    """

    total: Natural
    letters: Annotated[str, described(pattern="^[nqipdsf]*$")]


class Overview(WithCases, kw_only=True):
    """An action at a glance.

    ``warnings``: What the steps of the action warn of, the first ones: a software stage that had nothing to run. Only
    if there are any; the report has all findings. ``groups``: In the order of the strategy; empty until the action has
    selected their nodes. ``cases``: Absent if there is none.
    """

    action: OverviewAction
    way_back: WayBack
    older: Older
    groups: Sequence[OverviewGroup]
    nodes: LetteredNodes
    policy: Annotated[Mapping[str, Any], component("PolicyStanding")] | UnsetType = UNSET
    warnings: Sequence[str] | UnsetType = UNSET
