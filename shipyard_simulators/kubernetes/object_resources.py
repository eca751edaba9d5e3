"""Objects other than nodes: list, read, create, change and delete them; evict pods."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import falcon

from shipyard_simulators.kubernetes import disruption
from shipyard_simulators.kubernetes.cluster import SimulatedCluster
from shipyard_simulators.kubernetes.errors import (
    already_exists,
    another_uid,
    bad_request,
    conflict,
    invalid,
    nameless,
    namespace_ends,
    not_found,
)
from shipyard_simulators.kubernetes.kinds import LEASES, NAMESPACES, PODS, Kind
from shipyard_simulators.kubernetes.listing import list_objects
from shipyard_simulators.kubernetes.node import Object
from shipyard_simulators.kubernetes.patches import patched
from shipyard_simulators.kubernetes.wire import object_of, send
from shipyard_simulators.kubernetes.workloads import Workloads

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_DONE = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class Objects:
    """The objects of one kind, of one namespace or of all."""

    def __init__(self, cluster: SimulatedCluster, workloads: Workloads, kind: Kind) -> None:
        self._cluster, self._workloads, self._kind = cluster, workloads, kind

    def on_get(self, req: falcon.Request, resp: falcon.Response, namespace: str = "") -> None:
        """Return a page of the selected objects."""

        def current() -> Iterable[Object]:
            found = all_of(self._cluster, self._workloads, self._kind)
            return [each for each in found if namespace in ("", each["metadata"].get("namespace"))]

        send(resp, self._cluster.look(lambda: list_objects(self._cluster, req, self._kind, current)))

    def on_post(self, req: falcon.Request, resp: falcon.Response, namespace: str = "") -> None:
        """Create one. A pod waits for its kubelet; a status that is sent is ignored."""
        sent = object_of(req)
        sent.pop("status", None)
        created = self._cluster.look(lambda: create(self._cluster, self._kind, sent, namespace))
        send(resp, created, 201)


class OneObject:
    """One object. The route of a namespace has the name of the namespace in ``namespace``."""

    def __init__(self, cluster: SimulatedCluster, workloads: Workloads, kind: Kind) -> None:
        self._cluster, self._workloads, self._kind = cluster, workloads, kind

    def on_get(self, _req: falcon.Request, resp: falcon.Response, namespace: str = "", name: str = "") -> None:
        """Return it."""
        send(resp, self._cluster.look(lambda: self._one(namespace, name)))

    def on_patch(self, req: falcon.Request, resp: falcon.Response, namespace: str = "", name: str = "") -> None:
        """Change everything but its status."""
        self._patch(req, resp, (namespace, name), "status")

    def on_patch_status(self, req: falcon.Request, resp: falcon.Response, namespace: str = "", name: str = "") -> None:
        """Change its status, as a kubelet does."""
        self._patch(req, resp, (namespace, name), "spec")

    def on_delete(self, req: falcon.Request, resp: falcon.Response, namespace: str = "", name: str = "") -> None:
        """Delete it: a pod after its grace period, a namespace when it is empty."""
        options = object_of(req)
        if (grace := req.get_param_as_int("gracePeriodSeconds")) is not None:
            options.setdefault("gracePeriodSeconds", grace)

        def delete() -> Object:
            found = self._one(namespace, name)
            if self._kind is PODS:
                return self._workloads.delete(found, options)
            uid, named = found["metadata"]["uid"], found["metadata"]["name"]
            wanted = (options.get("preconditions") or {}).get("uid")
            if wanted not in (None, uid):
                raise another_uid(named, str(wanted), uid, self._kind)
            if self._kind is NAMESPACES:
                return self._end_namespace(found)
            self._cluster.drop(self._kind, found)
            return _DONE | {"details": {"name": named, "kind": self._kind.resource, "uid": uid}}

        send(resp, self._cluster.look(delete))

    def on_post_eviction(self, req: falcon.Request, resp: falcon.Response, namespace: str = "", name: str = "") -> None:
        """Evict the pod, if its budgets allow that."""
        sent = object_of(req)
        version, expected = sent.get("apiVersion"), ("policy/v1", "policy/v1beta1")[self._cluster.policy == "v1beta1" :]
        if sent.get("kind") != "Eviction" or version not in expected:
            of = str(version).partition("/")[2] or version
            raise bad_request(
                f'Eviction in version "{of}" cannot be handled as a Eviction: no kind "Eviction" is registered for '
                f'version "{version}" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'
            )

        def evict() -> None:
            check_namespace(self._cluster, PODS, namespace, name)
            self._workloads.evict(self._one(namespace, name), sent.get("deleteOptions") or {})

        self._cluster.look(evict)
        send(resp, _DONE, 201)

    def _one(self, namespace: str, name: str) -> Object:
        if self._kind is NAMESPACES:
            namespace, name = "", namespace
        for each in all_of(self._cluster, self._workloads, self._kind, name=name):
            if (each["metadata"].get("namespace", ""), each["metadata"]["name"]) == (namespace, name):
                return each
        raise not_found(name, self._kind)

    def _patch(self, req: falcon.Request, resp: falcon.Response, key: tuple[str, str], left_alone: str) -> None:
        patch = object_of(req)

        def change() -> Object:
            before = self._one(*key)
            after: Object = patched(before, patch, req.content_type)
            old, new = before["metadata"], after["metadata"]
            if new.get("uid") != old["uid"]:
                raise invalid(key[1], "metadata.uid", "Invalid value: field is immutable", self._kind)
            if new.get("resourceVersion") not in (None, old["resourceVersion"]):
                raise conflict(key[1], _MODIFIED, self._kind)
            if left_alone in before:
                after[left_alone] = before[left_alone]
            return before if after == before else self._cluster.put(self._kind, after)

        send(resp, self._cluster.look(change))

    def _end_namespace(self, namespace: Object) -> Object:
        """Delete its objects, pods after their grace periods. It stays, because a finalizer holds it."""
        name = namespace["metadata"]["name"]
        ending = {**namespace, "metadata": namespace["metadata"] | {"deletionTimestamp": self._cluster.stamp()}}
        self._cluster.put(NAMESPACES, ending | {"status": {"phase": "Terminating"}})
        for kind in self._cluster.kinds:
            for (of, _), each in list(self._cluster.objects(kind).items()):
                if of == name and kind is PODS:
                    self._workloads.delete(each, {})
                elif of == name:
                    self._cluster.drop(kind, each)
        return ending


def all_of(cluster: SimulatedCluster, workloads: Workloads, kind: Kind, *, name: str = "") -> Iterable[Object]:
    """Return all objects of a kind; ``name``: objects of other names may be left out."""
    if kind is LEASES:
        return workloads.leases()
    if kind.resource == "poddisruptionbudgets":
        return workloads.budgets()
    objects = cluster.objects(kind)
    return [each for (_, own), each in objects.items() if own == name] if name else list(objects.values())


def create(cluster: SimulatedCluster, kind: Kind, sent: Object, namespace: str) -> Object:
    """Add an object. Raises ApiError."""
    written, version = sent.get("kind", kind.name), sent.get("apiVersion", kind.api_version)
    if (written, version) != (kind.name, kind.api_version):
        raise bad_request(f'{written} in version "{version}" cannot be handled as a {kind.name}')
    metadata: Object = sent.get("metadata") or {}
    name = str(metadata.get("name") or "")
    if not name:
        raise nameless(kind)
    namespace = namespace or (str(metadata.get("namespace") or "default") if kind.namespaced else "")
    if (namespace, name) in cluster.objects(kind):
        raise already_exists(name, kind)
    if kind.namespaced:
        check_namespace(cluster, kind, namespace, name)
    own: dict[str, Any] = {"uid": str(uuid4()), "creationTimestamp": cluster.stamp(), "generation": 1}
    own |= {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid")}
    if kind.namespaced:
        own["namespace"] = namespace
    shape: Object = {"spec": {}} | sent | {"kind": kind.name, "apiVersion": kind.api_version, "metadata": own}
    if kind is PODS:
        shape["status"] = {"phase": "Pending", **(sent.get("status") or {})}
    elif kind.resource == "poddisruptionbudgets":
        shape = disruption.counted(shape, (), {})
    return cluster.put(kind, shape)


def check_namespace(cluster: SimulatedCluster, kind: Kind, namespace: str, name: str) -> None:
    """Raise ApiError if the namespace is being deleted. One that was never created is accepted."""
    found = cluster.objects(NAMESPACES).get(("", namespace))
    if found and "deletionTimestamp" in found["metadata"]:
        raise namespace_ends(namespace, kind, name)
