"""Refusals of further graphs and clusters: a site has one of each (contract: fuel-task-graph, 12).

Each refusal names the command that does the work here.
"""

from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.fuel.graphs import READ, WRITE
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.errors import Fault

NO_CLUSTERS = (
    "An environment cannot be created: this installation has one, its site. Nodes come into it with the design: load "
    "and commit one (shipyard create configdocs, shipyard commit configdocs). Another site needs another installation."
)
_NO_GRAPHS = (
    "Releases and environments have one graph, of the type default, and no graphs of other types. Read or replace it "
    "with: fuel env --env 1 --deployment-tasks --download or --upload. Run it with: fuel2 env nodes deploy, or "
    "fuel node --node ID --tasks."
)


class Graphs:
    """Graphs of types, which ``fuel2 graph`` lists, uploads, deletes and executes."""

    policy: ClassVar[Policy] = {"GET": READ, "PUT": WRITE, "POST": WRITE, "DELETE": WRITE}

    async def on_get(self, req: falcon.asgi.Request, resp: falcon.asgi.Response, **named: str) -> None:
        """Refuse: there is one graph, and `deployment_tasks` has its tasks."""
        raise Fault(_NO_GRAPHS, falcon.HTTP_404)

    on_put = on_post = on_delete = on_get
