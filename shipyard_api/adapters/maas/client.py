"""The region API of MAAS: paths, forms, signatures, and its answers as ``ports.errors``."""

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from shipyard_api.domain.json_types import JsonObject, streamed_objects
from shipyard_api.http import Headers, HttpClient, Params, RequestOptions, Response, segment
from shipyard_api.observing.scrubbing import Scrubber
from shipyard_api.ports.errors import PeerError, Refused, Unavailable

from . import formats


@dataclass(frozen=True)  # without slots: what is constant in its headers is quoted once
class ApiKey:
    """The three parts of an API key; only the first is ever shown."""

    consumer: str
    token: str = field(repr=False)
    secret: str = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> "ApiKey":
        """Parse a key as MAAS shows it. Raises ValueError, without the text, for an invalid key."""
        parts = text.strip().split(":")
        if len(parts) != 3 or not all(part and part.isascii() and part.isprintable() for part in parts):
            raise ValueError("a MAAS API key has three parts joined by colons: consumer key, token key, token secret")
        return cls(*parts)

    def header(self, *, nonce: str, timestamp: int) -> str:
        """Return the value of the Authorization header for one attempt of one request. ``nonce``: hexadecimal."""
        return f'{self._constant}, oauth_timestamp="{timestamp}", oauth_nonce="{nonce}"'

    @cached_property
    def _constant(self) -> str:
        """What all requests share, quoted once."""
        fields = {
            "oauth_version": "1.0",
            "oauth_signature_method": "PLAINTEXT",
            "oauth_consumer_key": self.consumer,
            "oauth_token": self.token,
            # The consumer's secret is empty in MAAS, so the signature begins with the separator.
            "oauth_signature": f"&{self.secret}",
        }
        return 'OAuth realm="OAuth", ' + ", ".join(
            f'{name}="{quote(value, safe="")}"' for name, value in fields.items()
        )


def signer(key: ApiKey, now: Callable[[], float] = time.time) -> Callable[[], Headers]:
    """Return a function that signs: its headers are new at every call, because MAAS refuses a nonce it has seen."""

    def sign() -> Headers:
        return {"Authorization": key.header(nonce=secrets.token_hex(16), timestamp=int(now()))}

    return sign


SYSTEM = "MAAS"
LARGEST_LISTING = 256 * 1024 * 1024  # bytes: a machine is some 18 KB, and there is no paging
LONGEST_QUERY = 6000  # characters; proxies reject longer request lines
MOST_QUERIES = 8  # more are slower than one list of all machines
MOST_EVENTS = 200  # of one machine in one answer
LONGEST_DETAIL = 400  # characters of MAAS's text in an error
Fields = Sequence[tuple[str, str]]
_Read = TypeVar("_Read")

MACHINE = (
    "system_id",
    "hostname",
    "status",
    "status_name",
    "status_message",
    "error_description",
    "owner",
    "locked",
    "power_state",
    "tag_names",
    "current_installation_result_id",
)
"""The fields that are read of a machine in a list."""

_Machine = msgspec.defstruct("_Machine", [(name, Any, None) for name in MACHINE], omit_defaults=True)
_MACHINES = msgspec.json.Decoder(list[_Machine])  # type: ignore[valid-type]  # made from the names
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_STATE_FORBIDS = "because of the current state"


class WrongState(Refused):
    """The state of the machine forbids the operation; read the machine again to decide what to do."""


