"""What goes over the wire, and what each kind of answer means."""

from collections.abc import Callable
from typing import Any

import pytest

from shipyard_api import request_context
from shipyard_api.adapters.deckhand.client import DeckhandClient, Denial
from shipyard_api.ports.errors import Busy, PeerError, Refused, Unavailable
from shipyard_api.request_context import RequestContext
from tests.peer import Answer, Peer
from tests.unit.adapters.deckhand.answers import documents, fault, several, single
from tests.unit.adapters.tokens import Tokens
from tests.unit.tables import table

MARKER = "7f4d4d0e-3a2f-4d57-9d1b-0a51d5c0a6f3"
DOCUMENT = {"schema": "example/Thing/v1", "metadata": {"name": "a"}, "data": {"x": "1"}}
MIDDLEWARE = Answer(401, b"Authentication required: {", {"Content-Type": "text/plain"})


def client(url: str, **options: Any) -> DeckhandClient:
    tokens = Tokens()
    settings: dict[str, Any] = {"token": tokens, "renew_token": tokens.renew, "read_pause": 0.0}
    return DeckhandClient(url, **(settings | options))


Call = Callable[[DeckhandClient], object]
READS: dict[str, tuple[str, Call]] = {
    "revisions": ("GET /revisions", lambda deckhand: deckhand.revisions()),
    "revision": ("GET /revisions/7", lambda deckhand: deckhand.revision(7)),
    "tags": ("GET /revisions/7/tags", lambda deckhand: deckhand.tags(7)),
    "documents": ("GET /revisions/7/documents", lambda deckhand: deckhand.documents(7)),
    "rendered": ("GET /revisions/7/rendered-documents", lambda deckhand: deckhand.rendered(7)),
    "diff": ("GET /revisions/6/diff/7", lambda deckhand: deckhand.diff(6, 7)),
    "validations": ("GET /revisions/7/validations/detail", lambda deckhand: deckhand.validations(7)),
}
ONCE: dict[str, tuple[str, Call]] = {
    "put": ("PUT /buckets/design/documents", lambda deckhand: deckhand.put("design", [DOCUMENT])),
    "rollback": ("POST /rollback/7", lambda deckhand: deckhand.rollback(7)),
    "set tag": ("POST /revisions/7/tags/t", lambda deckhand: deckhand.set_tag(7, "t", {"x": 1})),
}
UNTAG = {"delete tag": ("DELETE /revisions/7/tags/t", lambda deckhand: deckhand.delete_tag(7, "t"))}
CALLS: dict[str, tuple[str, Call]] = {**READS, **ONCE, **UNTAG}
# A denial of these is handed on, for its reason matters.
DENIABLE = {"rendered", "put"}


def _do(name: str, deckhand: DeckhandClient) -> None:
    """Make the call, and raise what a denial stands for."""
    result = CALLS[name][1](deckhand)
    if isinstance(result, Denial):
        raise result.error


# Requests


@pytest.mark.parametrize("name", CALLS)
def test_every_request_says_who_asks_and_what_for(peer: Peer, name: str) -> None:
    peer.on(CALLS[name][0], Answer(403))
    with request_context.restored():
        request_context.begin(RequestContext(MARKER, "alice"))
        with pytest.raises(Refused) as caught:
            _do(name, client(peer.url))
    assert caught.value.system == "Deckhand"
    [request] = peer.requests
    assert request.headers["x-auth-token"] == "token-1"
    assert request.headers["x-context-marker"] == MARKER
    assert request.headers["x-end-user"] == "alice"


def test_without_a_marker_none_is_sent(peer: Peer) -> None:
    peer.on("GET /revisions", single({"count": 0, "results": []}))
    client(peer.url).revisions()
    assert "x-context-marker" not in peer.requests[0].headers
    assert peer.requests[0].headers["x-end-user"] == "shipyard"


@pytest.mark.parametrize("name", ONCE)
def test_what_changes_something_has_a_type_and_a_length(peer: Peer, name: str) -> None:
    peer.on(ONCE[name][0], single({"id": 8}, status=201))
    ONCE[name][1](client(peer.url))
    assert peer.requests[0].headers["content-type"] == "application/x-yaml"
    assert int(peer.requests[0].headers["content-length"]) == len(peer.requests[0].body)


def test_documents_are_sent_as_a_stream(peer: Peer) -> None:
    peer.on("PUT /buckets/design/documents", Answer(200))
    client(peer.url).put("design", [DOCUMENT, {**DOCUMENT, "data": "2026-01-31"}])
    assert documents(peer.requests[0]) == [DOCUMENT, {**DOCUMENT, "data": "2026-01-31"}]


def test_no_documents_are_an_empty_body(peer: Peer) -> None:
    peer.on("PUT /buckets/design/documents", Answer(200))
    assert client(peer.url).put("design", []) == []
    assert peer.requests[0].body == b""
    assert peer.requests[0].headers["content-length"] == "0"


def test_a_tag_without_data_has_no_body(peer: Peer) -> None:
    peer.on("POST /revisions/7/tags/t", single({"t": {}}, status=201))
    client(peer.url).set_tag(7, "t", {})
    client(peer.url).set_tag(7, "t", {"a": [1]})
    assert [documents(request) for request in peer.requests] == [[], [{"a": [1]}]]


