"""Deployment groups and their phases: those of an action, of its overview and of its report."""

from collections.abc import Mapping
from typing import Annotated

from shipyard_api.api.entities.entity import Entity
from shipyard_api.api.entities.types import LookAt, Natural, Zulu, counted, described, one_of
from shipyard_api.domain import groups
from shipyard_api.domain.nodes import NodeStatus
from shipyard_api.domain.strategy.criteria import Criterion

PhaseName = Annotated[str, one_of(groups.Phase)]
NodeCounts = Annotated[Mapping[str, int], counted(NodeStatus, "NodeCounts", description="Number of nodes by status.")]


class Phase(Entity, kw_only=True):
    """A phase of a group, or a batch of one.

    ``batch``: From 1; a phase has several if nodes in flight are limited or nodes are deployed as prepared. ``job``:
    The provisioner's id of the work; empty if it never accepted it.
    """

    phase: PhaseName
    batch: Annotated[int, described(minimum=1)] = 1
    status: Annotated[str, one_of(groups.PhaseStatus)]
    job: str
    submitted_at: Zulu
    running_at: Zulu | None = None
    ended_at: Zulu | None


class ListedPhase(Phase, kw_only=True):
    """A phase of a group of an action. ``nodes``: The submitted nodes."""

    message: str
    nodes: list[str]


class SentPhase(Phase, kw_only=True, rename={"nodes": "nodes_sent"}):
    """A phase of a group, with the number of its nodes."""

    message: str
    nodes: Annotated[int, described(len, minimum=0)]


class ReportedPhase(SentPhase, kw_only=True):
    """A phase of a group of a report."""

    look_at: LookAt


class Group(Entity, kw_only=True):
    """A deployment group without its phases.

    ``reason``: Why the group failed; null otherwise. refused - the provisioner rejected the submission of its nodes.
    ``phases``: In order of their start.
    """

    name: str
    critical: bool
    status: Annotated[str, one_of(groups.GroupStatus, "GroupStatus")]
    reason: Annotated[str, one_of(groups.Reason)] | None
    detail: str
    depends_on: list[str]
    nodes: NodeCounts


class DeploymentGroup(Group, kw_only=True):
    """A deployment group of an action.

    ``needs``: The least number of nodes that must succeed; more than there are if the criteria cannot be met.
    """

    needs: Natural
    phases: list[ListedPhase]


class OverviewGroup(Group, kw_only=True):
    """A deployment group of an overview. ``needs``: The least number of nodes that must succeed."""

    needs: Natural
    phases: list[SentPhase]


class Shortfall(Entity):
    """A criterion that a group missed."""

    criterion: Annotated[str, one_of(Criterion)]
    needed: int
    actual: int


class ReportedGroup(Group, kw_only=True):
    """A deployment group of a report.

    ``shortfalls``: The criteria that it missed; percentages or numbers of nodes, as they ask.
    """

    shortfalls: list[Shortfall]
    phases: list[ReportedPhase]
