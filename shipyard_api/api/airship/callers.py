"""The caller: a name, roles, and the rules that these satisfy. Shipyard v1.0 has no such resource."""

from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.policy import GUARDS


class Caller:
    """``/caller``."""

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
