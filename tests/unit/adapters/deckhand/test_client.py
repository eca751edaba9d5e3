"""What goes over the wire, and what each kind of answer means."""

from collections.abc import Callable
from typing import Any

import pytest

from shipyard_api.adapters.deckhand.client import DeckhandClient, Denial
from shipyard_api.observing import request_context
from shipyard_api.observing.request_context import RequestContext
from shipyard_api.ports.errors import Busy, Refused, Unavailable
from tests.peer import Answer, Peer
from tests.unit.adapters.deckhand.answers import documents, fault, several, single
from tests.unit.adapters.tokens import Tokens

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


def test_every_request_says_who_asks_and_what_for(peer: Peer) -> None:
    for name, (route, _) in CALLS.items():
        peer.on(route, Answer(403))
        with request_context.restored():
            request_context.begin(RequestContext(MARKER, "alice"))
            with pytest.raises(Refused) as caught:
                _do(name, client(peer.url))
        assert caught.value.system == "Deckhand"
        headers = peer.requests[-1].headers
        assert (headers["x-auth-token"], headers["x-context-marker"]) == ("token-1", MARKER), name
        assert headers["x-end-user"] == "alice", name
    assert len(peer.requests) == len(CALLS)


def test_what_changes_something_is_a_stream_of_documents_with_its_length(peer: Peer) -> None:
    deckhand = client(peer.url)
    peer.on("PUT /buckets/design/documents", Answer(200))
    loads = [[DOCUMENT, {**DOCUMENT, "data": "2026-01-31"}], []]
    assert [deckhand.put("design", load) for load in loads] == [[], []]
    peer.on("POST /revisions/7/tags/t", single({"t": {}}, status=201))
    deckhand.set_tag(7, "t", {})
    deckhand.set_tag(7, "t", {"a": [1]})
    assert [documents(request) for request in peer.requests] == [*loads, [], [{"a": [1]}]]
    for request in peer.requests:
        assert request.headers["content-type"] == "application/x-yaml"
        assert int(request.headers["content-length"]) == len(request.body)


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


def test_a_refused_token_is_renewed_once_and_the_request_sent_once_more(peer: Peer) -> None:
    for name, (route, call) in CALLS.items():
        peer.requests.clear()
        peer.on(route, MIDDLEWARE, single({"results": []}))
        call(client(peer.url))
        assert [one.headers["x-auth-token"] for one in peer.requests] == ["token-1", "token-2"], name
        assert peer.requests[0].body == peer.requests[1].body, name
        peer.on(route, MIDDLEWARE)
        if name in DENIABLE:
            denial = call(client(peer.url))
            assert (denial.code, denial.kind, type(denial.error)) == (401, "", Refused)
        else:
            with pytest.raises(Refused, match="answered 401 without a reason"):
                call(client(peer.url))
        assert len(peer.requests) == 4, name


# Answers


def test_one_document_several_or_none_are_read(peer: Peer) -> None:
    other = {**DOCUMENT, "data": {"x": 2}}
    peer.on("GET /revisions/7/documents", Answer(200), single(DOCUMENT), several(DOCUMENT, other))
    deckhand = client(peer.url)
    assert [deckhand.documents(7) for _ in range(3)] == [[], [DOCUMENT], [DOCUMENT, other]]


def test_what_a_revision_lacks_is_empty(peer: Peer) -> None:
    peer.on("GET /revisions/7/tags", Answer(200))
    reported = [{"name": "deckhand-schema-validation", "status": "success"}]
    peer.on("GET /revisions/7/validations/detail", single({"results": None}), single({"results": reported}))
    deckhand = client(peer.url)
    assert (deckhand.tags(7), deckhand.validations(7), deckhand.validations(7)) == ({}, [], reported)


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


UNUSABLE = {
    "cut short": single(DOCUMENT, cut=5),
    "YAML cut short by its server": Answer(200, b"a: [1"),
    "not YAML": Answer(200, b"<html> &: - %"),
    "not text": Answer(200, b"\xff\xfe"),
    "a circle": Answer(200, b"a: &x [*x]"),
    "an object": Answer(200, b"a: !!python/object:os.system x"),
    "a trap": Answer(200, b"[" * 100_000),
}


