"""One request to the API server and its whole answer."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
from lightkube.core.exceptions import ConfigError

from shipyard_api.adapters.kubernetes.access import Connection
from shipyard_api.adapters.kubernetes.rights import needed_right
from shipyard_api.adapters.kubernetes.translate import one_line
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.http import retry_after
from shipyard_api.peer_restarts import PeerRestarts
from shipyard_api.ports.errors import PeerError, Unavailable
from shipyard_api.scrubbing import Scrubber
from shipyard_api.telemetry import NO_ANSWER, Kind, observed, of_status

SYSTEM = "Kubernetes"
LARGEST_BODY = 64 * 1024 * 1024  # of one page; 500 nodes with all their images are a quarter of it
LONGEST_TEXT = 1000  # characters of the API server's message


@dataclass(frozen=True, slots=True)
class Request:
    """A request, ready to be sent. ``path``: without a leading slash, so that a base URL with a path keeps it.

    ``seconds``: time limit of the whole exchange, instead of the client's.
    """

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: JsonObject | None = None
    content_type: str = "application/json"
    seconds: float | None = None

    @property
    def operation(self) -> str:
        """The request in errors."""
        return f"{self.method} /{self.path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. ``headers`` has lower-case names. ``restarting``: as for ``http.Response``."""

    request: Request
    status: int
    headers: Mapping[str, str]
    body: bytes
    restarting: bool = False

    def object(self) -> JsonObject:
        """Return the body, which must be a JSON object. Raises Unavailable if it is not."""
        operation = self.request.operation
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise Unavailable(SYSTEM, operation, f"answered {self.status}, not in JSON") from error
        if not isinstance(value, dict):
            raise Unavailable(SYSTEM, operation, f"answered {self.status} with JSON of an unexpected structure")
        return value

    @property
    def text(self) -> str:
        """The message of a Status with those of its causes; other bodies are not the API server's."""
        messages = [self._status.get("message"), *(cause.get("message") for cause in self._causes)]
        return " ".join(dict.fromkeys(str(message) for message in messages if message))

    @property
    def reason(self) -> str:
        """Kubernetes' word for a failure, such as ``NotFound``."""
        return str(self._status.get("reason") or "")

    @property
    def causes(self) -> frozenset[str]:
        """Kubernetes' words for the causes of a failure, and the fields of invalid values."""
        return frozenset(str(cause[key]) for cause in self._causes for key in ("reason", "field") if cause.get(key))

    @property
    def lacks_object(self) -> bool:
        """Whether the API server says that it has no such object. A 404 of a proxy, or of a route, does not."""
        return self.status == 404 and self.reason == "NotFound" and bool(self._details.get("name"))

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the API server wants to be asked again, None if it does not say."""
        seconds = self._details.get("retryAfterSeconds")
        asked = retry_after(self.headers, now=datetime.now(UTC))
        return float(seconds) if asked is None and isinstance(seconds, int) else asked

    @property
    def server_time(self) -> datetime:
        """The API server's clock, in whole seconds; ours if a proxy has removed it."""
        try:
            date = parsedate_to_datetime(self.headers.get("date", ""))
        except ValueError:
            return datetime.now(UTC)
        return date if date.tzinfo else date.replace(tzinfo=UTC)

    @property
    def _status(self) -> JsonObject:
        try:
            status = self.object()
        except Unavailable:
            return {}
        return status if status.get("kind") == "Status" else {}

    @property
    def _details(self) -> JsonObject:
        details = self._status.get("details")
        return details if isinstance(details, dict) else {}

    @property
    def _causes(self) -> list[JsonObject]:
        causes = self._details.get("causes")
        return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


class Final(Unavailable):
    """No usable answer, and asking again at once would only cost as much time again."""


class Exchange:
    """Sends requests over one connection; may be shared by threads.

    ``connect_timeout``, ``read_timeout``: seconds for the connection, and between two pieces of an answer; a whole
    answer must arrive within twice the latter.
    """

    def __init__(
        self, connection: Connection, scrubber: Scrubber, *, connect_timeout: float, read_timeout: float
    ) -> None:
        self._connection, self._scrubber = connection, scrubber
        self._connect_timeout, self._read_timeout = connect_timeout, read_timeout
        self._restarts = PeerRestarts()

    def send(self, request: Request) -> Answer:
        """Send it once and return the answer, whatever its status. Raises Unavailable without a whole one."""
        with observed(Kind.PEER, f"{request.method} {SYSTEM}", {"system": SYSTEM, "method": request.method}) as seen:
            seen.details["operation"] = request.operation
            seen.outcome = NO_ANSWER
            answer = self._send(request)
            seen.outcome = of_status(answer.status)
            right = needed_right(request.method, request.path)
            if right is None:
                return answer
            return replace(answer, restarting=self._restarts.may_restart(answer.status, request.operation, str(right)))

    def _send(self, request: Request) -> Answer:
        limit = 2 * self._read_timeout if request.seconds is None else request.seconds
        deadline = time.monotonic() + limit
        read, connect = min(self._read_timeout, limit), min(self._connect_timeout, limit)
        options: dict[str, Any] = {"timeout": httpx2.Timeout(read, connect=connect)}
        if request.body is not None:
            options["content"] = json.dumps(request.body).encode()
            options["headers"] = {"content-type": request.content_type}
        try:
            # Relative, so that a URL with a path of its own keeps it: API servers stand behind gateways.
            with self._connection.client.stream(
                request.method, request.path, params=dict(request.params), **options
            ) as raw:
                # A kubeconfig may name a file with a token, which is read for every request.
                self._scrubber.hide_passing(raw.request.headers.get("authorization", "").rpartition(" ")[2])
                body = b"".join(_pieces(request, raw, deadline, limit))
                headers = {name.lower(): value for name, value in raw.headers.items()}
                return Answer(request, raw.status_code, headers, body)
        except (httpx2.HTTPError, ConfigError, OSError, UnicodeError) as error:
            raise self._explain(request.operation, error, connect, read) from error

    def _explain(self, operation: str, error: Exception, connect: float, read: float) -> PeerError:
        """Return the error for a failure below HTTP, without the libraries' texts, which may quote headers."""
        where = urlsplit(self._connection.url).netloc
        if isinstance(error, httpx2.ConnectTimeout):
            return Final(SYSTEM, operation, f"no connection to {where} within {connect:g} s", sent=False)
        if isinstance(error, httpx2.TimeoutException):
            return Final(SYSTEM, operation, f"no answer from {where} within {read:g} s")
        if isinstance(error, httpx2.ConnectError):
            # Before a connection exists, their text is only the reason.
            said = one_line(str(error), LONGEST_TEXT)
            return Unavailable(SYSTEM, operation, f"no connection to {where}: {said}", sent=False)
        if isinstance(error, ConfigError | OSError | UnicodeError):
            return Final(SYSTEM, operation, "the file with the token, which the kubeconfig names, cannot be used")
        return Unavailable(SYSTEM, operation, f"the answer of {where} was cut short or broken ({type(error).__name__})")


def _pieces(request: Request, raw: httpx2.Response, deadline: float, limit: float) -> Iterator[bytes]:
    """Yield the body in pieces; raise if it is too large or too slow."""
    received = 0
    for piece in raw.iter_raw():
        received += len(piece)
        if received > LARGEST_BODY:
            raise Final(SYSTEM, request.operation, f"the answer is larger than {LARGEST_BODY} bytes")
        if time.monotonic() > deadline:
            raise Final(SYSTEM, request.operation, f"the answer took longer than {limit:g} s")
        yield piece
