"""``/events``: what happens to actions, as it is committed; and tickets for pages, which cannot send headers."""

from typing import Any, ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.events.hub import Hub, TooManyListeners
from shipyard_api.api.http.authentication import Guarded, Policy, require
from shipyard_api.api.http.limits import SERVING, STREAM
from shipyard_api.api.http.reading import single
from shipyard_api.api.http.threads import threaded
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.errors import ActionNotFound
from shipyard_api.ports.state.journal import EventFormat
from shipyard_api.usecases.tokens import SECONDS, EventTickets

PATH = "/events"
_DIGITS = 18


class Events:
    """``/events``: a stream of server-sent events."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action"}

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def on_get(self, req: falcon.asgi.Request, resp: falcon.asgi.Response) -> None:
        """Answer with the events of one action or of all; takes the rules of logs and of lists as well."""
        action = single(req, "action")
        if "\0" in (action or ""):
            raise ActionNotFound(str(action))
        require(req, "workflow_orchestrator:get_action_step_logs")
        if action is None:
            require(req, "workflow_orchestrator:list_actions")
        serving = req.scope.get("extensions", {}).get(SERVING, lambda: True)
        try:
            chosen = ActionId(action) if action else None
            stream = await self._hub.open(chosen, _cursor(req), serving, _format(req))
        except TooManyListeners:
            raise falcon.HTTPServiceUnavailable(
                description="This process serves no further event stream.", retry_after=10
            ) from None
        req.scope[STREAM] = True
        resp.sse = stream
        resp.set_header("Cache-Control", "no-store")
        resp.set_header("X-Accel-Buffering", "no")  # nginx would collect events


class Tickets:
    """``/events/tickets``: a ticket opens streams for a minute."""

    policy: ClassVar[Policy] = {"POST": "workflow_orchestrator:get_action"}

    def __init__(self, tickets: EventTickets) -> None:
        self._tickets = tickets

    @threaded
    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer with a new ticket of the caller."""
        resp.media = {"ticket": self._tickets.issue(req.context.identity), "expires_in": SECONDS}
        resp.set_header("Cache-Control", "no-store")


def routes(hub: Hub, tickets: EventTickets) -> dict[str, Guarded]:
    """Return every address with its resource."""
    return {PATH: Events(hub), f"{PATH}/tickets": Tickets(tickets)}


def _format(req: falcon.asgi.Request) -> EventFormat:
    try:
        return EventFormat(single(req, "format") or EventFormat.SHIPYARD.value)
    except ValueError:
        words = " or ".join(format_.value for format_ in EventFormat)
        raise falcon.HTTPInvalidParam(f"The value must be {words}.", "format") from None


def _cursor(req: falcon.asgi.Request) -> int | None:
    """Return the last event that the caller has; its browser repeats the parameter, and knows more in the header."""
    header: Any = falcon.HTTPInvalidHeader("The value is not the id of an event.", "Last-Event-ID")
    parameter: Any = falcon.HTTPInvalidParam("The value is not the id of an event.", "last_event_id")
    for written, wrong in ((req.get_header("Last-Event-ID"), header), (single(req, "last_event_id"), parameter)):
        if written:
            if not (written.isascii() and written.isdigit() and len(written) <= _DIGITS):
                raise wrong
            return int(written)
    return None
