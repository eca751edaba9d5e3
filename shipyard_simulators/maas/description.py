"""The description of the API, from which some clients generate themselves."""

import re
from collections.abc import Mapping
from typing import Any

import falcon

from shipyard_simulators.maas import wire
from shipyard_simulators.maas.calls import Operations
from shipyard_simulators.maas.region_operations import VERSION

_PLAIN = {"GET": "read", "POST": "create", "PUT": "update", "DELETE": "delete"}
_VERSION_OPERATIONS: Mapping[tuple[str, str | None], object] = {("GET", None): None}


class Version:
    """The MAAS release; needs no key."""

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Return it."""
        wire.send(resp, VERSION)


class Description:
    """All paths and operations with their MAAS names; needs no key."""

    def __init__(self, routes: Mapping[str, tuple[str, Operations]]) -> None:
        self._routes = routes

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return them."""
        resources = [_describe(req.prefix, name, path, operations) for name, (path, operations) in self._routes.items()]
        version = _describe(req.prefix, "Version", f"{wire.API}/version/", _VERSION_OPERATIONS)
        version["anon"] = version["auth"]
        wire.send(resp, {"doc": "MAAS API", "hash": wire.API_HASH, "resources": [*resources, version]})


def _describe(prefix: str, name: str, path: str, operations: Mapping[tuple[str, str | None], object]) -> dict[str, Any]:
    handler = {
        "name": f"{name}Handler",
        "doc": name,
        "uri": f"{prefix}{path}",
        "path": path,
        "params": re.findall(r"{(\w+)}", path),
        "actions": [
            {
                "name": operation or _PLAIN[method],
                "doc": "",
                "method": method,
                "op": operation,
                "restful": operation is None,
            }
            for method, operation in operations
        ],
    }
    return {"name": f"{name}Handler", "anon": None, "auth": handler}
