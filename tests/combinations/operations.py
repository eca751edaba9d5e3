"""Calls of an operation on a node of a row's site, played to their end: the call waits for the worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

from falcon.testing import Result

from shipyard_api.api.http import waiting
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.node_operations import WITH_DESIGN, NodeOperation
from tests.combinations.site import API, Site
from tests.waiting import PATIENCE, until

DESIGN = {"rel": "design", "href": f"deckhand+http://deckhand{API}/revisions/1/rendered-documents"}


@contextmanager
def quick_answers() -> Iterator[None]:
    """Let applications that are made meanwhile answer soon after the end of an operation."""
    with patch.object(waiting, "EndedActions", partial(waiting.EndedActions, most=20, seconds=0.02)):
        yield


def call(site: Site, operation: NodeOperation, node: str, query: str = "") -> Result:
    """Return the answer to a call, after the worker has done what it began."""
    body = json.dumps({**DESIGN, "type": "application/x-yaml"}) if operation in WITH_DESIGN else None
    headers = {"Content-Type": "application/json"} if body else {}
    known, path = _actions(site), f"{API}/nodes/{node}/{operation.value}"
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(site.client.simulate_post, path, body=body, headers=headers, query_string=query)
        until(lambda: asked.done() or _actions(site) - known, lambda: f"{operation.value} begins nothing", every=0)
        if not asked.done():
            site.actions.append(ActionId(*_actions(site) - known))
            site._make_due()
            site.run()
        return asked.result(PATIENCE)


def _actions(site: Site) -> frozenset[str]:
    with site.database.begin() as connection:
        return frozenset(connection.exec_driver_sql("SELECT id FROM actions").scalars())
