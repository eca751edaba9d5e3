"""Holds on nodes. Shipyard v1.0 has no such resource."""

from collections.abc import Iterable
from datetime import timedelta
from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship.errors import InvalidUntil
from shipyard_api.api.airship.parameters import nodes
from shipyard_api.api.airship.times import since
from shipyard_api.api.entities import holds as entities
from shipyard_api.api.http.authentication import Policy, may
from shipyard_api.api.http.errors import SchemaViolated
from shipyard_api.api.http.limits import SMALL_WRITE
from shipyard_api.api.http.reading import boolean, parse_checked, threaded_json
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.findings import error, hidden_character
from shipyard_api.domain.holds import Hold as HoldRecord
from shipyard_api.domain.holds import HoldClass, HoldKind
from shipyard_api.ports.schemas import Schemas
from shipyard_api.usecases.holds.health import ReportHealth
from shipyard_api.usecases.holds.manage import NodeHolds

_LONGEST = timedelta(days=36_500)

FORCE_RULE = "workflow_orchestrator:action_force_hold"
"""Who may override holds with ``force``."""


class Holds:
    """``/holds``: the holds of all nodes."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:list_holds"}

    def __init__(self, holds: NodeHolds) -> None:
        self._holds = holds

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with the active holds in order of node; with ``ended``, with the newest ones of all."""
        ended = bool(boolean(req, "ended", default=False))
        resp.media = _listed(self._holds.all(nodes(req, "node"), ended=ended))


class Hold:
    """``/holds/{hold_id}``: one hold."""

    policy: ClassVar[Policy] = {
        "GET": "workflow_orchestrator:list_holds",
        "DELETE": "workflow_orchestrator:release_hold",
    }
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, holds: NodeHolds) -> None:
        self._holds = holds

    @threaded
    def on_get(self, _req: falcon.Request, resp: falcon.Response, hold_id: str) -> None:
        """Answer with the hold."""
        resp.media = entities.Hold.of(self._holds.one(hold_id))

    @threaded
    def on_delete(self, req: falcon.Request, resp: falcon.Response, hold_id: str) -> None:
        """Release the hold and answer with it; a hold that has ended stays as it is."""
        resp.media = entities.Hold.of(self._holds.release(hold_id, req.context.caller))


class NewHolds:
    """``/nodes/{node_name}/holds``: a new hold on a node."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:place_hold"}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, holds: NodeHolds, schemas: Schemas, limit: int) -> None:
        self._holds = holds
        self._schemas = schemas
        self.limit = limit

    @threaded_json
    def on_post(self, req: falcon.Request, resp: falcon.Response, sent: bytes, node_name: str) -> None:
        """Place a hold, and answer with it and with the actions that are at work on the node."""
        body = parse_checked(req.path, sent, self._schemas, "hold_v1")
        _check_shown(body["reason"])
        until = since(body["until"]) if "until" in body else None
        too_long = isinstance(until, timedelta) and until > _LONGEST
        if "until" in body and (until is None or too_long):
            raise InvalidUntil(body["until"])
        kind = HoldKind(body.get("kind", HoldKind.OPERATOR.value))
        hold_class = HoldClass(body.get("class", HoldClass.ALL.value))
        placed = self._holds.place(node_name, kind, body["reason"].strip(), until, req.context.caller, hold_class)
        resp.status = falcon.HTTP_201
        resp.location = f"{req.root_path}/api/v1.0/holds/{placed.hold.id}"
        resp.media = entities.PlacedHold.of(placed.hold, under_way=list(placed.under_way))


class Health:
    """``/nodes/{node_name}/health``: what a health source, which has a token of its own, reports of a node."""

    policy: ClassVar[Policy] = {"PUT": "workflow_orchestrator:report_health"}
    write_cost: ClassVar[float] = SMALL_WRITE

    def __init__(self, health: ReportHealth, schemas: Schemas, limit: int) -> None:
        self._health = health
        self._schemas = schemas
        self.limit = limit

    @threaded_json
    def on_put(self, req: falcon.Request, resp: falcon.Response, sent: bytes, node_name: str) -> None:
        """Hold an unhealthy node, or end the source's hold on a healthy one; answer with that hold, if any."""
        body, caller = parse_checked(req.path, sent, self._schemas, "health_v1"), req.context.caller
        if body["healthy"]:
            holds = self._health.healthy(node_name, caller)
        else:
            _check_shown(body["reason"])
            hold_class = HoldClass(body.get("class", HoldClass.NO_DEPLOYMENT.value))
            holds = self._health.unhealthy(node_name, body["reason"].strip(), hold_class, caller)
        resp.media = _listed(holds)


def _check_shown(reason: str) -> None:
    """Raise SchemaViolated for a reason with characters that a list would not show."""
    if code := hidden_character(reason, but="\n\t"):
        message = f"/reason has the character {code}, which is not shown: write it without"
        raise SchemaViolated([error("HiddenCharacter", message, path="/reason", diagnostic="printable")])


POLICY_RULE = "workflow_orchestrator:action_force_policy"
"""Who may pass budgets and windows of a rollout policy with ``force``."""


def may_pass_policy(req: falcon.Request) -> bool:
    """Return whether the caller may pass budgets and windows of a rollout policy with ``force``."""
    return may(req, POLICY_RULE)


def may_override(req: falcon.Request) -> bool:
    """Return whether the caller may override holds with ``force``."""
    return may(req, FORCE_RULE)


def _listed(holds: Iterable[HoldRecord]) -> entities.HoldList:
    return entities.HoldList([entities.Hold.of(hold) for hold in holds])
