"""What a request is about becomes fields of its log lines, as far as the path names it."""

import asyncio
import uuid
from concurrent.futures import ThreadPoolExecutor

from falcon.testing import create_asgi_req

from shipyard_api.api.http.request_context import RequestContextMiddleware
from shipyard_api.observing import request_context


def test_the_log_lines_of_a_request_name_action_step_and_node() -> None:
    async def fields() -> dict[str, str]:
        middleware, req = RequestContextMiddleware(), create_asgi_req(path="/a")
        await middleware.process_request(req, None)  # type: ignore[arg-type]  # not used
        params = {"action_id": "0" * 300, "step_id": "preflight", "node_name": "n1", "hold_id": "h"}
        await middleware.process_resource(req, None, None, params)  # type: ignore[arg-type]  # not used
        return request_context.log_fields()

    found = asyncio.run(fields())

    assert {name: found[name] for name in ("action", "step", "node", "path")} == {
        "action": "0" * 200,
        "step": "preflight",
        "node": "n1",
        "path": "/a",
    }
    assert "hold_id" not in found


def test_every_request_has_another_random_id_in_any_number_of_threads() -> None:
    middleware = RequestContextMiddleware()

    async def ids() -> list[str]:
        found = []
        for _ in range(600):
            req = create_asgi_req(path="/a")
            await middleware.process_request(req, None)  # type: ignore[arg-type]  # not used
            found.append(req.context.request_id)
        return found

    with ThreadPoolExecutor(4) as threads:
        found = [one for part in threads.map(lambda _: asyncio.run(ids()), range(4)) for one in part]

    assert len(set(found)) == 2400
    assert {(uuid.UUID(one).version, str(uuid.UUID(one)) == one) for one in found} == {(4, True)}
