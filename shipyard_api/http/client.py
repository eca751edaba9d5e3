"""The HTTP client shared by all adapters and the command line; nothing here is specific to a peer.

Reads (GET, HEAD) that fail quickly are retried here; writes never are, because the engine decides whether to repeat an
effect. An answer is read whole, up to a limit, before it is returned, so a truncated one is never used.
"""

import json
import math
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack
from urllib.parse import quote, urlencode, urlsplit

from msgspec import Struct, ValidationError

from shipyard_api.http.failures import describe_failure, refuses_us, retry_after
from shipyard_api.http.restarts import EXPLANATION, PeerRestarts
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.observing.telemetry import NO_ANSWER, Kind, observed, of_status
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable

if TYPE_CHECKING:
    import ssl

    from msgspec.json import Decoder

    from shipyard_api.http.deadline import Answer, Connections, Request

T = TypeVar("T")
MAX_BODY = 64 * 1024 * 1024

_READS = frozenset({"GET", "HEAD"})
_NO_ANSWER = frozenset({502, 503, 504})
_IN_TARGETS = "%/?:@!$&'()*+,;="  # beside letters, digits and what is never quoted
_HOST = re.compile(r"[\w.~:%-]+")

Headers = Mapping[str, str]
Params = Mapping[str, str] | Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Response:
    """A complete answer. ``headers`` has lower-case names; ``system`` and ``operation`` are for error texts.

    ``scrubber`` removes secrets from its texts before they are shown. ``restarting``: it refuses what the peer granted
    a moment ago (``restarts``), which ``refusal`` takes for silence. ``parsed``: the result of the option
    ``parse``, instead of a ``body``.
    """

    status: int
    headers: Headers
    body: bytes
    system: str = ""
    operation: str = ""
    scrubber: Scrubber = field(default_factory=Scrubber, repr=False, compare=False)
    restarting: bool = field(default=False, compare=False)
    parsed: Any = None

    @property
    def ok(self) -> bool:
        """Return whether the status is 2xx; redirects are not followed and count as failures."""
        return 200 <= self.status < 300

    @property
    def text(self) -> str:
        """Return the body as UTF-8 text. Raises Unavailable if it is not."""
        try:
            return self.body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Unavailable(self.system, self.operation, f"answered {self.status}, not in UTF-8") from error

    def json(self) -> Any:
        """Return the body as parsed JSON. Raises Unavailable if it is not JSON."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise Unavailable(self.system, self.operation, f"answered {self.status}, not in JSON") from error

    def object(self) -> Mapping[str, Any]:
        """Return the body, which must be a JSON object. Raises Unavailable if it is not."""
        value = self.json()
        if not isinstance(value, dict):
            raise self.unexpected()
        return value

    def objects(self, key: str = "") -> list[Mapping[str, Any]]:
        """Return the objects in a list: the body, or the value of ``key`` in it. Other items are skipped.

        Raises Unavailable if there is no list.
        """
        listed = self.object().get(key) if key else self.json()
        if not isinstance(listed, list):
            raise self.unexpected()
        return [entry for entry in listed if isinstance(entry, dict)]

    def typed(self, decoder: "Decoder[T]") -> T:
        """Return the body as a type: what the type leaves out is not parsed. Raises Unavailable if it is none."""
        try:
            return decoder.decode(self.body)
        except ValidationError as error:
            raise self.unexpected() from error
        except (ValueError, RecursionError) as error:
            raise Unavailable(self.system, self.operation, f"answered {self.status}, not in JSON") from error

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the peer wants to be asked again, None if it does not say."""
        return retry_after(self.headers, now=datetime.now(UTC))

    def answered(self, reason: str) -> str:
        """Return the answer in one line for people; ``reason``: the peer's, in one line, which may be empty."""
        return f"answered {self.status}: {reason}" if reason else f"answered {self.status} without a reason"

    def failure(self, reason: str, *, marker: str = "", is_busy: bool = False) -> PeerError:
        """Return the error for an unsuccessful answer with this ``reason``, which may be empty.

        429 means "not now", and so does what ``is_busy`` says; below 500 a retry is useless; from 500 on, and for 408,
        the outcome is unknown.
        """
        detail = self.answered(reason)
        if is_busy or self.status == 429:
            return Busy(self.system, self.operation, detail, marker=marker, retry_after=self.retry_after)
        if self.status >= 500 or self.status == 408:
            return Unavailable(self.system, self.operation, detail, marker=marker)
        return refusal(self, detail, marker=marker)

    def unexpected(self, form: str = "JSON") -> Unavailable:
        """Return the error for an answer that is readable but has an unexpected structure."""
        detail = f"answered {self.status} with {form} of an unexpected structure"
        return Unavailable(self.system, self.operation, detail)


