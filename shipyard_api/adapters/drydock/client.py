"""Drydock's REST API: paths, headers, and its answers as ``ports.errors``."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Unpack

from shipyard_api.domain.json_types import JsonObject, are_texts, streamed_objects
from shipyard_api.http import HttpClient, RequestOptions, Response, busy, segment
from shipyard_api.http.restarts import PeerRestarts
from shipyard_api.observing import request_context
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import Unavailable
from shipyard_api.ports.provisioner import JobId, Marker

from .translate import SYSTEM, context_marker

LARGEST_TASK_LIST = 256 * 1024 * 1024  # bytes: Drydock lists all tasks it ever ran
LONGEST_DETAIL = 400  # characters of Drydock's text in an error


class DrydockClient:
    """One Drydock. Effects are sent once; ``http`` retries reads, and this client retries queries sent by POST.

    ``base_url`` ends in ``/api/v1.0``. ``token`` is called before every request; on 401 ``renew_token`` is called and
    the request, which had no effect, is sent again. Requests carry marker and user of ``request_context`` unless the
    call has its own marker. ``scrubber`` cleans Drydock's texts. In seconds: ``begin_within``, after which a task is
    not posted because the token was late (docs/adr/0007); ``connect_timeout``; ``poll_timeout`` for
    a task and health; ``read_timeout`` for everything that makes Drydock load a design, query MAAS or list all tasks;
    ``read_pause`` before ``http`` first retries a read; ``retry_pause`` before each of ``filter_retries`` retries of a
    node filter answered with 500 (the contract's Shipyard: twice, 30 s apart).
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: Callable[[], str],
        renew_token: Callable[[], None] = lambda: None,
        begin_within: float = math.inf,
        connect_timeout: float = 20.0,
        poll_timeout: float = 60.0,
        read_timeout: float = 300.0,
        read_pause: float = 0.2,
        retry_pause: float = 30.0,
        filter_retries: int = 2,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.scrubber, restarts = Scrubber(), PeerRestarts()

        def http(read_timeout: float) -> HttpClient:
            return HttpClient(
                base_url,
                system=SYSTEM,
                credentials=lambda: {"X-Auth-Token": token()},
                renew=renew_token,
                scrubber=self.scrubber,
                connect_timeout=connect_timeout,
                read_timeout=read_timeout,
                total_timeout=2 * read_timeout,
                first_pause=read_pause,
                max_body=LARGEST_TASK_LIST,
                restarts=restarts,
            )

        self._quick = http(poll_timeout)
        self._slow = http(read_timeout)
        self._begin_within = begin_within
        self._retry_pause = retry_pause
        self._filter_retries = filter_retries
        self._sleep = sleep

    def check_health(self) -> None:
        """Return if Drydock is healthy. Every call leaves one finished ``noop`` task in Drydock's list."""
        answer = self._send(self._quick, "GET", "health", public=True)
        if answer.status == 503:
            raise Unavailable(SYSTEM, "GET /health", "unhealthy (503): it cannot use its database")
        if not answer.ok:
            raise answer.failure(_reason(answer))

    def create_task(self, marker: Marker, body: JsonObject) -> JobId:
        """Create a task; sent once.

        Raises Refused if Drydock created none; Unavailable if that is unknown, which includes every 500 and an
        unreadable answer of success.
        """
        answer = self._send(self._slow, "POST", "tasks", json=body, marker=marker, begin_within=self._begin_within)
        if answer.status >= 500:
            hint = "whether the task was created is unknown (always so if Drydock's user has a name of over 16 letters)"
            raise Unavailable(SYSTEM, answer.operation, f"{answer.answered(_reason(answer))}; {hint}", marker=marker)
        if not answer.ok:
            raise answer.failure(_reason(answer), marker=marker)
        job = _json_object(answer).get("task_id")
        if not isinstance(job, str):
            detail = f"answered {answer.status}, but with no task id that could be read"
            raise Unavailable(SYSTEM, answer.operation, detail, marker=marker)
        return JobId(job)

    def task(self, job: JobId, *, with_subtask_errors: bool = False) -> JsonObject | None:
        """Return the task, or None if Drydock itself answers that there is none."""
        params = {"subtaskerrors": "true"} if with_subtask_errors else {}
        answer = self._send(self._quick, "GET", f"tasks/{segment(job)}", params=params)
        if answer.status == 404:
            if _json_object(answer).get("type") == "error":
                return None
            # A 404 from a proxy or a wrong address must not make a running task count as lost.
            raise Unavailable(SYSTEM, answer.operation, "answered 404, but not in Drydock's format")
        return _expected(answer).object()

    def tasks(self, marker: Marker) -> tuple[list[JsonObject], datetime | None]:
        """Return all tasks that were ever requested, in no order, and the time on Drydock's clock (None: not sent).

        Drydock lists their subtasks, too: several for each node, with every message. They are not kept.
        """

        def parse(pieces: Iterator[bytes]) -> list[JsonObject]:
            return [task for task in streamed_objects(pieces) if task.get("parent_task_id") is None]

        answer = _expected(self._send(self._slow, "GET", "tasks", marker=marker, parse=parse))
        tasks: list[JsonObject] = answer.parsed
        return tasks, _date(answer)

    def filter_nodes(self, design: str, node_filter: JsonObject | None) -> frozenset[str]:
        """Return the names that a filter selects; empty also if Drydock cannot read the design."""
        body = {"design_ref": design, "node_filter": node_filter}
        answer = self._send(self._slow, "POST", "nodefilter", json=body)
        for _ in range(self._filter_retries):
            if answer.status == 500:
                self._sleep(self._retry_pause)
                answer = self._send(self._slow, "POST", "nodefilter", json=body)
        names = _expected(answer).json()
        if not are_texts(names):
            raise answer.unexpected()
        return frozenset(names)

    def machines(self) -> dict[str, str]:
        """Return MAAS's status label of every machine, by host name. Slow on large sites."""
        return {name: str(node.get("status_name")) for name, node in self.nodes().items()}

    def nodes(self) -> dict[str, JsonObject]:
        """Return Drydock's view of every machine of MAAS, by host name. Slow on large sites."""
        listed = _expected(self._send(self._slow, "GET", "nodes")).objects()
        return {str(node["hostname"]): node for node in listed if node.get("hostname")}

    def build_data(self, hostname: str) -> list[JsonObject]:
        """Return the newest record of each generator that Drydock has collected of a node; none if it has none."""
        answer = self._send(self._slow, "GET", f"nodes/{segment(hostname)}/builddata", params={"latest": "true"})
        if answer.status == 404 and _json_object(answer).get("type") == "error":
            return []
        return _expected(answer).objects()

    def validate_design(self, design: str) -> JsonObject:
        """Return Drydock's Status object about a design.

        Raises Unavailable if Drydock could not fetch the design: its server, usually Shipyard, may be restarting.
        """
        body = {"rel": "design", "href": design, "type": "application/x-yaml"}
        answer = self._send(self._slow, "POST", "validatedesign", json=body)
        if answer.status == 400 and _json_object(answer).get("kind") == "Status":
            return _json_object(answer)
        if answer.status == 500 and "attribute" in str(_json_object(answer).get("message")):
            # It continues without a design and fails on that (contract drydock, section 10).
            detail = f"Drydock could not fetch the design {self.scrubber(design)} ({answer.answered(_reason(answer))})"
            raise Unavailable(SYSTEM, answer.operation, detail)
        return _expected(answer).object()

    def close(self) -> None:
        """Close all connections."""
        self._quick.close()
        self._slow.close()

    def _send(self, http: HttpClient, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Return the answer to a request. Raises Unavailable if no token arrives within some seconds (``http``)."""
        headers = request_context.headers()
        if logged := context_marker(options.get("marker") or headers.pop("X-Context-Marker", "")):
            headers["X-Context-Marker"] = logged
        options["headers"] = headers
        return http.send(method, path, **options)


def _expected(answer: Response) -> Response:
    """Return the answer to a question. Raises Busy, Unavailable or Refused if it is unsuccessful."""
    if not answer.ok:
        raise answer.failure(_reason(answer), is_busy=busy(answer))
    return answer


def _reason(answer: Response) -> str:
    """Return the reason in one line, from any of Drydock's three error formats; empty if there is none."""
    body = _json_object(answer)
    return answer.scrubber.line(str(body.get("message") or body.get("title") or ""), LONGEST_DETAIL)


def _json_object(answer: Response) -> Mapping[str, Any]:
    try:
        body = answer.json()
    except Unavailable:
        return {}
    return body if isinstance(body, dict) else {}


def _date(answer: Response) -> datetime | None:
    try:
        date = parsedate_to_datetime(answer.headers.get("date", ""))
    except ValueError:
        return None
    return date.replace(tzinfo=UTC) if date.tzinfo is None else date.astimezone(UTC)
