"""``/simulator``: what tests may see and change, and a real Deckhand does not have."""

import falcon
import yaml

from shipyard_api.simulators.events import EventLog
from shipyard_api.simulators.fates import ServiceFault
from shipyard_api.simulators.faults import FaultyService, read_faults


class Requests:
    """The requests so far."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def on_get(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Answer all of them in the order of their ends."""
        resp.media = self._log.events()


class Faults:
    """The requests that go wrong."""

    def __init__(self, service: FaultyService) -> None:
        self._service = service

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Play the faults of the body from now on, instead of those before."""
        try:
            content = yaml.safe_load(req.bounded_stream.read())
        except yaml.YAMLError as cause:
            faults: list[ServiceFault] = []
            wrong = [f"not YAML that can be read: {' '.join(str(cause).split())}"]
        else:
            faults, wrong = read_faults(content)
        if wrong:
            resp.status = falcon.HTTP_400
            resp.media = {"faults": wrong}
            return
        self._service.play(faults)
        resp.media = {"count": len(faults)}

    def on_delete(self, _req: falcon.Request, resp: falcon.Response) -> None:
        """Play no faults any more."""
        self._service.play([])
        resp.status = falcon.HTTP_204