class MaasClient:
    """One MAAS region. Writes are sent once; reads that fail quickly are retried, each with a new signature.

    ``base_url`` ends in ``/MAAS/api/2.0``. A 401 is retried once with a new signature: it had no effect, and the nonce
    or the clock may be the cause. In seconds: ``connect_timeout``; ``read_timeout``, which must exceed the 90 s for
    which MAAS retries a transaction; ``read_pause`` before the first retry of a read, doubled for the second.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str,
        connect_timeout: float = 20.0,
        read_timeout: float = 150.0,
        read_pause: float = 0.5,
        now: Callable[[], float] = time.time,
    ) -> None:
        key = ApiKey.parse(api_key)
        self.scrubber = Scrubber(api_key.strip(), key.token, key.secret)
        self._http = HttpClient(
            base_url,
            system=SYSTEM,
            headers={"Accept": "application/json"},
            credentials=signer(key, now),
            renew=lambda: None,  # each attempt is signed anew
            scrubber=self.scrubber,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=4 * read_timeout,
            max_body=LARGEST_LISTING,
            first_pause=read_pause,
        )

    # The region.

    def version(self) -> str:
        """Return the version of MAAS; needs no authentication."""
        return str(_expected(self._signed("GET", "version/", public=True)).object().get("version"))

    def whoami(self) -> JsonObject:
        """Return the user of the API key: ``username``, ``is_superuser``."""
        return _expected(self._read("users/?op=whoami")).object()

    def setting(self, name: str) -> object:
        """Return a site-wide setting of MAAS."""
        return _expected(self._read("maas/?op=get_config", [("name", name)])).json()

    def boot_resources(self) -> list[JsonObject] | None:
        """Return the images that can be deployed, or None if this MAAS does not list them."""
        answer = self._read("boot-resources/")
        return None if answer.status in (404, 410) else _expected(answer).objects()

    def rack_controllers(self) -> list[JsonObject]:
        """Return the rack controllers, connected or not."""
        return _expected(self._read("rackcontrollers/")).objects()

    # Machines.

    def every_machine(self, read: Callable[[JsonObject], _Read]) -> list[_Read]:
        """Return all machines as ``read`` returns them, from one answer. Slow on large sites."""

        def parse(pieces: Iterator[bytes]) -> list[_Read]:
            return [read(entry) for entry in streamed_objects(pieces)]

        answer = _expected(self._signed("GET", "machines/", parse=parse))
        machines: list[_Read] = answer.parsed
        return machines

    def machines(self, hostnames: Collection[str]) -> Iterator[JsonObject]:
        """Yield the machines with these host names, with the fields of ``MACHINE``, some hundreds a request."""
        for query in _queries("hostname", hostnames):
            yield from _machines(_expected(self._read("machines/", query)))

    def hardware(self, hostnames: Collection[str], fields: Collection[str]) -> Iterator[JsonObject]:
        """Yield these fields of the machines with these host names; of all machines, if that takes fewer requests."""

        def read(entry: JsonObject) -> JsonObject:
            return {field: entry.get(field) for field in fields}

        queries = _queries("hostname", hostnames)
        if len(queries) > MOST_QUERIES:
            yield from self.every_machine(read)
            return
        for query in queries:
            yield from map(read, _expected(self._read("machines/", query)).objects())

    def requests_for(self, hostnames: Collection[str]) -> int:
        """Return how many requests the hardware of these machines takes."""
        queries = len(_queries("hostname", hostnames))
        return queries if queries <= MOST_QUERIES else 1

    def details(self, system_id: str, read: Callable[[Mapping[str, bytes]], _Read]) -> _Read:
        """Return what ``read`` makes of the details of a machine; of none, if MAAS has no machine with this id."""
        answer = self._read(f"machines/{segment(system_id)}/?op=details")
        return read({} if answer.status == 404 else formats.document(_expected(answer).body))

    def machines_not_in(self, statuses: Iterable[str], system_ids: Collection[str]) -> Iterator[JsonObject]:
        """Yield the machines of these ids that are in none of these statuses (short names), and perhaps others.

        They have the fields of ``MACHINE``. Releases of MAAS that do not know this filter ignore it. An id that MAAS
        does not have yields nothing.
        """
        excluded = [("not_status", status) for status in statuses]
        for query in _queries("id", system_ids, excluded):
            yield from _machines(_expected(self._read("machines/", query)))

    def machine(self, system_id: str) -> JsonObject | None:
        """Return the machine, or None if MAAS has none with this id."""
        answer = self._read(f"machines/{segment(system_id)}/")
        return None if answer.status == 404 else _expected(answer).object()

    def operate(self, system_id: str, operation: str, fields: Fields, *, marker: str = "") -> JsonObject | None:
        """Start an operation and return the machine, if MAAS shows it; sent once, and still running.

        Raises WrongState or Refused if nothing was started, Busy if a retry may succeed, Unavailable if the operation
        may have started.
        """
        path = f"machines/{segment(system_id)}/?op={operation}"
        answer = _expected(self._write("POST", path, fields, marker), marker)
        try:
            return answer.object()
        except Unavailable:
            return None  # the operation was accepted: a power_off may answer null

    def delete_machine(self, system_id: str, *, marker: str = "") -> None:
        """Delete a machine; it is no error if MAAS has none with this id."""
        answer = self._write("DELETE", f"machines/{segment(system_id)}/", (), marker)
        if answer.status != 404:
            _expected(answer, marker)

    def events(self, hostname: str, *, limit: int) -> list[JsonObject]:
        """Return the newest events of a machine that are warnings or worse, newest first."""
        query = [("hostname", hostname), ("level", "WARNING"), ("limit", str(limit))]
        return _expected(self._read("events/?op=query", query)).objects("events")

    def newest_event(self) -> int:
        """Return the id of the region's newest event that is no debug message, 0 before the first."""
        newest = _expected(self._read("events/?op=query", [("limit", "1")])).objects("events")
        return max((_event_id(event) for event in newest), default=0)

    def events_after(self, hostname: str, event: int) -> list[JsonObject]:
        """Return the first events of a machine after this one that are no debug messages."""
        query = [("hostname", hostname), ("after", str(event)), ("limit", str(MOST_EVENTS))]
        return _expected(self._read("events/?op=query", query)).objects("events")

    # Tags.

    def tags(self) -> dict[str, str]:
        """Return the comment of every tag, by name."""
        tags = _expected(self._read("tags/")).objects()
        return {str(tag["name"]): str(tag.get("comment") or "") for tag in tags if "name" in tag}

    def create_tag(self, name: str, comment: str, *, marker: str = "") -> None:
        """Create a tag; an existing one of that name stays as it is."""
        try:
            _expected(self._write("POST", "tags/", [("name", name), ("comment", comment)], marker), marker)
        except Refused:
            if name not in self.tags():
                raise

    def tag_machines(self, name: str, system_ids: Iterable[str], *, marker: str = "") -> None:
        """Set the tag on machines; a repeated call changes nothing."""
        fields = [("add", system_id) for system_id in system_ids]
        _expected(self._write("POST", f"tags/{segment(name)}/?op=update_nodes", fields, marker), marker)

    def delete_tag(self, name: str) -> None:
        """Delete a tag, also from all machines; it is no error if it does not exist."""
        answer = self._write("DELETE", f"tags/{segment(name)}/", (), "")
        if answer.status != 404:
            _expected(answer)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _read(self, path: str, params: Params = ()) -> Response:
        return self._signed("GET", path, params=params)

    def _write(self, method: str, path: str, fields: Fields, marker: str) -> Response:
        # Without a form, MAAS may have no data object at all and answer 500: every POST carries one.
        body = urlencode(fields).encode() if method == "POST" else b""
        return self._signed(method, path, body=body, marker=marker)

    def _signed(
        self,
        method: str,
        path: str,
        *,
        params: Params = (),
        body: bytes = b"",
        marker: str = "",
        public: bool = False,
        parse: Callable[[Iterator[bytes]], Any] | None = None,
    ) -> Response:
        """Return the answer to a request."""
        headers = _FORM if body else {}
        options: RequestOptions = {
            "params": params,
            "body": body,
            "headers": headers,
            "marker": marker,
            "public": public,
        }
        if parse:
            options["parse"] = parse
        return self._http.send(method, path, **options)


