"""The versions of the API, whether it answers (contract: shipyard-rest, 11), and the caller."""

from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.policy import GUARDS


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


class Caller:
    """``/caller``: a name, roles, and the rules that these satisfy. Shipyard v1.0 has no such resource."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_actions"}

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with who the caller is and what the caller may do."""
        identity = req.context.identity
        resp.media = {
            "user": identity.user,
            "roles": sorted(identity.roles),
            "rules": [rule.name for rule in GUARDS if may(req, rule.name)],
        }