def test_names_are_one_segment_of_the_path(peer: Peer) -> None:
    peer.on("PUT /buckets/..%2Fa%3Fb/documents", Answer(200))
    peer.on("DELETE /revisions/7/tags/a%2Fb", Answer(204))
    client(peer.url).put("../a?b", [])
    client(peer.url).delete_tag(7, "a/b")


def test_documents_are_always_asked_for_in_clear(peer: Peer) -> None:
    peer.on("GET /revisions/7/documents", Answer(200))
    peer.on("GET /revisions/7/rendered-documents", Answer(200))
    deckhand = client(peer.url)
    deckhand.documents(7)
    deckhand.documents(7, "a&b=c")
    deckhand.rendered(7)
    clear = ("cleartext-secrets", "true")
    assert [one.query for one in peer.requests] == [[clear], [clear, ("status.bucket", "a&b=c")], [clear]]


# Tokens


@pytest.mark.parametrize("name", CALLS)
def test_a_refused_token_is_renewed_and_the_request_sent_once_more(peer: Peer, name: str) -> None:
    peer.on(CALLS[name][0], MIDDLEWARE, single({"results": []}))
    CALLS[name][1](client(peer.url))
    assert [one.headers["x-auth-token"] for one in peer.requests] == ["token-1", "token-2"]
    assert peer.requests[0].body == peer.requests[1].body


@pytest.mark.parametrize("name", sorted(set(CALLS) - DENIABLE))
def test_a_second_refusal_of_the_token_is_final(peer: Peer, name: str) -> None:
    peer.on(CALLS[name][0], MIDDLEWARE)
    with pytest.raises(Refused, match="answered 401 without a reason"):
        CALLS[name][1](client(peer.url))
    assert len(peer.requests) == 2


@pytest.mark.parametrize("name", sorted(DENIABLE))
def test_a_second_refusal_of_the_token_is_a_denial_without_a_word(peer: Peer, name: str) -> None:
    peer.on(CALLS[name][0], MIDDLEWARE)
    denial = CALLS[name][1](client(peer.url))
    assert (denial.code, denial.kind, type(denial.error)) == (401, "", Refused)


# Answers


def test_one_document_several_or_none_are_read(peer: Peer) -> None:
    other = {**DOCUMENT, "data": {"x": 2}}
    peer.on("GET /revisions/7/documents", Answer(200), single(DOCUMENT), several(DOCUMENT, other))
    deckhand = client(peer.url)
    assert [deckhand.documents(7) for _ in range(3)] == [[], [DOCUMENT], [DOCUMENT, other]]


def test_what_an_answer_holds_twice_is_read_twice(peer: Peer) -> None:
    shared = {"x": [1, 2]}
    answer = several({"a": shared, "b": shared, "c": [shared]}, {"a": shared, "b": shared})
    assert b"&id001" in answer.body
    peer.on("GET /revisions/7/documents", answer)
    found = client(peer.url).documents(7)
    assert found == [{"a": shared, "b": shared, "c": [shared]}, {"a": shared, "b": shared}]
    assert found[0]["a"] is not found[0]["b"]


def test_times_and_numbers_keep_their_type(peer: Peer) -> None:
    text = b"results:\n- {id: 7, createdAt: '2026-01-31T12:00:00.123456', tags: []}\n"
    peer.on("GET /revisions", Answer(200, text))
    assert client(peer.url).revisions() == [{"id": 7, "createdAt": "2026-01-31T12:00:00.123456", "tags": []}]


def test_an_answer_that_is_too_large_is_no_answer(peer: Peer) -> None:
    peer.on("GET /revisions", Answer(200, b"x" * 2_000))
    with pytest.raises(Unavailable, match="larger than 1000 bytes"):
        client(peer.url, largest_answer=1_000).revisions()


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"set tag", "delete tag"}))
@table(
    "answer",
    {
        "cut short": single(DOCUMENT, cut=5),
        "YAML cut short by its server": Answer(200, b"a: [1"),
        "not YAML": Answer(200, b"<html> &: - %"),
        "not text": Answer(200, b"\xff\xfe"),
        "another shape": single([1, 2]),
        "a circle": Answer(200, b"a: &x [*x]"),
        "an object": Answer(200, b"a: !!python/object:os.system x"),
        "a trap": Answer(200, b"[" * 100_000),
    },
)
def test_an_answer_that_cannot_be_used_is_unavailable(peer: Peer, name: str, answer: Answer) -> None:
    peer.on(CALLS[name][0], answer)
    with pytest.raises(Unavailable):
        CALLS[name][1](client(peer.url))


# Errors


@pytest.mark.parametrize("name", CALLS)
def test_a_peer_that_does_not_answer_is_unavailable(peer: Peer, name: str) -> None:
    peer.on(CALLS[name][0], Answer(hang=True))
    with pytest.raises(Unavailable, match="no answer"):
        CALLS[name][1](client(peer.url, read_timeout=0.1))
    assert len(peer.requests) == (2 if name == "delete tag" else 1)


