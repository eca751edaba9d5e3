"""Deckhand's REST API: paths, headers, and what its answers mean in terms of ``ports.errors``."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from shipyard_api.domain.json_types import JsonObject
from shipyard_api.http import HttpClient, Params, RequestOptions, Response, segment
from shipyard_api.observing import request_context
from shipyard_api.ports.errors import PeerError, Purpose, Refused, Unavailable
from shipyard_api.yaml_stream import Limits, YamlFault, read_documents, write_documents

from .translate import SYSTEM, kind_of, said_in

LARGEST_ANSWER = 256 * 1024 * 1024  # bytes: the list of revisions only grows, and has no pages
LONGEST_DETAIL = 400  # characters of Deckhand's text in an error
MEDIA_TYPE = "application/x-yaml"

# Deckhand's answers are larger than our request bodies, but must not exhaust memory.
LIMITS = Limits(
    bytes_=LARGEST_ANSWER,
    depth=256,
    nodes=20_000_000,
    documents=500_000,
    scalar=LARGEST_ANSWER,
    text=2 * LARGEST_ANSWER,
)

# Answers of a proxy before an unreachable Deckhand, or of a Deckhand that is too slow.
_LATER = frozenset({408, 502, 503, 504})
_NO_REVISION = ("RevisionNotFound", "HTTPNotFound")  # the second one is the answer for lists of documents


class Denial(Struct, frozen=True):
    """A request denied by Deckhand: status code, kind of error, its Status object, and our error."""

    code: int
    kind: str
    status: JsonObject
    error: PeerError


@contextmanager
def _for(purpose: Purpose) -> Iterator[None]:
    """Note in failures what the request was for."""
    try:
        yield
    except PeerError as error:
        error.purpose = purpose
        raise


class DeckhandClient:
    """One Deckhand. Changes are sent once, but for taking a tag away; reads are repeated by ``http``.

    ``base_url`` ends in ``/api/v1.0``. ``token`` is asked before every request; on 401 ``renew_token`` is called and
    the request, which had no effect, sent once more. Requests carry the headers of ``request_context``. ``scrubber`` is
    what Deckhand's texts go through. Seconds: ``connect_timeout``; ``read_timeout``, which is long because deployments
    let Deckhand render for 600 s; ``read_pause`` before ``http`` first repeats a read. ``largest_answer``: bytes.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: Callable[[], str],
        renew_token: Callable[[], None] = lambda: None,
        connect_timeout: float = 5.0,
        read_timeout: float = 610.0,
        read_pause: float = 0.2,
        largest_answer: int = LARGEST_ANSWER,
    ) -> None:
        self._http = HttpClient(
            base_url,
            system=SYSTEM,
            credentials=lambda: {"X-Auth-Token": token()},
            renew=renew_token,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=2 * read_timeout,
            first_pause=read_pause,
            max_body=largest_answer,
        )
        self.scrubber = self._http.scrubber

    @_for(Purpose.READ_DESIGN)
    def revisions(self) -> list[JsonObject]:
        """Return every revision, in no order. Slow with many revisions."""
        answer = self._send("GET", "revisions")
        return _objects(answer, _object(answer).get("results"))

    @_for(Purpose.READ_DESIGN)
    def revision(self, number: int) -> JsonObject | None:
        """Return one revision with its tags and their data, or None if Deckhand itself answers that there is none."""
        answer = self._send("GET", f"revisions/{number}")
        return None if _is_absent(answer, *_NO_REVISION) else _object(answer)

    @_for(Purpose.READ_DESIGN)
    def tags(self, number: int) -> JsonObject | None:
        """Return the tags of a revision, names to data, or None if there is no such revision."""
        answer = self._send("GET", f"revisions/{number}/tags")
        return None if _is_absent(answer, *_NO_REVISION) else _object(answer)

    @_for(Purpose.READ_DESIGN)
    def documents(self, number: int, bucket: str | None = None) -> list[JsonObject] | None:
        """Return the documents of a revision as they were written, or None if there is no such revision."""
        params = {"cleartext-secrets": "true"} | ({"status.bucket": bucket} if bucket is not None else {})
        answer = self._send("GET", f"revisions/{number}/documents", params=params)
        return None if _is_absent(answer, *_NO_REVISION) else _documents(answer)

    @_for(Purpose.RENDER_DESIGN)
    def rendered(self, number: int) -> list[JsonObject] | Denial | None:
        """Return the design, or why there is none, or None if there is no such revision.

        Always in clear: Deckhand keeps one rendering of each revision, clear or not as it was first asked for.
        """
        answer = self._send("GET", f"revisions/{number}/rendered-documents", params={"cleartext-secrets": "true"})
        if _is_absent(answer, *_NO_REVISION):
            return None
        if answer.ok:
            return _documents(answer)
        denial = _denial(answer)
        denial.error.purpose = Purpose.RENDER_DESIGN
        return denial

    @_for(Purpose.READ_DESIGN)
    def diff(self, old: int, new: int) -> JsonObject | None:
        """Return the change of each bucket from the older to the newer revision, or None if one is unknown."""
        answer = self._send("GET", f"revisions/{old}/diff/{new}")
        return None if _is_absent(answer, *_NO_REVISION) else _object(answer)

    @_for(Purpose.READ_DESIGN)
    def validations(self, number: int) -> list[JsonObject] | None:
        """Return the validations reported on a revision, or None if there is no such revision."""
        answer = self._send("GET", f"revisions/{number}/validations/detail")
        if _is_absent(answer, *_NO_REVISION):
            return None
        return _objects(answer, _object(answer).get("results") or [])

    def put(self, bucket: str, documents: Sequence[JsonObject]) -> list[JsonObject] | Denial:
        """Replace what a bucket holds, once, and return what Deckhand stored, or that it refused.

        Raises Unavailable where it is not known whether that was done.
        """
        answer = self._send("PUT", f"buckets/{segment(bucket)}/documents", body=write_documents(documents))
        return _documents(answer) if answer.ok or answer.status >= 500 else _denial(answer)

    def rollback(self, number: int) -> JsonObject | None:
        """Make a revision from another one; sent once. Return None if there is no such revision."""
        answer = self._send("POST", f"rollback/{number}", body=b"")
        return None if _is_absent(answer, *_NO_REVISION) else _object(answer)

    def set_tag(self, number: int, tag: str, data: JsonObject) -> None:
        """Set a new tag; sent once. Never for an existing tag: Deckhand would store two and show neither."""
        body = write_documents([dict(data)]) if data else b""
        _expected(self._send("POST", f"revisions/{number}/tags/{segment(tag)}", body=body))

    def delete_tag(self, number: int, tag: str) -> None:
        """Delete a tag; a missing tag is no error."""
        path = f"revisions/{number}/tags/{segment(tag)}"
        answer = self._twice("DELETE", path)
        if not _is_absent(answer, "RevisionTagNotFound"):
            _expected(answer)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def _twice(self, method: str, path: str) -> Response:
        """Return the answer to a repeatable change, which is sent again if no answer arrives."""
        try:
            answer = self._send(method, path)
        except Unavailable:
            return self._send(method, path)
        return self._send(method, path) if answer.status in (502, 503, 504) else answer

    def _send(self, method: str, path: str, *, params: Params = (), body: bytes | None = None) -> Response:
        """Return the answer to a request."""
        headers = request_context.headers()
        options: RequestOptions = {"params": params, "headers": headers, "marker": request_context.marker()}
        if body is not None:
            headers["Content-Type"] = MEDIA_TYPE
            options["body"] = body
        return self._http.send(method, path, **options)