class RequestOptions(TypedDict, total=False):
    """Options of a request: ``json`` or ``body``, not both; ``marker`` is only for errors.

    ``seconds``: the time limit of the whole answer, instead of the client's. ``right``: the right that the answer
    proves (``restarts``), by default its method. ``public``: it is answered to every caller, so its answer proves
    no rights. ``is_wanted``: asked every ``every`` seconds (4) of a wait for the answer; False ends it with
    Unavailable. ``parse``: reads a successful answer while it arrives, for one that is too large for a body; a
    ValueError becomes Unavailable. ``begin_within``: the seconds after which nothing is sent any more, because getting
    credentials took so long; that raises Unavailable.
    """

    params: Params
    json: object
    body: bytes
    headers: Headers
    marker: str
    seconds: float
    right: str
    public: bool
    is_wanted: Callable[[], bool]
    every: float
    parse: Callable[[Iterator[bytes]], Any]
    begin_within: float


class HttpClient:
    """Requests to one peer under one base URL; may be shared by threads, which also share its connections.

    ``connect_timeout``, ``read_timeout``: seconds for the connection, and between two pieces of an answer; the answer
    as a whole must arrive within ``total_timeout``. ``credentials`` is called before every attempt for the
    authentication headers; their values never appear in an error. An answer of 401 means that they are no longer valid:
    then ``renew`` is called and the request, which had no effect, sent once more. Environment proxies and .netrc are
    ignored and redirects are not followed. ``first_pause``: seconds before a second attempt, doubled for each further
    one. ``retried``: the statuses after which a read is retried. ``scrubber`` learns the tokens that are sent; give it
    other secrets beforehand. ``ca_file``: trusted certificates instead of the public authorities'. ``tls``: trust and
    client certificate; certificates must be for ``server_name``, or the address without one. ``restarts``: shared by
    clients of the same peer that have the same credentials.
    """

    def __init__(
        self,
        base_url: str,
        *,
        system: str,
        headers: Headers | None = None,
        credentials: Callable[[], Headers] | None = None,
        renew: Callable[[], None] | None = None,
        scrubber: Scrubber | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        total_timeout: float = 300.0,
        max_body: int = MAX_BODY,
        read_attempts: int = 3,
        retried: Collection[int] = _NO_ANSWER,
        first_pause: float = 0.2,
        ca_file: str = "",
        tls: "ssl.SSLContext | None" = None,
        server_name: str = "",
        restarts: PeerRestarts | None = None,
    ) -> None:
        self.base_url = checked_base(base_url)
        self.system = system
        self.scrubber = scrubber or Scrubber()
        self._headers = _checked_headers({"accept-encoding": "identity"} | dict(headers or {}))
        self._credentials, self._renew = credentials, renew
        self._timeout = (connect_timeout, read_timeout)
        self._total_timeout = total_timeout
        self._max_body = max_body
        self._retried = retried
        self._pauses = [first_pause * 2**attempt for attempt in range(read_attempts - 1)]
        self._ca_file = ca_file
        self._tls = (tls, server_name)
        self._restarts = restarts or PeerRestarts()
        self._connections: Connections | None = None
        self._lock = threading.Lock()

    def get(self, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Read ``path``; retried a few times if it fails quickly. Raises as ``request``."""
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Write once. Raises as ``request``; after Unavailable, whether the peer acted is unknown."""
        return self.request("POST", path, **options)

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Return the peer's answer, unless it means "not now".

        Raises Busy for 429 and for 503 with Retry-After, Unavailable for other 502, 503 and 504 and wherever ``send``
        does. Statuses such as 400 or 404 are returned: the adapter interprets them.
        """
        answer = self.send(method, path, **options)
        marker, detail = options.get("marker", ""), f"answered {answer.status}"
        if busy(answer):
            raise Busy(self.system, answer.operation, detail, marker=marker, retry_after=answer.retry_after)
        if answer.status in _NO_ANSWER:
            raise Unavailable(self.system, answer.operation, detail, marker=marker)
        return answer

    def send(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Return the peer's answer whatever its status.

        Raises Unavailable without a complete answer: no connection, a timeout, a connection cut short, an answer
        larger than ``max_body``.
        """
        path = path.lstrip("/")
        headers = self._headers | _checked_headers(options.get("headers", {}))
        limit = options.get("seconds", self._total_timeout)
        latest = time.monotonic() + options.get("begin_within", math.inf)
        call = _Call(method.upper(), self.base_url, path, headers, limit, latest, options)
        answer = self._answer(call)
        if answer.status != 401 or not self._renew:
            return answer
        self._renew()
        return self._answer(call)

    def _answer(self, call: "_Call") -> Response:
        """Return the answer of the first attempt that got one, or of the last."""
        for pause in self._pauses if call.method in _READS else ():
            try:
                answer = self._attempt(call)
            except _Final:
                raise
            except Unavailable:
                time.sleep(pause)
                continue
            if answer.status not in self._retried or "retry-after" in answer.headers:
                return answer
            time.sleep(pause)
        return self._attempt(call)

    def close(self) -> None:
        """Close the connections that are not in use; the client may be used again."""
        if self._connections:
            self._connections.close()

    def _opened(self) -> "Connections":
        with self._lock:
            if self._connections is None:
                from shipyard_api.http.deadline import Connections  # only when needed: a slow import of a command

                tls, server_name = self._tls
                self._connections = Connections(self.base_url, ca_file=self._ca_file, tls=tls, server_name=server_name)
            return self._connections

    def _attempt(self, call: "_Call") -> Response:
        labels = {"system": self.system, "method": call.method}
        with observed(Kind.PEER, f"{call.method} {self.system}", labels) as seen:
            seen.details |= {"operation": call.operation, "url.full": call.url.partition("?")[0]}
            seen.outcome = NO_ANSWER
            answer = self._exchange(call)
            seen.outcome, seen.details["http.response.status_code"] = of_status(answer.status), str(answer.status)
            if call.options.get("public"):
                return answer
            right = call.options.get("right", call.method)
            restarting = self._restarts.may_restart(answer.status, f"{call.method} {call.url}", right)
            return replace(answer, restarting=restarting)

    def _exchange(self, call: "_Call") -> Response:
        from shipyard_api.http.deadline import FAILURES, Limits, Waiting

        # Called for every attempt: a nonce must be new, and a token may have expired.
        proof = _checked_headers(self._credentials()) if self._credentials else {}
        for value in proof.values():
            # A token, alone or after its scheme. OAuth headers have more parts and are new for every request.
            if value.count(" ") <= 1:
                self.scrubber.hide_passing(value.rpartition(" ")[2])
        if time.monotonic() > call.latest:
            raise self._final(call, "getting a token took too long; nothing was sent", sent=False)
        is_wanted = call.options.get("is_wanted")
        waiting = Waiting(is_wanted, call.options.get("every", 4.0)) if is_wanted else None
        deadline = time.monotonic() + call.limit
        try:
            limits = Limits(*self._timeouts(call), deadline, waiting)
            with self._opened().exchange(_prepared(call, proof), limits) as raw:
                pieces = self._pieces(call, raw, deadline)
                parse, parsed = call.options.get("parse"), None
                if parse and 200 <= raw.status < 300:
                    try:
                        parsed = parse(pieces)
                    except (ValueError, RecursionError) as error:
                        raise self._final(call, f"answered {raw.status}, not in the JSON expected") from error
                body = b"".join(pieces)
                answer = Response(raw.status, raw.headers, body, self.system, call.operation, self.scrubber)
                return replace(answer, parsed=parsed)
        except FAILURES as error:
            if is_wanted and not is_wanted():
                raise self._final(call, "the answer is no longer waited for") from error
            if time.monotonic() > deadline:
                raise self._late(call) from error
            raise self._explain(call, error) from error

    def _pieces(self, call: "_Call", raw: "Answer", deadline: float) -> Iterator[bytes]:
        """Yield the body in pieces; raise if it is too large or too slow."""
        announced = raw.headers.get("content-length", "")
        size = int(announced) if announced.isdecimal() and call.method != "HEAD" else 0
        received = 0
        while size <= self._max_body and (piece := next(raw.pieces, b"")):
            received += len(piece)
            size = max(size, received)
            if time.monotonic() > deadline:
                raise self._late(call) from TimeoutError()
            yield piece
        if size > self._max_body:
            raise self._final(call, f"the answer is larger than {self._max_body} bytes")

    def _timeouts(self, call: "_Call") -> tuple[float, float]:
        connect, read = self._timeout
        return min(connect, call.limit), min(read, call.limit)

    def _late(self, call: "_Call") -> "_Final":
        return self._final(call, f"the answer took longer than {call.limit:g} s")

    def _final(self, call: "_Call", detail: str, *, sent: bool = True) -> "_Final":
        return _Final(self.system, call.operation, detail, marker=call.marker, sent=sent)

    def _explain(self, call: "_Call", error: Exception) -> PeerError:
        connect, read = self._timeouts(call)
        failure = describe_failure(error, self.base_url, connect=connect, read=read, ca_file=self._ca_file)
        kind = _Final if failure.lasting else Unavailable
        return kind(self.system, call.operation, failure.detail, marker=call.marker, sent=failure.sent)


class _Call(Struct, frozen=True):
    """A request, ready to be sent once or several times."""

    method: str
    base_url: str
    path: str
    headers: Headers
    limit: float  # seconds
    latest: float  # on the monotonic clock
    options: RequestOptions

    @property
    def url(self) -> str:
        return f"{self.base_url}/{self.path}"

    @property
    def operation(self) -> str:
        return f"{self.method} /{self.path}"

    @property
    def marker(self) -> str:
        return self.options.get("marker", "")


class _Final(Unavailable):
    """No usable answer, and an immediate retry would only take as long again."""


def _prepared(call: _Call, proof: Headers) -> "Request":
    from shipyard_api.http.deadline import Request

    headers = {"accept": "*/*", "user-agent": "shipyard", **call.headers, **proof}
    body, value = call.options.get("body"), call.options.get("json")
    if value is not None:
        body = json.dumps(value, allow_nan=False).encode()
        headers.setdefault("content-type", "application/json")
    if body is not None or call.method not in _READS:
        headers["content-length"] = str(len(body or b""))
    params = urlencode(call.options.get("params", ()))
    target = quote(urlsplit(call.base_url).path + f"/{call.path}", safe=_IN_TARGETS)
    target += ("&" if "?" in target else "?") * bool(params) + params
    return Request(call.method, target, headers, body)


def segment(text: str) -> str:
    """Return the text quoted as one segment of a path."""
    return quote(text, safe="")


def refusal(
    answer: Response, detail: str, *, marker: str = "", code: int | None = None, said: str = ""
) -> Refused | Unavailable:
    """Return the error for an answer that rejects the request; from a peer that may be restarting it is none."""
    system, operation = answer.system, answer.operation
    if answer.restarting:
        return Unavailable(system, operation, f"{detail}; {EXPLANATION}", marker=marker)
    whole_site = refuses_us(answer.status)
    return Refused(system, operation, detail, marker=marker, code=code, said=said, whole_site=whole_site)


def busy(answer: Response) -> bool:
    """Return whether the peer did nothing and asks for a later retry."""
    return answer.status == 429 or (answer.status == 503 and "retry-after" in answer.headers)


def checked_base(url: str) -> str:
    """Return a base URL without trailing slashes. Raises ValueError, which never quotes it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("a base URL must start with http:// or https:// and name a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("a base URL must not hold a user, a query or a fragment")
    if not (_HOST.fullmatch(parts.hostname) and url.isprintable()):
        raise ValueError("a base URL must have a valid host name and only printable characters")
    try:
        _ = parts.port
    except ValueError as error:
        raise ValueError("a base URL must have a port of 0 to 65535, or none") from error
    return url.rstrip("/")


def _checked_headers(headers: Headers) -> dict[str, str]:
    """Return the headers with lower-case names. An error names the header, never its value."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"the header {name} holds characters that HTTP does not allow")
    return {name.lower(): value for name, value in headers.items()}
