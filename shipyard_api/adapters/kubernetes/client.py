"""The API server's list of nodes: pages, attempts, and its answers as ``ports.errors``."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
from lightkube.core.exceptions import ConfigError

from shipyard_api.adapters.kubernetes.access import Access, connection
from shipyard_api.adapters.kubernetes.translate import one_line
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.http import retry_after
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.scrubbing import Scrubber

SYSTEM = "Kubernetes"
OPERATION = "GET /api/v1/nodes"
PAGE = 500
LONGEST_TEXT = 1000  # characters of the API server's message
LARGEST_BODY = 64 * 1024 * 1024  # of one page; 500 nodes with all their images are a quarter of it

_ATTEMPTS = 3
_LISTINGS = 3


class KubernetesClient:
    """One API server; may be shared by threads. Nothing is connected before the first request.

    ``connect_timeout``, ``read_timeout``: seconds for the connection, and between two pieces of an answer; a whole
    answer must arrive within twice the latter. ``page``: nodes that are asked for at once. ``first_pause``: seconds
    before a second attempt, doubled for the third. Raises ValueError for an access that cannot be used.
    """

    def __init__(
        self,
        access: Access,
        *,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        first_pause: float = 0.2,
        page: int = PAGE,
    ) -> None:
        timeout = httpx2.Timeout(read_timeout, connect=connect_timeout)
        self._connection = connection(access, timeout)
        self.scrubber = Scrubber(*self._connection.secrets)
        self._connect_timeout, self._read_timeout = connect_timeout, read_timeout
        self._pauses = [first_pause * 2**attempt for attempt in range(_ATTEMPTS - 1)]
        self._page = page

    def nodes(self) -> list[JsonObject]:
        """Return all Node objects of the cluster; may be repeated.

        Raises Busy for 429 and for 503 with Retry-After, Refused for any other 4xx, else Unavailable without a list
        of nodes. Quick failures are retried a few times.
        """
        for _ in range(_LISTINGS):
            try:
                return [node for page in self._pages() for node in page]
            except _Expired:
                # Parts of two lists would not be consistent.
                continue
        raise Unavailable(SYSTEM, OPERATION, f"the list expired {_LISTINGS} times before all of it was read")

    def close(self) -> None:
        """Close all connections."""
        self._connection.client.close()

    def _pages(self) -> Iterator[list[JsonObject]]:
        seen: set[str] = set()
        following = ""
        while True:
            answer = self._read({"limit": str(self._page)} | ({"continue": following} if following else {}))
            if answer.status == 410 and following:
                raise _Expired
            listed = self._expected(answer).object()
            items = listed.get("items") or []
            if listed.get("kind") != "NodeList" or not isinstance(items, list):
                kind = one_line(self.scrubber(str(listed.get("kind"))), 100)
                raise Unavailable(SYSTEM, OPERATION, f"answered {answer.status}, but of kind {kind}, not NodeList")
            yield [one for one in items if isinstance(one, dict)]
            metadata = listed.get("metadata")
            following = str(metadata.get("continue") or "") if isinstance(metadata, dict) else ""
            if not following:
                return
            if following in seen:
                raise Unavailable(SYSTEM, OPERATION, "its list of nodes leads back to a page that was read")
            seen.add(following)

    def _read(self, params: Mapping[str, str]) -> "_Answer":
        """Return a complete answer; quick failures are retried."""
        for pause in self._pauses:
            try:
                answer = self._attempt(params)
            except _Final:
                raise
            except Unavailable:
                time.sleep(pause)
                continue
            if answer.status < 500 or "retry-after" in answer.headers:
                return answer
            time.sleep(pause)
        return self._attempt(params)

    def _attempt(self, params: Mapping[str, str]) -> "_Answer":
        deadline = time.monotonic() + 2 * self._read_timeout
        try:
            # Relative, so that a URL with a path of its own keeps it: API servers stand behind gateways.
            with self._connection.client.stream("GET", "api/v1/nodes", params=dict(params)) as raw:
                # A kubeconfig may name a file with a token, which is read for every request.
                self.scrubber.hide_passing(raw.request.headers.get("authorization", "").rpartition(" ")[2])
                body = b"".join(self._pieces(raw, deadline))
                return _Answer(raw.status_code, {name.lower(): value for name, value in raw.headers.items()}, body)
        except (httpx2.HTTPError, ConfigError, OSError, UnicodeError) as error:
            raise self._explain(error) from error

    def _pieces(self, raw: httpx2.Response, deadline: float) -> Iterator[bytes]:
        """Yield the body in pieces; raise if it is too large or too slow."""
        received = 0
        for piece in raw.iter_raw():
            received += len(piece)
            if received > LARGEST_BODY:
                raise _Final(SYSTEM, OPERATION, f"the answer is larger than {LARGEST_BODY} bytes")
            if time.monotonic() > deadline:
                raise _Final(SYSTEM, OPERATION, f"the answer took longer than {2 * self._read_timeout:g} s")
            yield piece

    def _explain(self, error: Exception) -> PeerError:
        """Return the error for a failure below HTTP, without the libraries' texts, which may quote headers."""
        where = urlsplit(self._connection.url).netloc
        if isinstance(error, httpx2.ConnectTimeout):
            return _Final(SYSTEM, OPERATION, f"no connection to {where} within {self._connect_timeout:g} s")
        if isinstance(error, httpx2.TimeoutException):
            return _Final(SYSTEM, OPERATION, f"no answer from {where} within {self._read_timeout:g} s")
        if isinstance(error, httpx2.ConnectError):
            # Before a connection exists, their text is only the reason.
            return Unavailable(SYSTEM, OPERATION, f"no connection to {where}: {one_line(str(error), LONGEST_TEXT)}")
        if isinstance(error, ConfigError | OSError | UnicodeError):
            return _Final(SYSTEM, OPERATION, "the file with the token, which the kubeconfig names, cannot be used")
        return Unavailable(SYSTEM, OPERATION, f"the answer of {where} was cut short or broken ({type(error).__name__})")

    def _expected(self, answer: "_Answer") -> "_Answer":
        """Return a successful answer; raise the error of any other."""
        if answer.status == 200:
            return answer
        text = one_line(self.scrubber(answer.text), LONGEST_TEXT)
        said = f"answered {answer.status}: {text}" if text else f"answered {answer.status} without a reason"
        if answer.status == 429 or (answer.status == 503 and "retry-after" in answer.headers):
            pause = retry_after(answer.headers, now=datetime.now(UTC))
            raise Busy(SYSTEM, OPERATION, said, retry_after=pause)
        kind = Refused if 400 <= answer.status < 500 and answer.status != 408 else Unavailable
        raise kind(SYSTEM, OPERATION, said)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer, whole. ``headers`` has lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def object(self) -> JsonObject:
        """Return the body, which must be a JSON object. Raises Unavailable if it is not."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise Unavailable(SYSTEM, OPERATION, f"answered {self.status}, not in JSON") from error
        if not isinstance(value, dict):
            raise Unavailable(SYSTEM, OPERATION, f"answered {self.status} with JSON of an unexpected structure")
        return value

    @property
    def text(self) -> str:
        """Return the message of a Status; other bodies are not the API server's."""
        try:
            status: Any = self.object()
        except Unavailable:
            return ""
        return str(status.get("message") or "") if status.get("kind") == "Status" else ""


class _Final(Unavailable):
    """No usable answer, and asking again at once would only cost as much time again."""


class _Expired(Exception):
    """The list that was being read is no longer kept."""
