"""Waiting for deployed nodes to become ready in Kubernetes (contract: shipyard-actions, 8.5; defects of chapter 13).

The first poll comes ``join_wait`` seconds after the deployment: until then the cluster may still show the old node. A
cluster that does not answer only costs time.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.drift.observations import ObservedMember
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.stored import ByFields
from shipyard_api.workflow.step import PeerFailure

Answer = Mapping[NodeName, ObservedMember] | PeerFailure


class Joining(ByFields, Struct, frozen=True):
    """A wait for nodes, and the outcome of their deployment: ``timed_out`` and the provisioner's ``message``.

    ``ready``: nodes that have joined and do not count yet, because their group has acceptance tasks.
    """

    OPTIONAL: ClassVar = frozenset({"ready"})

    since: datetime
    nodes: frozenset[NodeName]
    timed_out: bool
    message: str
    ready: frozenset[NodeName] = frozenset()


class Joined(Struct, frozen=True):
    """The result of a poll. ``lost``: nodes whose time is up, with the reason; ``poll_at`` None: the wait is over."""

    joining: Joining
    ready: frozenset[NodeName]
    lost: Mapping[NodeName, str]
    poll_at: datetime | None


def first_poll(joining: Joining, configuration: DeploymentConfiguration) -> datetime:
    """Return when the cluster is asked for the first time."""
    return joining.since + timedelta(seconds=configuration.join_wait)


def deadline(joining: Joining, configuration: DeploymentConfiguration) -> datetime:
    """Return when nodes that are not ready have failed to join."""
    return first_poll(joining, configuration) + timedelta(seconds=configuration.node_status.timeout)


def judge(joining: Joining, answer: Answer | None, configuration: DeploymentConfiguration, now: datetime) -> Joined:
    """Return what an answer means for the nodes of the wait; None: the cluster was not asked."""
    first, last = first_poll(joining, configuration), deadline(joining, configuration)
    readiness = answer if isinstance(answer, Mapping) else {}
    ready = frozenset(node for node in joining.nodes if node in readiness and readiness[node].ready)
    left = joining.nodes - ready
    if not left:
        return Joined(replace(joining, nodes=frozenset()), ready, {}, None)
    if now < last or answer is None:
        again = max(first, now + timedelta(seconds=configuration.node_status.interval)) if now >= first else first
        return Joined(replace(joining, nodes=left), ready, {}, min(again, max(last, now)))
    limit = (last - joining.since).total_seconds()
    lost = {
        node: f"not ready in Kubernetes within {limit:g} s after its deployment: "
        + (
            answer.detail
            if isinstance(answer, PeerFailure)
            else readiness[node].why
            if node in readiness
            else "no answer about it"
        )
        for node in left
    }
    return Joined(replace(joining, nodes=frozenset()), ready, lost, None)
