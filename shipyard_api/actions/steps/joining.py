"""Waiting for deployed nodes to become ready in Kubernetes (contract: shipyard-actions, 8.5; defects of chapter 13).

Nobody looks for ``join_wait`` seconds: until then the cluster may still show the node as it was before it was deployed
anew. A cluster that does not answer only costs time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from shipyard_api.domain.deployment_configuration import DeploymentConfiguration
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.cluster import NodeReadiness
from shipyard_api.workflow.step import Json, Trouble

Answer = Mapping[NodeName, NodeReadiness] | Trouble


@dataclass(frozen=True, slots=True)
class Joined:
    """What one look means. ``lost`` are nodes whose time is up, with why; ``look_again_at`` None: nobody is awaited."""

    joining: Json
    ready: frozenset[NodeName]
    lost: Mapping[NodeName, str]
    look_again_at: datetime | None


def new(nodes: frozenset[NodeName], now: datetime, *, timed_out: bool, message: str) -> Json:
    """Return the stored form of a wait that begins now; what the deploy itself came to is kept with it."""
    return {"since": now.isoformat(), "nodes": sorted(nodes), "timed_out": timed_out, "message": message}


def first_look(joining: Json, configuration: DeploymentConfiguration) -> datetime:
    """Return when the cluster is asked for the first time."""
    return datetime.fromisoformat(joining["since"]) + timedelta(seconds=configuration.join_wait)


def judge(joining: Json, answer: Answer | None, configuration: DeploymentConfiguration, now: datetime) -> Joined:
    """Return what an answer means for the nodes that are awaited; None: the cluster was not asked."""
    first = first_look(joining, configuration)
    deadline = first + timedelta(seconds=configuration.node_status.timeout)
    awaited = frozenset(NodeName(name) for name in joining["nodes"])
    told = answer if isinstance(answer, Mapping) else {}
    ready = frozenset(node for node in awaited if node in told and told[node].ready)
    left = awaited - ready
    if not left:
        return Joined({**joining, "nodes": []}, ready, {}, None)
    if now < deadline or answer is None:
        again = max(first, now + timedelta(seconds=configuration.node_status.interval)) if now >= first else first
        return Joined({**joining, "nodes": sorted(left)}, ready, {}, min(again, max(deadline, now)))
    limit = configuration.join_wait + configuration.node_status.timeout
    lost = {
        node: f"not ready in Kubernetes within {limit:g} s after its deployment: "
        + (answer.detail if isinstance(answer, Trouble) else told[node].why if node in told else "no answer about it")
        for node in left
    }
    return Joined({**joining, "nodes": []}, ready, lost, None)
