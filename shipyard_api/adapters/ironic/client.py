"""Ironic's REST API: versions, credentials, pages, and its answers as ``ports.errors``."""

import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.http import (
    Headers,
    HttpClient,
    Params,
    Response,
    busy,
    segment,
)
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import Refused, Unavailable

SYSTEM = "Ironic"
NEWEST = 115  # N of the newest version 1.N that this adapter is tested with
OLDEST = 69  # the first version that accepts deploy steps with a deployment
LARGEST_PAGE = 1000
LONGEST_TEXT = 4000  # characters of one of Ironic's texts; patches.py shortens further

_VERSION = "x-openstack-ironic-api-version"
_HISTORY_SINCE = 78
_INVENTORY_SINCE = 81
_FIRMWARE_SINCE = 86
_UNKNOWN_OUTCOME = frozenset({408, 500, 502, 504})


class Reply(Struct, frozen=True):
    """Ironic's answer to a change: the status and its text, in one line."""

    status: int
    text: str = ""


class IronicClient:
    """One Ironic. Changes are sent once, ``http`` retries reads; may be shared by threads.

    ``base_url``: the address with or without ``/v1``, or a function called for it at the first request; its errors
    reach the caller of that request. Credentials: none, ``basic`` (user, password), or ``token``, called before every
    request; on 401 ``renew_token`` is called and the request, which had no effect, is sent again. ``read_timeout`` in
    seconds: a locked node alone may take Ironic two. The API version is negotiated at the first request, and again
    when Ironic rejects it.
    """

    def __init__(
        self,
        base_url: str | Callable[[], str],
        *,
        token: Callable[[], str] | None = None,
        renew_token: Callable[[], None] | None = None,
        basic: tuple[str, str] | None = None,
        connect_timeout: float = 10.0,
        read_timeout: float = 60.0,
        read_pause: float = 0.2,
        page: int = LARGEST_PAGE,
        ca_file: str = "",
    ) -> None:
        if token and basic:
            raise ValueError("Ironic takes a token or a user with a password, not both")
        self.scrubber = Scrubber(basic[1]) if basic else Scrubber()
        secret = base64.b64encode(":".join(basic).encode()).decode() if basic else ""

        def credentials() -> Headers:
            if token:
                return {"X-Auth-Token": token()}
            return {"Authorization": f"Basic {secret}"} if secret else {}

        def http(address: str) -> HttpClient:
            return HttpClient(
                address.rstrip("/").removesuffix("/v1"),
                system=SYSTEM,
                credentials=credentials,
                renew=renew_token,
                scrubber=self.scrubber,
                connect_timeout=connect_timeout,
                read_timeout=read_timeout,
                total_timeout=2 * read_timeout,
                first_pause=read_pause,
                ca_file=ca_file,
            )

        self._address = base_url
        self._client_at = http
        self._http = http(base_url) if isinstance(base_url, str) else None
        self._lock = threading.Lock()
        self._page = page
        self._version: int | None = None

    def version(self) -> int:
        """Return N of the version 1.N in use. Raises Refused if this Ironic has no supported version."""
        if self._version is None:
            self._version = self._negotiated()
        return self._version

    def renew_version(self) -> int:
        """Negotiate the version again, and return N of the version now in use."""
        self._version = self._negotiated()
        return self._version

    def conductors(self) -> list[JsonObject] | None:
        """Return the conductors, each with ``hostname`` and ``alive``; None if our user may not see them.

        Ironic's default policy shows them to users with a role on the system, not to users of a project.
        """
        answer = self._send("GET", "v1/conductors")
        return None if answer.status == 403 else _expected(answer).objects("conductors")

    def nodes(self, fields: Sequence[str]) -> Iterator[JsonObject]:
        """Yield these fields of every node visible to our user; a page is read when it is needed, and not kept."""
        return filter(None, map(parsed, self.texts(fields)))

    def texts(self, fields: Sequence[str]) -> Iterator[bytes]:
        """Yield each node of ``nodes`` as Ironic's JSON text, which ``parsed`` reads."""
        params: list[tuple[str, str]] = [("fields", ",".join(fields)), ("limit", str(self._page))]
        seen: set[str] = set()
        while True:
            answer = self._read("v1/nodes", params)
            page = answer.typed(_PAGES)
            yield from map(bytes, page.nodes)
            if not page.next:
                return
            if page.next in seen:
                raise Unavailable(SYSTEM, answer.operation, "its list of nodes leads back to a page that was read")
            seen.add(page.next)
            # Only the query: behind a proxy, Ironic builds the address from its own host.
            params = parse_qsl(urlsplit(page.next).query)

    def node(self, node: str, fields: Sequence[str]) -> JsonObject | None:
        """Return these fields of one node, or None if none is visible to our user."""
        answer = self._send("GET", f"v1/nodes/{segment(node)}", params={"fields": ",".join(fields)})
        # A 404 of a gateway, without Ironic's words, says nothing about the node.
        is_gone = answer.status == 404 and not (answer.restarting and not _text(answer))
        return None if is_gone else _expected(answer).object()

    def runbook(self, name: str) -> JsonObject | None:
        """Return a runbook with its steps, or None if none is visible to our user. Needs version 1.92."""
        answer = self._send("GET", f"v1/runbooks/{segment(name)}")
        return None if answer.status == 404 and _text(answer) else _expected(answer).object()

    def bios(self, node: str) -> list[JsonObject]:
        """Return the settings of a node's board; none if the node is not visible, or has no such interface."""
        answer = self._send("GET", f"v1/nodes/{segment(node)}/bios")
        is_gone = answer.status in (400, 404) and _text(answer)
        return [] if is_gone else _expected(answer).objects("bios")

    def firmware(self, node: str) -> list[JsonObject]:
        """Return the components of a node that have firmware; none as for settings, or from an old Ironic."""
        if self.version() < _FIRMWARE_SINCE:
            return []
        answer = self._send("GET", f"v1/nodes/{segment(node)}/firmware")
        is_gone = answer.status in (400, 404) and _text(answer)
        return [] if is_gone else _expected(answer).objects("firmware")

    def inventory(self, node: str) -> JsonObject | None:
        """Return the inspection data of a node; None without any, or from an old Ironic."""
        if self.version() < _INVENTORY_SINCE:
            return None
        answer = self._send("GET", f"v1/nodes/{segment(node)}/inventory")
        return None if answer.status == 404 and _text(answer) else _expected(answer).object()

    def history(self, node: str) -> list[JsonObject]:
        """Return the entries of a node's history, oldest first; none from an Ironic that keeps no history."""
        if self.version() < _HISTORY_SINCE:
            return []
        answer = self._send("GET", f"v1/nodes/{segment(node)}/history", params={"detail": "true"})
        return [] if answer.status in (403, 404) else _expected(answer).objects("history")

    def patch(self, node: str, changes: Sequence[JsonObject]) -> Reply:
        """Change a node by a JSON Patch: all changes or none."""
        return self._change("PATCH", f"v1/nodes/{segment(node)}", list(changes))

    def provision(self, node: str, body: JsonObject) -> Reply:
        """Start a state transition of a node; its outcome shows later."""
        return self._change("PUT", f"v1/nodes/{segment(node)}/states/provision", body)

    def power(self, node: str, target: str) -> Reply:
        """Change the power of a node: ``power off`` and ``rebooting`` do not wait for its operating system."""
        return self._change("PUT", f"v1/nodes/{segment(node)}/states/power", {"target": target})

    def end_maintenance(self, node: str) -> Reply:
        """End a node's maintenance, also one that Shipyard did not set."""
        return self._change("DELETE", f"v1/nodes/{segment(node)}/maintenance")

    def remove(self, node: str) -> Reply:
        """Delete a node."""
        return self._change("DELETE", f"v1/nodes/{segment(node)}")

    def close(self) -> None:
        """Close all connections."""
        if self._http:
            self._http.close()

    def _peer(self) -> HttpClient:
        """Return the client at Ironic's address, looked up at first use. Raises Refused for an invalid address."""
        if (known := self._http) is not None:
            return known
        address = self._address if isinstance(self._address, str) else self._address()
        with self._lock:
            try:
                self._http = self._http or self._client_at(address)
            except ValueError as error:
                detail = f"{self.scrubber(address)} cannot be used: {error}"
                raise Refused(SYSTEM, "address", detail, whole_site=True) from error
            return self._http

    def _negotiated(self) -> int:
        answer = _expected(self._peer().send("GET", "v1", public=True))
        lowest, highest = (_minor(answer.headers.get(f"x-openstack-ironic-api-{end}-version")) for end in _ENDS)
        if lowest is None or highest is None:
            detail = "the answer names no API versions; check that the address is Ironic's"
            raise Refused(SYSTEM, answer.operation, detail, whole_site=True)
        if highest < OLDEST or lowest > NEWEST:
            detail = f"this Ironic speaks 1.{lowest} to 1.{highest}; Shipyard needs one of 1.{OLDEST} to 1.{NEWEST}"
            raise Refused(SYSTEM, answer.operation, detail, whole_site=True)
        return min(highest, NEWEST)

    def _read(self, path: str, params: Params = ()) -> Response:
        return _expected(self._send("GET", path, params=params))

    def _change(self, method: str, path: str, body: object = None) -> Reply:
        """Return Ironic's answer to a change. Raises Unavailable if its outcome is unknown."""
        answer = self._send(method, path, body=body)
        text = "" if answer.ok else _text(answer)
        # Refusals in Ironic's words are about the node; those of a gateway are not.
        if answer.status in _UNKNOWN_OUTCOME or answer.status == 429 or (answer.restarting and not text):
            raise answer.failure(_text(answer))
        return Reply(answer.status, text)

    def _send(self, method: str, path: str, *, params: Params = (), body: object = None) -> Response:
        """Return the answer. A request rejected for its token or its version is sent again once."""

        def once() -> Response:
            headers = {_VERSION: f"1.{self.version()}"}
            return self._peer().send(method, path, params=params, json=body, headers=headers)

        answer = once()
        if answer.status == 406:
            self.renew_version()
            answer = once()
        if answer.status in (401, 406):
            raise answer.failure(_text(answer))
        return answer


