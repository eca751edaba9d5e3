"""A client of an ASGI application in this process, for tests that are no coroutines; threads may share it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from falcon.testing import ASGIConductor, Result

from shipyard_api.api.http.limits import Application

# Seconds; on a busy machine, no answer takes as long.
_LONGEST = 240.0


class Client:
    """falcon's own ``TestClient`` shares one event loop, in which only one thread can ask at a time."""

    def __init__(self, app: Application, headers: Mapping[str, str] | None = None) -> None:
        self.app = app
        self.headers = dict(headers or {})
        self._conductor = ASGIConductor(app, headers=self.headers)

    def simulate_request(self, method: str, path: str, **options: Any) -> Result:
        """Return the answer to a request; of an event stream, which has no end, only its head."""
        return asyncio.run(self._asked(method, path, options))

    async def _asked(self, method: str, path: str, options: Mapping[str, Any]) -> Result:
        # Work that should have been refused has no worker here, and would never end.
        async with asyncio.timeout(_LONGEST):
            if (method, path) == ("GET", "/events"):
                return await self._head(path, options)
            found: Result = await self._conductor.simulate_request(method, path, **options)
            return found

    async def _head(self, path: str, options: Mapping[str, Any]) -> Result:
        # It is not closed: that would wait for the next heartbeat. It ends with its event loop.
        streamed = await self._conductor.simulate_get_stream(path, **options).__aenter__()
        is_stream = streamed.headers.get("Content-Type", "").startswith("text/event-stream")
        body = b"" if is_stream else await streamed.stream.read()
        return Result([body], streamed.status, list(streamed.headers.items()))

    def simulate_get(self, path: str, **options: Any) -> Result:
        """GET."""
        return self.simulate_request("GET", path, **options)

    def simulate_post(self, path: str, **options: Any) -> Result:
        """POST."""
        return self.simulate_request("POST", path, **options)

    def simulate_options(self, path: str, **options: Any) -> Result:
        """OPTIONS."""
        return self.simulate_request("OPTIONS", path, **options)
