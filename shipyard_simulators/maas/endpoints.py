"""Dispatch: from a request to the call of an operation, and from its result to an answer."""

from typing import Any

import falcon

from shipyard_simulators.faults import PAUSE
from shipyard_simulators.maas import wire
from shipyard_simulators.maas.calls import Call, Operations, Reply
from shipyard_simulators.maas.errors import MaasError
from shipyard_simulators.maas.forms import read_form, read_query
from shipyard_simulators.maas.machine import Machine
from shipyard_simulators.maas.machine_views import machine_text
from shipyard_simulators.maas.region import Region
from shipyard_simulators.maas.turnstile import COST, MACHINES, NUMBER, OPERATION, USER

_PLAIN = {"GET": "read", "POST": "create", "PUT": "update", "DELETE": "delete"}


class Endpoint:
    """One path with its operations; ``known``: fixed values of the path."""

    def __init__(self, region: Region, operations: Operations, known: dict[str, str] | None = None) -> None:
        self.operations = operations
        self._region = region
        self._known = known or {}

    def on_get(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        """Execute the operation that the request names."""
        account = self._region.accounts.admit(req.get_header("Authorization"), self._region.clock.now())
        query = read_query(req.query_string)
        body = read_form(req.content_type or "", req.bounded_stream.read())
        name = query.get("op") or (body.get("op") if body else "") or None
        operation = self.operations.get((req.method, name))
        req.env[USER], req.env[OPERATION] = account.name, name or _PLAIN.get(req.method, req.method)
        if operation is None:
            raise MaasError(400, f"Unrecognised signature: method={req.method} op={name}")
        with self._region.transaction() as now:
            call = Call(
                region=self._region,
                account=account,
                operation=req.env[OPERATION],
                number=req.env.get(NUMBER, 0),
                now=now,
                query=query,
                body=body,
                path={**path, **self._known},
            )
            result = operation(call)
            # Changes that take no time have happened before the answer is written.
            self._region.settle(now)
            reply = result if isinstance(result, Reply) else self._reply(result, req.env)
        self._region.clock.sleep(reply.wait + req.env.get(COST, 0) + req.env.get(PAUSE, 0))
        if reply.content is None and reply.status == 204:
            resp.status = falcon.HTTP_204
        elif isinstance(reply.content, bytes):
            resp.content_type, resp.data = reply.content_type, reply.content
        else:
            wire.send(resp, reply.content, reply.status)

    on_post = on_put = on_delete = on_patch = on_get

    def _reply(self, result: Any, environ: dict[str, Any]) -> Reply:
        """Return the answer with the result, and note what showing its machines costs the region."""
        machines = result if isinstance(result, list) else [result]
        if not machines or not isinstance(machines[0], Machine):
            return Reply(result)
        texts = [machine_text(self._region, each) for each in machines]
        environ[MACHINES] = len(texts)
        environ[COST] = len(texts) * self._region.scenario.region.seconds_a_machine
        text = f"[{','.join(texts)}]" if isinstance(result, list) else texts[0]
        return Reply(text.encode())
