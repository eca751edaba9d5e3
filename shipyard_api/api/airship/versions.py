"""The versions of the API, and whether it answers (contract: shipyard-rest, 11)."""

from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy


class Versions:
    """``/versions``."""

    policy: ClassVar[Policy] = {"GET": None}

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the versions of the API."""
        resp.media = {"v1.0": {"path": "/api/v1.0", "status": "stable"}}


class Health:
    """``/api/v1.0/health``: says that this process answers, and nothing else (contract: shipyard-rest, 11)."""

    policy: ClassVar[Policy] = {"GET": None}

    async def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer 204."""
        resp.status = falcon.HTTP_204
