"""The version of this Kubernetes and its API groups."""

from collections.abc import Iterable
from typing import Any

import falcon

from shipyard_simulators.kubernetes.kinds import NODES, PODS, Kind
from shipyard_simulators.kubernetes.wire import send

KUBERNETES = "v1.31.1"
OLD_KUBERNETES = "v1.20.2"
VERSIONS = {"1.20": OLD_KUBERNETES, "1.31": KUBERNETES}
"""The versions that the simulator can have. 1.20 serves budgets and evictions as policy/v1beta1 only."""

_VERBS = ["create", "delete", "get", "list", "patch"]


class Fixed:
    """A constant answer."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self._answer = answer

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return it."""
        send(resp, self._answer)


class Health:
    """The health of the API server, which is always well."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return "ok"."""
        resp.content_type = "text/plain; charset=utf-8"
        resp.text = "ok"


def version(kubernetes: str) -> dict[str, Any]:
    """Return the answer of ``/version``."""
    return {
        "major": "1",
        "minor": kubernetes.split(".")[1],
        "gitVersion": kubernetes,
        "gitCommit": "simulated",
        "gitTreeState": "clean",
        "buildDate": "2024-09-11T21:22:08Z",
        "goVersion": "go1.22.6",
        "compiler": "gc",
        "platform": "linux/amd64",
    }


CORE_VERSIONS = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group(kind: Kind) -> dict[str, Any]:
    """Return the API group of a kind."""
    served = {"groupVersion": kind.api_version, "version": kind.version}
    named = {"name": kind.group, "versions": [served], "preferredVersion": served}
    return {"kind": "APIGroup", "apiVersion": "v1", **named}


def groups(served: Iterable[Kind]) -> dict[str, Any]:
    """Return the list of API groups."""
    found = {kind.group: group(kind) for kind in served if kind.group}
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": list(found.values())}


def resources(served: Iterable[Kind], policy: str) -> dict[str, Any]:
    """Return the resources of one API group with version; ``policy``: the version of evictions."""
    listed, group_version = [], ""
    for kind in served:
        group_version = kind.api_version
        common = {"namespaced": kind.namespaced, "kind": kind.name}
        listed.append({"name": kind.resource, "singularName": kind.name.lower(), **common, "verbs": _VERBS})
        if kind in (NODES, PODS):
            listed.append({"name": f"{kind.resource}/status", "singularName": "", **common, "verbs": ["get", "patch"]})
        if kind is PODS:
            eviction = {"group": "policy", "version": policy, "kind": "Eviction", "verbs": ["create"]}
            listed.append({"name": "pods/eviction", "singularName": "", "namespaced": True, **eviction})
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed}
