"""Operations on one node, and the health of etcd: the teardown API of seed 004 (contract: promenade, chapter 3)."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship.statuses import error_status
from shipyard_api.api.http.audit import Audit
from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.errors import InvalidFormat, NotJson
from shipyard_api.api.http.reading import parse_json, read_body, read_json_body, single
from shipyard_api.api.http.request_context import note_created
from shipyard_api.api.http.threads import in_peer_thread, in_thread, threaded_peer
from shipyard_api.api.http.waiting import EndedActions, TooManyWaiting
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.node_operations import (
    WITH_DESIGN,
    NodeOperation,
    OperationEnded,
    Reason,
    refused,
)
from shipyard_api.domain.policy import DELETE_BLOCKED
from shipyard_api.domain.teardown.etcd_health import Health, health, health_details
from shipyard_api.usecases.node_operations.etcd_health import EtcdHealth
from shipyard_api.usecases.node_operations.operate import Call, OperateNodes, OperationRefused

_PREFIX = "workflow_orchestrator:node_"
_RETRY_SECONDS = "10"
_CALLER_LEFT = 499
"""In the audit log; the word of nginx for it."""
_CODES = {
    Reason.SUCCESS: falcon.HTTP_200,
    Reason.BAD_REQUEST: falcon.HTTP_400,
    Reason.MISSING_DESIGN_REF: falcon.HTTP_400,
    Reason.NOT_FOUND: falcon.HTTP_404,
    Reason.CONFLICT: falcon.HTTP_409,
    Reason.TOO_MANY_CALLERS: falcon.HTTP_503,
}


class OneNode:
    """``/nodes/{node_name}/OPERATION``, an address for each operation on one node.

    The answer comes when the operation has ended; a caller who leaves does not end it.
    """

    def __init__(self, operation: NodeOperation, operate: OperateNodes, ends: EndedActions, limit: int) -> None:
        self.policy: Policy = {"POST": f"{_PREFIX}{operation.value.replace('-', '_')}"}
        self._operation = operation
        self._operate = operate
        self._ends = ends
        self._limit = limit

    async def on_post(self, req: falcon.asgi.Request, resp: falcon.Response, node_name: str) -> None:
        """Run the operation that the address names on the node; answer when it has ended."""
        try:
            with self._ends.place():
                sent = await self._body(req)
                action = await in_peer_thread(self._begin, req, sent, node_name)
                note_created(req, action)
                await self._ends.wait_for(action)
                _answer(req, resp, await in_thread(self._operate.result, action))
        except OperationRefused as refusal:
            _answer(req, resp, refusal.end)
        except TooManyWaiting:
            resp.set_header("Retry-After", _RETRY_SECONDS)
            message = "Too many callers wait for operations on nodes. Nothing was begun: call again later."
            _answer(req, resp, refused(Reason.TOO_MANY_CALLERS, message))
        except asyncio.CancelledError:
            # The server does this some seconds after the connection was lost. No answer, and so no other line.
            Audit.write(req, _CALLER_LEFT)
            raise

    async def _body(self, req: falcon.asgi.Request) -> bytes | None:
        """Return the body; None without one, which is checked with the rest of the call."""
        if self._operation not in WITH_DESIGN:
            return await read_body(req, self._limit) or None
        try:
            return await read_json_body(req, self._limit)
        except InvalidFormat:
            return None

    def _begin(self, req: falcon.Request, sent: bytes | None, node: str) -> ActionId:
        body: dict[str, Any] | None = None
        if sent is not None:
            try:
                body = parse_json(req.path, sent) if self._operation in WITH_DESIGN else {}
            except InvalidFormat as wrong:
                message = "The body must be a design reference: an object with rel, href and type."
                if wrong.kind is NotJson:
                    message = f"The body must be a design reference in JSON: {wrong.data['detail']}."
                raise OperationRefused(refused(Reason.BAD_REQUEST, message)) from wrong
        call = Call(self._operation, node, _query(req), body)
        return self._operate.begin(call, req.context.caller, may_delete=may(req, DELETE_BLOCKED))


class EtcdHealthStatuses:
    """``/etcd-cluster-health-statuses``."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_etcd_health"}

    def __init__(self, health: EtcdHealth) -> None:
        self._health = health

    @threaded_peer
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the health of each etcd cluster of a design."""
        # No reference has a blank: it is a "+" that the query has unescaped, as in deckhand+http.
        reference = (single(req, "design_ref") or "").replace(" ", "+")
        try:
            clusters = self._health(reference)
        except OperationRefused as refusal:
            _answer(req, resp, refusal.end)
            return
        wrong = sum(health(cluster) is not Health.HEALTHY for cluster in clusters)
        message = f"{len(clusters)} etcd cluster(s), {wrong} not healthy"
        resp.media = _success(message, health_details(clusters))


def _query(req: falcon.Request) -> Mapping[str, Sequence[str]]:
    """Return every value of every parameter, but for the one that all addresses take."""
    # Unlike elsewhere, an empty value is kept, and refused: it is no request for the default.
    given = falcon.uri.parse_query_string(req.query_string, keep_blank=True)
    return {name: value if isinstance(value, list) else [value] for name, value in given.items() if name != "verbosity"}


def _answer(req: falcon.Request, resp: falcon.Response, end: OperationEnded) -> None:
    listed = [dict(message.to_json()) for message in end.messages]
    if end.reason is Reason.SUCCESS:
        resp.media = _success(end.text, {"errorCount": 0, "messageList": listed})
        return
    resp.status = code = _CODES.get(end.reason, falcon.HTTP_500)
    reason = end.reason.value
    retry = end.reason is Reason.TOO_MANY_CALLERS
    resp.media = error_status(
        path=req.path, title=end.text, reason=reason, error_type=reason, code=code, retry=retry, messages=listed
    )


def _success(message: str, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Status of a success (contract: promenade, chapter 1)."""
    return {
        "kind": "Status",
        "apiVersion": "v1.0",
        "metadata": {},
        "status": "Success",
        "message": message,
        "reason": Reason.SUCCESS.value,
        "details": dict(details),
        "code": falcon.HTTP_200,
    }