def _queries(
    filter_name: str, values: Collection[str], also: Sequence[tuple[str, str]] = ()
) -> list[list[tuple[str, str]]]:
    """Return queries for values of a filter, each short enough for a request line. ``also``: in each of them."""
    queries: list[list[tuple[str, str]]] = []
    room = 0
    for value in sorted(set(values)):
        pair = (filter_name, value)
        size = len(urlencode([pair])) + 1
        if size > room:
            queries.append([*also])
            room = LONGEST_QUERY - len(urlencode(also))
        queries[-1].append(pair)
        room -= size
    return queries


def _machines(answer: Response) -> Iterable[JsonObject]:
    """Return the machines in an answer. Nine tenths of what MAAS shows of one is not parsed."""
    try:
        machines: list[JsonObject] = msgspec.to_builtins(_MACHINES.decode(answer.body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return answer.objects()  # which explains what is wrong, or skips what is no machine
    return machines


def _expected(answer: Response, marker: str = "") -> Response:
    if not answer.ok:
        raise _fault(answer, marker)
    return answer


def _fault(answer: Response, marker: str) -> PeerError:
    """Return the error for an unsuccessful answer (contract maas, 3). A 409 with Retry-After may be retried; any other
    409 means the wrong state, and so does the 400 of commissioning.
    """
    reason = _reason(answer)
    is_busy = answer.status in (409, 503) and "retry-after" in answer.headers
    if not is_busy and (answer.status == 409 or (answer.status == 400 and _STATE_FORBIDS in reason)):
        return WrongState(SYSTEM, answer.operation, answer.answered(reason), marker=marker)
    return answer.failure(reason, marker=marker, is_busy=is_busy)


def _event_id(event: JsonObject) -> int:
    number = event.get("id")
    if not isinstance(number, int):
        raise Unavailable(SYSTEM, "events", "an event lacks a valid id")
    return number


def _reason(answer: Response) -> str:
    """Return the reason in one line: plain text, or the texts of each field of a validation error."""
    try:
        body = answer.json()
    except Unavailable:
        body = answer.body.decode("utf-8", "replace")
    if isinstance(body, Mapping):
        texts = [
            f"{field}: {' '.join(map(str, value)) if isinstance(value, list) else value}"
            for field, value in body.items()
        ]
        body = "; ".join(text.removeprefix("__all__: ") for text in texts)
    elif isinstance(body, list):
        body = "; ".join(map(str, body))
    return answer.scrubber.line(str(body), LONGEST_DETAIL)
