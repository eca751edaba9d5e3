"""The traits of a node."""

import re
from collections.abc import Callable

import falcon

from shipyard_simulators.ironic import queries
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import IronicError, above_version, invalid
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.node_resources import ident_of
from shipyard_simulators.ironic.versions import need, version_of
from shipyard_simulators.ironic.wire import body_of, object_of

_SINCE = 37
_MOST = 50
# A real Ironic knows the names of all standard traits; their prefixes suffice here.
_TRAIT = re.compile(r"(CUSTOM|HW|COMPUTE|STORAGE|MISC|OWNER)_[A-Z0-9_]{1,248}")


def check_trait(name: object, what: str) -> str:
    """Return the name of a trait, or raise IronicError."""
    if not isinstance(name, str) or not _TRAIT.fullmatch(name) or len(name) > 255:
        raise invalid(
            f"Schema error for {what}: {name!r} is not valid under any of the given schemas. Possible root cause: "
            f"{name!r} does not match '^CUSTOM_[A-Z0-9_]+$'"
        )
    return name


class Traits:
    """All traits of a node."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return them."""
        if version_of(req) < _SINCE:
            raise above_version()
        queries.parameters(req, ())
        node = self._conductor.look(lambda registry: registry.node(ident_of(req, ident)))
        resp.media = {"traits": node.values["traits"]}

    def on_put(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Replace all of them."""
        need(req, _SINCE)
        body = object_of(req)
        if "traits" not in body:
            raise invalid(
                "A single node trait may be added via PUT /v1/nodes/<node identifier>/traits/<trait> with no body, or "
                "all node traits may be replaced via PUT /v1/nodes/<node identifier>/traits with the list of traits "
                "specified in the request body."
            )
        if not isinstance(body["traits"], list):
            raise invalid(f"Schema error for body: {body['traits']!r} is not of type 'array'")
        wanted = {check_trait(name, "body") for name in body["traits"]}
        self._change(req, ident, lambda _node: wanted)
        resp.status = falcon.HTTP_204

    def on_delete(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Remove all of them."""
        _check_delete(req)
        self._change(req, ident, lambda _node: set[str]())
        resp.status = falcon.HTTP_204

    def on_put_one(self, req: falcon.Request, resp: falcon.Response, ident: str, trait: str) -> None:
        """Add one; adding it twice is fine."""
        need(req, _SINCE)
        if body_of(req) is not None:
            raise invalid("One trait is added without a body.")
        check_trait(trait, "trait")
        self._change(req, ident, lambda node: {*node.values["traits"], trait})
        resp.status = falcon.HTTP_204
        resp.set_header("Location", f"{req.prefix}/v1/nodes/{ident}/traits/{trait}")

    def on_delete_one(self, req: falcon.Request, resp: falcon.Response, ident: str, trait: str) -> None:
        """Remove one."""
        _check_delete(req)

        def without(node: Node) -> set[str]:
            if trait not in node.values["traits"]:
                raise IronicError(404, f"Node {node.uuid} doesn't have a trait '{trait}'")
            return set(node.values["traits"]) - {trait}

        self._change(req, ident, without)
        resp.status = falcon.HTTP_204

    def _change(self, req: falcon.Request, ident: str, wanted: Callable[[Node], set[str]]) -> None:
        def change(node: Node) -> None:
            traits = wanted(node)
            if len(traits) > _MOST:
                raise invalid(
                    f"Could not modify traits for node {node.number} as it would exceed the maximum number of traits "
                    f"per node ({len(traits)} vs. {_MOST})"
                )
            node.values["traits"] = sorted(traits)

        self._conductor.locked(ident_of(req, ident), change)


def _check_delete(req: falcon.Request) -> None:
    if version_of(req) < _SINCE:
        raise IronicError(404, "Resource could not be found.")
