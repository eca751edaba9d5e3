"""Every request is observed: how long its answer took, of which route, and its status."""

from contextlib import ExitStack

from shipyard_api.api.http.limits import STREAM, Application, Message, Receive, Scope, Send
from shipyard_api.observing.telemetry import Kind, observed, of_status

ROUTE = "shipyard.route"
"""In the scope of a request: the template of its route, set once it is known."""

_LONGEST = 200  # characters of a path, which a caller chooses
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Observation:
    """An ASGI application that wraps another. Callers choose addresses and methods: only known ones become labels."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and observe it until its answer is sent; of a stream, until it begins."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "other"
        parent = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"traceparent"), "")
        path = scope.get("path", "")  # inner applications may change it
        with ExitStack() as observing:
            seen = observing.enter_context(observed(Kind.REQUEST, method, {"method": method}, parent=parent))
            status = 0

            def describe() -> None:
                route = scope.get(ROUTE, "")
                seen.name = f"{method} {route}".strip()
                seen.labels |= {"route": route, "status": str(status)}
                seen.details |= {"url.path": path[:_LONGEST], "url.scheme": scope.get("scheme", "http")}
                seen.outcome = of_status(status) if status else "left"

            async def noted(message: Message) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                    if STREAM in scope:
                        describe()
                        observing.close()
                await send(message)

            try:
                await self._application(scope, receive, noted)
            finally:
                describe()
