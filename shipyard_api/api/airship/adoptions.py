"""Adopting servers that no action of ours has deployed. Shipyard v1.0 has no such resource."""

from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import parse_checked, threaded_json
from shipyard_api.api.http.write_limit import SMALL_WRITE
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.nodes import NodeName
from shipyard_api.ports.schemas import Schemas
from shipyard_api.usecases.nodes.adopt import AdoptNodes


class Adoptions:
    """``/adoptions``: servers that have what a revision gives them."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:adopt_nodes"}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, adopt: AdoptNodes, schemas: Schemas, limit: int) -> None:
        self._adopt = adopt
        self._schemas = schemas
        self.limit = limit

    @threaded_json
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        """Record that nodes have what a revision gives them, and answer with them."""
        body = parse_checked(req.path, sent, self._schemas, "adoption_v1")
        revision = Revision(body["revision"])
        nodes = self._adopt([NodeName(node) for node in body["nodes"]], revision, req.context.caller)
        resp.media = {"nodes": list(nodes), "revision": revision}
