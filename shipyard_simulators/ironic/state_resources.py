"""The states of a node: read them, request a verb, switch its power."""

from typing import Any

import falcon

from shipyard_simulators.ironic import operations, queries, verbs
from shipyard_simulators.ironic.conductor import Conductor
from shipyard_simulators.ironic.errors import invalid, not_in_this_state, unexpected_arguments
from shipyard_simulators.ironic.fields import FIELDS
from shipyard_simulators.ironic.node import Node
from shipyard_simulators.ironic.node_resources import ident_of
from shipyard_simulators.ironic.registry import Registry
from shipyard_simulators.ironic.states import POWER_STATES
from shipyard_simulators.ironic.versions import version_of
from shipyard_simulators.ironic.wire import accepted, object_of

_STATE_FIELDS = (
    "console_enabled",
    "last_error",
    "power_state",
    "provision_state",
    "target_power_state",
    "target_provision_state",
    "provision_updated_at",
    "raid_config",
    "target_raid_config",
    "boot_mode",
    "secure_boot",
)


class States:
    """The states of a node."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_get(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Return them."""
        queries.parameters(req, ())
        version = version_of(req)

        def read(registry: Registry) -> dict[str, Any]:
            values = registry.node(ident_of(req, ident)).values
            return {name: values[name] for name in _STATE_FIELDS if FIELDS[name].version <= version}

        resp.media = self._conductor.look(read)


class Provision:
    """The provision state of a node."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_put(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Request a verb."""
        verbs.request(self._conductor, ident_of(req, ident), object_of(req), version_of(req))
        accepted(req, resp, f"/v1/nodes/{ident}/states")


class Power:
    """The power of a node."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor

    def on_put(self, req: falcon.Request, resp: falcon.Response, ident: str) -> None:
        """Request a power change."""
        body = object_of(req)
        unknown = [name for name in body if name not in ("target", "timeout")]
        if unknown:
            raise unexpected_arguments(unknown)
        if "target" not in body:
            raise invalid("Missing mandatory parameter: target")
        timeout = body.get("timeout")
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int) or timeout < 1):
            raise invalid("timeout has to be positive integer")
        verb = body["target"]
        node = self._conductor.look(lambda registry: registry.node(ident_of(req, ident)))
        if verb not in POWER_STATES:
            raise not_in_this_state(str(verb), ident, str(node.values["power_state"]))
        if node.state in ("cleaning", "clean wait"):
            raise not_in_this_state(str(verb), ident, node.state)

        def switch(locked: Node) -> None:
            operation = operations.switch_power(self._conductor, locked, verb, POWER_STATES[verb])
            self._conductor.begin(locked, operation, "power")

        self._conductor.locked(ident, switch)
        accepted(req, resp, f"/v1/nodes/{ident}/states")