def test_an_answer_that_cannot_be_used_is_unavailable(peer: Peer) -> None:
    for answer in UNUSABLE.values():
        peer.on("GET /revisions/7/documents", answer)
        with pytest.raises(Unavailable):
            client(peer.url).documents(7)
    for name in ("revisions", "validations"):
        peer.on(CALLS[name][0], single({"results": 7}))
        with pytest.raises(Unavailable):
            CALLS[name][1](client(peer.url))
    for name in sorted(set(CALLS) - {"set tag", "delete tag"}):
        peer.on(CALLS[name][0], single([1, 2]))
        with pytest.raises(Unavailable):
            CALLS[name][1](client(peer.url))


# Errors


def test_only_what_does_no_harm_is_asked_again_and_never_after_a_500(peer: Peer) -> None:
    for name, (route, call) in CALLS.items():
        peer.requests.clear()
        peer.on(route, Answer(503, b"<html>"), single({"results": []}))
        if name in ONCE:
            with pytest.raises(Unavailable):
                call(client(peer.url))
        else:
            call(client(peer.url))
        assert len(peer.requests) == (1 if name in ONCE else 2), name
        peer.on(route, fault(500, "RuntimeError"))
        peer.requests.clear()
        with pytest.raises(Unavailable, match="answered 500: RuntimeError"):
            _do(name, client(peer.url))
        assert len(peer.requests) == 1, name


ERRORS = {
    "400": (fault(400, "HTTPInvalidParam", "bad limit"), Refused, "answered 400: bad limit"),
    "404: wrong address": (fault(404, "HTTPRouteNotFound", "no route"), Refused, "404: no route"),
    "404: of a proxy": (Answer(404, b"<html>"), Unavailable, "not in Deckhand's words"),
    "405: no body": (Answer(405), Refused, "answered 405 without a reason"),
    "408: a proxy gave up": (Answer(408), Unavailable, "answered 408"),
    "429": (Answer(429, b"", {"Retry-After": "7"}), Busy, "answered 429"),
    "502": (Answer(502), Unavailable, "answered 502"),
    "504": (Answer(504), Unavailable, "answered 504"),
    "409": (fault(409, "Conflict"), Refused, "answered 409"),
    "505": (Answer(505), Unavailable, "answered 505"),
    "503": (Answer(503, b"", {"Retry-After": "7"}), Unavailable, "answered 503"),
    "400: not YAML": (Answer(400, b"[" * 1_000), Refused, "without a reason"),
    "400: another shape": (Answer(400, b"details: []"), Refused, "without a reason"),
    "a database": (fault(500, "DBError", "[parameters: {'data': 'kept'}]"), Unavailable, "answered 500: DBError$"),
    "long lines": (fault(400, "X", "one\n  two " + "x" * 1000), Refused, "answered 400: one two x{100,420}[^x]*$"),
}


def test_an_error_says_whether_asking_again_helps(peer: Peer) -> None:
    for title, (answer, error, told) in ERRORS.items():
        peer.on("GET /revisions/7", answer)
        with pytest.raises(error, match=told) as caught:
            client(peer.url).revision(7)
        assert type(caught.value) is error, title
        assert (caught.value.system, caught.value.operation) == ("Deckhand", "GET /revisions/7")
        assert str(caught.value).endswith(caught.value.said), title
        says_nothing = error is Busy or answer.status in (408, 502, 503, 504)
        assert caught.value.code == (None if says_nothing else answer.status), title


def test_deckhands_own_404_says_that_there_is_no_such_revision(peer: Peer) -> None:
    reads = [call for name, call in READS.items() if name != "revisions"]
    for kind in ("RevisionNotFound", "HTTPNotFound"):
        for route, call in (*reads, ONCE["rollback"]):
            peer.on(route, fault(404, kind))
            assert call(client(peer.url)) is None, (route, kind)


def test_a_tag_that_is_gone_already_is_no_error(peer: Peer) -> None:
    for first in (Answer(502), Answer(504), Answer(204, cut=1)):
        peer.on("DELETE /revisions/7/tags/t", first, fault(404, "RevisionTagNotFound"))
        client(peer.url).delete_tag(7, "t")


def test_a_denied_load_says_why(peer: Peer) -> None:
    message = {"message": "already there", "error": True}
    peer.on("PUT /buckets/design/documents", fault(409, "DuplicateDocumentExists", "Conflict.", message, message))
    denial = client(peer.url).put("design", [DOCUMENT])
    assert (denial.code, denial.kind) == (409, "DuplicateDocumentExists")
    assert denial.error.detail == "answered 409: Conflict.; already there"
    peer.on("PUT /buckets/design/documents", fault(500, "DBError"))
    with pytest.raises(Unavailable):
        client(peer.url).put("design", [DOCUMENT])
