"""What the app of a dialect makes of an error."""

from collections.abc import Callable
from typing import Any

import falcon
import falcon.asgi
from falcon.testing import Result

from tests.integration.api.in_process import Client


class Failing:
    """A resource that fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def on_get(self, req: falcon.Request, _resp: falcon.Response) -> None:
        req.context.challenge = "Keystone"  # as whoever identifies callers leaves it
        raise self._error


def failure(install: Callable[[Any], None], error: Exception) -> Result:
    """Return the answer of an app with these handlers to a request that ends in the error."""
    app: Any = falcon.asgi.App()
    install(app)
    app.add_route("/", Failing(error))
    return Client(app).simulate_get("/")
