"""A client of an ASGI application in this process, for tests that are no coroutines; threads may share it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from falcon.testing import ASGIConductor, Result

from shipyard_api.api.http.limits import Application


class Client:
    """falcon's own ``TestClient`` shares one event loop, in which only one thread can ask at a time."""

    def __init__(self, app: Application, headers: Mapping[str, str] | None = None) -> None:
        self.app = app
        self.headers = dict(headers or {})
        self._conductor = ASGIConductor(app, headers=self.headers)

    def simulate_request(self, method: str, path: str, **options: Any) -> Result:
        """Return the answer to a request."""
        return asyncio.run(self._conductor.simulate_request(method, path, **options))

    def simulate_get(self, path: str, **options: Any) -> Result:
        """GET."""
        return self.simulate_request("GET", path, **options)

    def simulate_post(self, path: str, **options: Any) -> Result:
        """POST."""
        return self.simulate_request("POST", path, **options)

    def simulate_options(self, path: str, **options: Any) -> Result:
        """OPTIONS."""
        return self.simulate_request("OPTIONS", path, **options)
