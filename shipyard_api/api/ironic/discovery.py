"""Which versions of the API there are, and what they serve (contract, 4). Clients ask for it first."""

from typing import Any, ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.ironic.versions import NEWEST, OLDEST


class Root:
    """``/``: all versions of the API."""

    policy: ClassVar[Policy] = {"GET": None}

    async def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the one version there is."""
        version = _version(req)
        resp.media = {
            "name": "Shipyard Bare Metal API",
            "description": "Shipyard serves the deploy templates of the OpenStack Bare Metal API.",
            "default_version": version,
            "versions": [version],
        }


class Version1:
    """``/v1``: what the version serves."""

    policy: ClassVar[Policy] = {"GET": None}

    async def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with its collections."""
        resp.media = {
            "id": "v1",
            "version": _version(req),
            "media_types": {
                "base": "application/json",
                "type": "application/vnd.openstack.ironic.v1+json",
            },
            "links": [
                {"href": f"{req.prefix}/v1/", "rel": "self"},
                {
                    "href": "https://docs.openstack.org/api-ref/baremetal/",
                    "rel": "describedby",
                    "type": "text/html",
                },
            ],
        }
        if req.context.api_version.has_templates:
            resp.media["deploy_templates"] = [
                {"href": f"{req.prefix}/v1/deploy_templates/", "rel": "self"},
                {"href": f"{req.prefix}/deploy_templates/", "rel": "bookmark"},
            ]


def _version(req: falcon.Request) -> dict[str, Any]:
    return {
        "id": "v1",
        "status": "CURRENT",
        "min_version": f"1.{OLDEST}",
        "version": f"1.{NEWEST}",
        "links": [{"href": f"{req.prefix}/v1/", "rel": "self"}],
    }
