"""Adopting servers that no action of ours has deployed. Shipyard v1.0 has no such resource."""

from functools import partial
from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.reading import parse_checked, read_json_body
from shipyard_api.api.http.threads import answer_in_thread
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
        self._limit = limit

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response) -> None:
        """Record that nodes have what a revision gives them, and answer with them."""
        body = await read_json_body(req, self._limit)
        await answer_in_thread(resp, partial(self._post, req, resp, body))

    def _post(self, req: falcon.Request, resp: falcon.Response, sent: bytes) -> None:
        body = parse_checked(req.path, sent, self._schemas, "adoption_v1")
        revision = Revision(body["revision"])
        nodes = self._adopt([NodeName(node) for node in body["nodes"]], revision, req.context.caller)
        resp.media = {"nodes": list(nodes), "revision": revision}