def _object(answer: Response) -> JsonObject:
    values = _read(_expected(answer))
    if not values:
        return {}
    if len(values) != 1 or not isinstance(values[0], dict):
        raise answer.unexpected("YAML")
    return values[0]


def _documents(answer: Response) -> list[JsonObject]:
    return _objects(answer, _read(_expected(answer)))


def _read(answer: Response) -> list[Any]:
    try:
        return read_documents(answer.body, LIMITS)
    except YamlFault as fault:
        detail = f"answered {answer.status} with YAML that cannot be read ({fault.faults[0]})"
        raise Unavailable(SYSTEM, answer.operation, detail) from fault


def _objects(answer: Response, values: Any) -> list[JsonObject]:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise answer.unexpected("YAML")
    return values


def _expected(answer: Response) -> Response:
    if not answer.ok:
        raise _fault(answer)
    return answer


def _is_absent(answer: Response, *kinds: str) -> bool:
    """Return whether Deckhand itself answers that there is no such object, by the kind of its error."""
    if answer.status != 404:
        return False
    kind = kind_of(_status(answer))
    if not kind:
        # A 404 from a proxy or a wrong address must not make a revision unknown.
        said = "but not in Deckhand's words"
        raise Unavailable(SYSTEM, answer.operation, f"answered 404, {said}", code=404, said=said)
    return kind in kinds


def _denial(answer: Response) -> Denial:
    status = answer.scrubber.values(_status(answer))
    return Denial(answer.status, kind_of(status), status, _fault(answer))


def _fault(answer: Response) -> PeerError:
    """Return the error for an unsuccessful answer: below 500 a retry is useless, from 500 on the outcome is unknown.

    Deckhand's own ``retry`` is not asked: it is true with every 500, also with those that stay for ever.
    """
    if answer.status == 429 or (answer.restarting and not kind_of(_status(answer))):
        return answer.failure(_text(answer))
    kind = Refused if answer.status < 500 and answer.status != 408 else Unavailable
    code, said = None if answer.status in _LATER else answer.status, _text(answer)
    return kind(SYSTEM, answer.operation, answer.answered(said), code=code, said=said or "without a reason")


def _text(answer: Response) -> str:
    """Return the reason in one line, empty if there is none."""
    status = _status(answer)
    # From 500 on, the text may be a database error that quotes the statement with the documents.
    text = kind_of(status) if answer.status >= 500 else said_in(status)
    return answer.scrubber.line(text, LONGEST_DETAIL)


def _status(answer: Response) -> JsonObject:
    """Return the Status object in an answer; empty if it is none, such as a 401 of the middleware."""
    try:
        values = read_documents(answer.body, LIMITS)
    except YamlFault:
        return {}
    return values[0] if len(values) == 1 and isinstance(values[0], dict) else {}
