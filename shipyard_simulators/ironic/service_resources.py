"""The service: its versions, conductors and drivers."""

import falcon

from shipyard_simulators.ironic.errors import IronicError
from shipyard_simulators.ironic.fields import links
from shipyard_simulators.ironic.node import DRIVERS, HOST
from shipyard_simulators.ironic.versions import MINIMUM, version_of

_CONDUCTORS_SINCE = 49
_COLLECTIONS = ("allocations", "conductors", "deploy_templates", "drivers", "nodes", "ports")


class Root:
    """The versions of the API; ``highest``: the latest minor version."""

    def __init__(self, highest: int) -> None:
        self._highest = highest

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return the only major version."""
        version = {
            "id": "v1",
            "links": [{"href": f"{req.prefix}/v1/", "rel": "self"}],
            "status": "CURRENT",
            "min_version": f"1.{MINIMUM}",
            "version": f"1.{self._highest}",
        }
        resp.media = {
            "name": "OpenStack Ironic API",
            "description": "A simulated Ironic.",
            "default_version": version,
            "versions": [version],
        }

    def on_get_v1(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return the resources below it."""
        resp.media = {
            "id": "v1",
            "links": [{"href": f"{req.prefix}/v1/", "rel": "self"}],
            "media_types": {"base": "application/json", "type": "application/vnd.openstack.ironic.v1+json"},
            "version": {
                "id": "v1",
                "links": [{"href": f"{req.prefix}/v1/", "rel": "self"}],
                "status": "CURRENT",
                "min_version": f"1.{MINIMUM}",
                "version": f"1.{self._highest}",
            },
        } | {name: links(req.prefix, f"{name}/") for name in _COLLECTIONS}


class Conductors:
    """The conductors: a single one."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return it."""
        if version_of(req) < _CONDUCTORS_SINCE:
            raise IronicError(404, "The API is not supported for this version")
        conductor = {"hostname": HOST, "conductor_group": "", "alive": True}
        resp.media = {"conductors": [conductor | {"links": links(req.prefix, f"conductors/{HOST}")}]}


class Drivers:
    """The drivers of the conductor."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Return them."""
        resp.media = {
            "drivers": [
                {"name": name, "hosts": [HOST], "type": "dynamic", "links": links(req.prefix, f"drivers/{name}")}
                for name in DRIVERS
            ]
        }
