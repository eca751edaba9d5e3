"""How the provisioner sees the machines at this moment (contract: shipyard-rest, chapter 10)."""

from collections.abc import Collection
from typing import ClassVar

import falcon

from shipyard_api.api.airship.errors import InvalidStatusFilter, StatusesUnavailable
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
from shipyard_api.ports.errors import PeerError
from shipyard_api.usecases.nodes import list as site_statuses
from shipyard_api.usecases.nodes.list import StatusKind

# For each filter: its list in the answer, and the key of the status in an entry.
_SHOWN = {
    StatusKind.PROVISIONING: ("nodes_provision_status", "status"),
    StatusKind.POWER: ("machines_powerstate", "power_state"),
}


class SiteStatuses:
    """``/site_statuses``: every machine that the provisioner knows."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_site_statuses"}

    def __init__(self, statuses: site_statuses.SiteStatuses) -> None:
        self._statuses = statuses

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the provisioner's status and the power state of every machine, or with one of the two."""
        kinds = _filters(req)
        try:
            by_kind = self._statuses(kinds)
        except PeerError as error:
            raise StatusesUnavailable(next(kind for kind in _SHOWN if kind in kinds), error) from error
        resp.media = {
            name: [{"hostname": host, key: word} for host, word in by_kind[kind]]
            for kind, (name, key) in _SHOWN.items()
            if kind in by_kind
        }


def _filters(req: falcon.Request) -> Collection[StatusKind]:
    """Return the requested filters, both by default; this is the one parameter that commas split."""
    written = [word for value in req.get_param_as_list("filters") or () for word in value.split(",") if word]
    known = {kind.value: kind for kind in StatusKind}
    for word in written:
        if word not in known:
            raise InvalidStatusFilter(word)
    return [known[word] for word in written] or list(StatusKind)
