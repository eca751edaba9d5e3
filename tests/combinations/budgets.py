"""Pods that a budget keeps on a node, so that a drain of it never ends or is never begun."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def budget_of(node: str) -> str:
    """Return the budget that keeps a pod on this node for ever."""
    return f"kept-on-{node}"


def kept_pod(node: str, *, for_ever: bool) -> Sequence[dict[str, Any]]:
    """Return what a cluster has whose pod on this node may not be evicted; its budget could give way or never does."""
    name = budget_of(node)
    labels = {"app": name}
    places = [{"kubernetes.io/hostname": node}, *([] if for_ever else [{"disk": "none has it"}])]
    return [
        *(_replica(f"{name}-{number}", labels, place) for number, place in enumerate(places)),
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"namespace": "default", "name": name},
            "spec": {"maxUnavailable": len(places) - 1, "selector": {"matchLabels": labels}},
        },
    ]


def _replica(name: str, labels: Mapping[str, str], place: Mapping[str, str]) -> dict[str, Any]:
    pod = {"containers": [{"name": "app"}], "nodeSelector": place}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template, "replicas": 1}
    return {"kind": "ReplicaSet", "metadata": {"namespace": "default", "name": name}, "spec": spec}
