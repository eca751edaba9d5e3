"""The version of this Kubernetes and its API groups."""

from typing import Any

import falcon

from shipyard_simulators.kubernetes.wire import send

KUBERNETES = "v1.31.1"

_VERBS = ["create", "delete", "get", "list", "patch"]
_NODES = {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node"}


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


VERSION = {
    "major": "1",
    "minor": KUBERNETES.split(".")[1],
    "gitVersion": KUBERNETES,
    "gitCommit": "simulated",
    "gitTreeState": "clean",
    "buildDate": "2024-09-11T21:22:08Z",
    "goVersion": "go1.22.6",
    "compiler": "gc",
    "platform": "linux/amd64",
}
CORE_VERSIONS = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
GROUPS = {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
RESOURCES = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [
        {**_NODES, "verbs": _VERBS, "shortNames": ["no"]},
        {**_NODES, "name": "nodes/status", "singularName": "", "verbs": ["get", "patch"]},
    ],
}