@pytest.mark.parametrize("status", [502, 503, 504])
@pytest.mark.parametrize("name", [*READS, *UNTAG])
def test_what_does_no_harm_is_asked_again(peer: Peer, name: str, status: int) -> None:
    peer.on(CALLS[name][0], Answer(status, b"<html>"), single({"results": []}))
    CALLS[name][1](client(peer.url))
    assert len(peer.requests) == 2


@pytest.mark.parametrize(
    "answer",
    [Answer(502, b"<html>"), Answer(503), Answer(504), single(DOCUMENT, cut=5), fault(500, "DBDuplicateEntry")],
    ids=["502", "503", "504", "cut short", "500"],
)
@pytest.mark.parametrize("name", ONCE)
def test_what_changes_something_is_asked_for_once(peer: Peer, name: str, answer: Answer) -> None:
    peer.on(CALLS[name][0], answer)
    with pytest.raises(Unavailable):
        CALLS[name][1](client(peer.url))
    assert len(peer.requests) == 1


@pytest.mark.parametrize("name", CALLS)
def test_a_500_is_not_asked_again_although_it_says_so(peer: Peer, name: str) -> None:
    peer.on(CALLS[name][0], fault(500, "RuntimeError"))
    with pytest.raises(Unavailable, match="answered 500: RuntimeError"):
        _do(name, client(peer.url))
    assert len(peer.requests) == 1


@table(
    ("answer", "error", "told"),
    {
        "400": (fault(400, "HTTPInvalidParam", "bad limit"), Refused, "answered 400: bad limit"),
        "403": (fault(403, "HTTPForbidden", "not you"), Refused, "answered 403: not you"),
        "404: wrong address": (fault(404, "HTTPRouteNotFound", "no route"), Refused, "404: no route"),
        "404: of a proxy": (Answer(404, b"<html>"), Unavailable, "not in Deckhand's words"),
        "405: no body": (Answer(405), Refused, "answered 405 without a reason"),
        "302: a login page": (Answer(302, b"<html>"), Refused, "answered 302"),
        "408: a proxy gave up": (Answer(408), Unavailable, "answered 408"),
        "429": (Answer(429, b"", {"Retry-After": "7"}), Busy, "answered 429"),
        "503": (Answer(503, b"", {"Retry-After": "7"}), Unavailable, "answered 503"),
        "400: not YAML": (Answer(400, b"[" * 1_000), Refused, "without a reason"),
        "400: another shape": (Answer(400, b"details: []"), Refused, "without a reason"),
    },
)
def test_an_error_says_whether_asking_again_helps(
    peer: Peer, answer: Answer, error: type[PeerError], told: str
) -> None:
    peer.on("GET /revisions/7", answer)
    with pytest.raises(error, match=told) as caught:
        client(peer.url).revision(7)
    assert type(caught.value) is error
    assert (caught.value.system, caught.value.operation) == ("Deckhand", "GET /revisions/7")


@pytest.mark.parametrize("name", [name for name in READS if name != "revisions"])
@pytest.mark.parametrize("kind", ["RevisionNotFound", "HTTPNotFound"])
def test_deckhands_own_404_says_that_there_is_no_such_revision(peer: Peer, name: str, kind: str) -> None:
    peer.on(READS[name][0], fault(404, kind))
    assert READS[name][1](client(peer.url)) is None


def test_rolling_back_to_no_such_revision_is_no_error(peer: Peer) -> None:
    peer.on("POST /rollback/7", fault(404, "RevisionNotFound"))
    assert client(peer.url).rollback(7) is None


def test_a_tag_that_is_gone_already_is_no_error(peer: Peer) -> None:
    peer.on("DELETE /revisions/7/tags/t", Answer(502), fault(404, "RevisionTagNotFound"))
    client(peer.url).delete_tag(7, "t")


def test_a_denied_load_says_why(peer: Peer) -> None:
    message = {"message": "already there", "error": True}
    peer.on("PUT /buckets/design/documents", fault(409, "DuplicateDocumentExists", "Conflict.", message, message))
    denial = client(peer.url).put("design", [DOCUMENT])
    assert (denial.code, denial.kind) == (409, "DuplicateDocumentExists")
    assert denial.error.detail == "answered 409: Conflict.; already there"


def test_a_breakage_is_told_without_the_text_of_a_database(peer: Peer) -> None:
    text = "(psycopg2.DataError) [parameters: {'data': 'kept-from-everyone'}]"
    peer.on("PUT /buckets/design/documents", fault(500, "DBError", text))
    with pytest.raises(Unavailable, match="answered 500: DBError") as caught:
        client(peer.url).put("design", [DOCUMENT])
    assert "kept-from-everyone" not in str(caught.value)


def test_long_and_broken_texts_of_deckhand_become_one_short_line(peer: Peer) -> None:
    peer.on("GET /revisions", fault(400, "HTTPBadRequest", "line one\n  line two " + "x" * 1000))
    with pytest.raises(Refused) as caught:
        client(peer.url).revisions()
    assert "line one line two x" in caught.value.detail
    assert len(caught.value.detail) < 450
