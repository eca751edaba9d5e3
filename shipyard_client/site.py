"""A site as its operators use it: load, commit, plan, start, wait, report. Everything else is in ``rest``."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import httpx

from shipyard_client.rest.api.actions import create_action, get_action, get_action_report, plan_action
from shipyard_client.rest.api.configdocs import commit_configdocs
from shipyard_client.rest.client import AuthenticatedClient
from shipyard_client.rest.models import (
    ActionDescription,
    ActionRequest,
    CreatedAction,
    Plan,
    PlanActionBodyType0,
    Report,
    StoredPlan,
    ValidationStatus,
)
from shipyard_client.rest.types import UNSET, Response

Parameters = dict[str, Any]
_Model = TypeVar("_Model")
_V1 = "/api/v1.0"
_OUTAGE = 300.0  # seconds for which `wait` goes on while the server does not answer
_PAUSE = 2.0  # seconds between two attempts while the server does not answer
_SILENCE = 60.0  # seconds without a heartbeat of an event stream, which has one every 15


class ShipyardError(Exception):
    """The server refused; ``status`` is that of HTTP, ``body`` its answer."""

    def __init__(self, status: int, body: str) -> None:
        self.status, self.body = status, body
        super().__init__(f"HTTP {status}: {_words(body)}")


class ActionFailed(Exception):
    """An action has ended without success; ``action`` is its description."""

    def __init__(self, action: ActionDescription) -> None:
        self.action = action
        super().__init__(f"{action.name} {action.id}: {action.dag_status}")


@dataclass(frozen=True)
class Event:
    """An entry of an action's journal. ``fields``: all that the API says about it."""

    id: int
    kind: str
    text: str
    fields: dict[str, Any]


class Site:
    """One Shipyard server. ``token``: an API token, or one of the server's identity provider."""

    def __init__(self, url: str, token: str, *, timeout: float = 600.0, verify: bool | str = True) -> None:
        self.rest = AuthenticatedClient(
            base_url=url.rstrip("/").removesuffix(_V1),
            token=token,
            prefix="",
            auth_header_name="X-Auth-Token",
            timeout=httpx.Timeout(timeout, connect=10.0),
            verify_ssl=verify,
        )
        self._http = self.rest.get_httpx_client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def load(
        self,
        collection: str,
        documents: str | Path,
        *,
        mode: Literal["replace", "append", "rejectoncontents"] = "replace",
    ) -> dict[str, Any]:
        """Load documents, a YAML stream or a file of one, into the buffer; return the server's findings."""
        text = documents.read_text(encoding="utf-8") if isinstance(documents, Path) else documents
        answer = self._http.post(
            f"{_V1}/configdocs/{collection}",
            params={"buffermode": mode},
            content=text.encode(),
            headers={"Content-Type": "application/x-yaml"},
        )
        if answer.is_error:
            raise ShipyardError(answer.status_code, answer.text)
        loaded: dict[str, Any] = answer.json()
        return loaded

    def commit(self, *, dry_run: bool = False) -> ValidationStatus:
        """Commit the buffer, or only validate it; return the findings."""
        answer = commit_configdocs.sync_detailed(client=self.rest, dryrun="true" if dry_run else UNSET)
        return _good(answer, ValidationStatus)

    def plan(self, action: str, parameters: Parameters | None = None, *, store: bool = False) -> Plan | StoredPlan:
        """Return what an action would do; a stored plan has an id, and another person can approve it."""
        body = PlanActionBodyType0.from_dict({"name": action, "parameters": parameters or {}})
        kind: type[Plan | StoredPlan] = StoredPlan if store else Plan
        return _good(plan_action.sync_detailed(client=self.rest, body=body, store="true" if store else UNSET), kind)

    def start(
        self, action: str, parameters: Parameters | None = None, *, plan: str = "", key: str = ""
    ) -> CreatedAction:
        """Start an action, once. ``plan``: start it from this stored plan. ``key``: yours, to repeat the call later."""
        body = ActionRequest.from_dict({"name": action, "parameters": parameters or {}})
        key = key or str(uuid.uuid4())

        send = partial(
            create_action.sync_detailed, client=self.rest, body=body, plan=plan or UNSET, idempotency_key=key
        )
        try:
            return _good(send(), CreatedAction)
        except httpx.TransportError:
            # The same key starts nothing a second time.
            time.sleep(_PAUSE)
            return _good(send(), CreatedAction)

    def action(self, action: str) -> ActionDescription:
        """Return an action as it is now."""
        return _good(get_action.sync_detailed(action, client=self.rest), ActionDescription)

    def report(self, action: str) -> Report:
        """Return the outcome of every group and node."""
        return _good(get_action_report.sync_detailed(action, client=self.rest), Report)

    def wait(
        self, action: str, on_event: Callable[[Event], None] = lambda _: None, *, timeout: float = float("inf")
    ) -> ActionDescription:
        """Return the action when it has succeeded; each event on the way is handed over once.

        Raises ActionFailed, and TimeoutError after ``timeout`` seconds. A server that restarts is waited for.
        """
        end, cursor, answered = time.monotonic() + timeout, 0, time.monotonic()
        while True:
            try:
                for event in self.events(action, after=cursor):
                    cursor, answered = event.id, time.monotonic()
                    if event.kind:
                        on_event(event)
                    if event.kind == "action_ended" or time.monotonic() > end:
                        break
                found = self.action(action)
                answered = time.monotonic()
            except (httpx.TransportError, ShipyardError) as error:
                final = isinstance(error, ShipyardError) and error.status not in (429, 502, 503, 504)
                if final or time.monotonic() - answered > _OUTAGE:
                    raise
                time.sleep(_PAUSE)
                continue
            if found.action_lifecycle == "Complete":
                return found
            if found.action_lifecycle == "Failed":
                raise ActionFailed(found)
            if time.monotonic() > end:
                raise TimeoutError(f"action {action} is {found.action_lifecycle} after {timeout:g} s")

    def events(self, action: str = "", *, after: int = 0) -> Iterator[Event]:
        """Yield the events behind a cursor, of one action or of all, and heartbeats, which have no kind.

        The server ends a stream after a quarter of an hour.
        """
        query = {"last_event_id": str(after)} | ({"action": action} if action else {})
        patience = httpx.Timeout(_SILENCE, connect=10.0)
        with self._http.stream("GET", "/events", params=query, timeout=patience) as answer:
            if answer.is_error:
                raise ShipyardError(answer.status_code, answer.read().decode(errors="replace"))
            cursor, data = after, ""
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                cursor = int(value) if name == "id" else cursor
                data = value if name == "data" else data
                if not line:
                    fields = json.loads(data or "{}")
                    yield Event(cursor, str(fields.get("kind", "")), str(fields.get("text", "")), fields)
                    data = ""


def _good(answer: Response[Any], kind: type[_Model]) -> _Model:
    if isinstance(answer.parsed, kind):
        return answer.parsed
    raise ShipyardError(int(HTTPStatus(answer.status_code)), answer.content.decode(errors="replace"))


def _words(body: str) -> str:
    try:
        found = json.loads(body)
        findings = [one["message"] for one in found["details"]["messageList"] if one["error"]]
        return " ".join([str(found["message"]), *findings])
    except (ValueError, LookupError, TypeError):
        return body[:500]
