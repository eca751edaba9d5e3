"""All dialects of the API under one roof: the path of a request says which application serves it."""

from collections.abc import Mapping

from shipyard_api.api.http.limits import Application, Receive, Scope, Send


class Mount:
    """ASGI application. ``prefixes``: the beginning of a path, such as ``/ironic``, to the application behind it.

    Paths keep their prefix. The prefix ``/`` is the root alone. ``otherwise`` serves every other path, and the lifespan
    of the server.
    """

    def __init__(self, otherwise: Application, prefixes: Mapping[str, Application] | None = None) -> None:
        self._otherwise = otherwise
        # The longest first: one prefix may begin with another.
        self._prefixes = sorted((prefixes or {}).items(), key=lambda entry: -len(entry[0]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        path = scope.get("path", "")
        for prefix, application in self._prefixes:
            if path == prefix or (prefix != "/" and path.startswith(f"{prefix}/")):
                await application(scope, receive, send)
                return
        await self._otherwise(scope, receive, send)
