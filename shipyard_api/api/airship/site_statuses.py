"""How the provisioner sees the machines at this moment (contract: shipyard-rest, chapter 10)."""

from collections.abc import Collection
from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy
from shipyard_api.domain.errors import Invalid
from shipyard_api.usecases.nodes import statuses as site_statuses
from shipyard_api.usecases.nodes.statuses import StatusKind

# For each filter: its list in the answer, the key of the status in an entry, and what is said when the peer fails.
_SHOWN = {
    StatusKind.PROVISIONING: ("nodes_provision_status", "status", "Unable to retrieve nodes status"),
    StatusKind.POWER: ("machines_powerstate", "power_state", "Unable to retrieve nodes power-state"),
}


class SiteStatuses:
    """``/site_statuses``: every machine that the provisioner knows."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_site_statuses"}

    def __init__(self, statuses: site_statuses.SiteStatuses) -> None:
        self._statuses = statuses

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the provisioner's status and the power state of every machine, or with one of the two."""
        kinds = _filters(req)
        req.context.peer_trouble = next(told for kind, (_, _, told) in _SHOWN.items() if kind in kinds)
        found = self._statuses(kinds)
        resp.media = {
            name: [{"hostname": host, key: word} for host, word in found[kind]]
            for kind, (name, key, _) in _SHOWN.items()
            if kind in found
        }


def _filters(req: falcon.Request) -> Collection[StatusKind]:
    """Return what is asked for, both if nothing is said: the one parameter that commas split."""
    written = [word for value in req.get_param_as_list("filters") or () for word in value.split(",") if word]
    known = {kind.value: kind for kind in StatusKind}
    for word in written:
        if word not in known:
            raise Invalid("Not a valid status filter", f"filter {word} is not supported")
    return [known[word] for word in written] or list(StatusKind)