_ENDS = ("minimum", "maximum")


class _Page(msgspec.Struct):
    nodes: list[msgspec.Raw]
    next: str | None = None


_PAGES = msgspec.json.Decoder(_Page)


def parsed(text: bytes) -> JsonObject | None:
    """Parse a node of a list, or return None if it is not an object. Raises Unavailable if it is not JSON."""
    try:
        node = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise Unavailable(SYSTEM, "GET /v1/nodes", f"a node of its list cannot be read: {error}") from error
    return node if isinstance(node, dict) else None


def _minor(version: str | None) -> int | None:
    major, _, minor = (version or "").partition(".")
    return int(minor) if major == "1" and minor.isascii() and minor.isdigit() else None


def _expected(answer: Response) -> Response:
    """Return the answer to a question. Raises Busy, Unavailable or Refused if it is unsuccessful."""
    if not answer.ok:
        raise answer.failure(_text(answer), is_busy=busy(answer))
    return answer


def _text(answer: Response) -> str:
    """Return Ironic's message in one line: mostly JSON in the text of ``error_message``, for 401 under ``error``."""
    try:
        body = answer.json()
        inner = body.get("error_message", body.get("error")) if isinstance(body, dict) else None
        if isinstance(inner, str) and inner.startswith("{"):
            inner = json.loads(inner)
    except (Unavailable, ValueError, RecursionError):
        return ""
    if isinstance(inner, dict):
        inner = inner.get("faultstring") or inner.get("message")
    return answer.scrubber.line(str(inner or ""), LONGEST_TEXT)
