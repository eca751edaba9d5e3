"""Nodes: list, read, register, change and delete them."""

import re
from copy import deepcopy
from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import another_uid, bad_request, conflict, invalid, nameless
from shipyard_simulators.kubernetes.kinds import NODES
from shipyard_simulators.kubernetes.listing import list_objects
from shipyard_simulators.kubernetes.node import Object
from shipyard_simulators.kubernetes.patches import patched
from shipyard_simulators.kubernetes.wire import object_of, send

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"

_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


class Nodes:
    """All nodes."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return a page of the selected nodes."""
        send(resp, self._cluster.look(lambda: list_objects(self._cluster, req, NODES, self._cluster.nodes.values)))

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Register a node, as a kubelet does."""
        node = object_of(req)
        if node.get("kind", "Node") != "Node" or node.get("apiVersion", "v1") != "v1":
            raise bad_request(f'{node.get("kind")} in version "{node.get("apiVersion")}" cannot be handled as a Node')
        metadata = node.setdefault("metadata", {})
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not name:
            raise nameless()
        if not isinstance(name, str) or len(name) > 253 or not _NAME.fullmatch(name):
            raise invalid(str(name), "metadata.name", f'Invalid value: "{name}": {_SUBDOMAIN}')
        kept = {key: metadata[key] for key in ("labels", "annotations", "finalizers") if key in metadata}

        def create() -> Object:
            own = {"name": name, "uid": str(uuid4()), "creationTimestamp": self._cluster.stamp(), **kept}
            parts = {part: node[part] for part in ("spec", "status") if isinstance(node.get(part), dict)}
            shape: Object = {"kind": "Node", "apiVersion": "v1", "metadata": own, "spec": {}, "status": {}}
            return self._cluster.add(shape | parts)

        send(resp, self._cluster.look(create), 201)


class OneNode:
    """One node, and its status, which is changed separately."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    def on_get(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Return it."""
        send(resp, self._cluster.look(lambda: self._cluster.node(name)))

    def on_patch(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Change everything but its status."""
        self._patch(req, resp, name, left_alone="status")

    def on_get_status(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Return the whole node, as the real one does."""
        self.on_get(req, resp, name)

    def on_patch_status(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Change its status, as a kubelet does."""
        self._patch(req, resp, name, left_alone="spec")

    def on_delete(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
        """Delete it, or only mark it while a finalizer holds it."""
        options = object_of(req)
        conditions = options.get("preconditions")
        wanted = conditions.get("uid") if isinstance(conditions, dict) else None

        def delete() -> dict[str, Any]:
            node = self._cluster.node(name)
            uid = node["metadata"]["uid"]
            if wanted not in (None, uid):
                raise another_uid(name, str(wanted), uid)
            if not node["metadata"].get("finalizers"):
                self._cluster.remove(name)
                details = {"name": name, "kind": "nodes", "uid": uid}
                return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
            leaving = deepcopy(node)
            leaving["metadata"].setdefault("deletionTimestamp", self._cluster.stamp())
            leaving["metadata"].setdefault("deletionGracePeriodSeconds", 0)
            return self._cluster.replace(name, leaving)

        send(resp, self._cluster.look(delete))

    def _patch(self, req: falcon.Request, resp: falcon.Response, name: str, *, left_alone: str) -> None:
        patch = object_of(req)

        def change() -> Object:
            before = self._cluster.node(name)
            after = _checked(name, before, patched(before, patch, req.content_type))
            after[left_alone] = before[left_alone]
            after = self._cluster.replace(name, after)
            if after["metadata"].get("deletionTimestamp") and not after["metadata"].get("finalizers"):
                self._cluster.remove(name)
            return after

        send(resp, self._cluster.look(change))


def _checked(name: str, before: Object, after: Object) -> Object:
    """Return the patched node if it is still the same node. Raises ApiError."""
    for part in ("spec", "status"):
        after.setdefault(part, {})
    if not all(isinstance(after.get(part), dict) for part in ("metadata", "spec", "status")):
        raise bad_request("cannot be handled as a Node: metadata, spec and status are objects")
    old, new = before["metadata"], after["metadata"]
    if new.get("name") != name:
        message = f"the name of the object ({new.get('name')}) does not match the name on the URL ({name})"
        raise bad_request(message)
    if new.get("uid") != old["uid"]:
        raise invalid(name, "metadata.uid", f'Invalid value: "{new.get("uid")}": field is immutable')
    if new.get("resourceVersion") not in (None, old["resourceVersion"]):
        raise conflict(name, _MODIFIED)
    # Fields that only the API server sets; others' values are silently ignored, as in a real one.
    decided = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion")
    new |= {key: old[key] for key in decided if key in old}
    after["kind"], after["apiVersion"] = "Node", "v1"
    return after
