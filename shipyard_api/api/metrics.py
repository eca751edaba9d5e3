"""``/metrics``: what a monitoring system scrapes; outside of every dialect."""

from typing import ClassVar

import falcon

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.threads import threaded
from shipyard_api.ports.metrics import Exposition


class Metrics:
    """The metrics of the site, and of the processes of this server."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_metrics"}

    def __init__(self, exposition: Exposition) -> None:
        self._exposition = exposition

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the metrics in Prometheus' text format."""
        resp.content_type = self._exposition.content_type
        resp.data = self._exposition.text()
