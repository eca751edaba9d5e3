"""What the adapter makes of a Deckhand that does odd things (contract deckhand, A13)."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shipyard_api.adapters.deckhand import translate
from shipyard_api.adapters.deckhand.client import DeckhandClient
from shipyard_api.adapters.deckhand.design_store import DeckhandDesigns
from shipyard_api.domain.documents import CONTROL, DOCUMENT, Change, Collection, Document, Revision, RevisionTag
from shipyard_api.domain.documents.document import with_defaults
from shipyard_api.domain.findings import DocumentRef
from shipyard_api.ports.documents import (
    DocumentElsewhere,
    Overtaken,
    RenderingFailed,
    SecondLayeringPolicy,
    UnknownRevision,
)
from shipyard_api.ports.errors import Busy, Refused, Unavailable
from tests.peer import Answer, Peer, Request
from tests.unit.adapters.deckhand.answers import documents, fault, several, single

THING = "example/Thing/v1"
POLICY = "deckhand/LayeringPolicy/v1"
PUT_A, PUT_B = "PUT /buckets/a/documents", "PUT /buckets/b/documents"
NONE = Revision(0)


@pytest.fixture
def designs(peer: Peer) -> Iterator[DeckhandDesigns]:
    client = DeckhandClient(peer.url, token=lambda: "any", read_pause=0.0)
    yield DeckhandDesigns(client, b"key")
    client.close()


def thing(name: str, data: Any = 1, *, schema: str = THING, layer: str = "site", **metadata: Any) -> Document:
    layering = {"layer": layer, **metadata.pop("layering", {})}
    about = {"schema": DOCUMENT, "name": name, "layeringDefinition": layering, **metadata}
    return Document(schema, name, layer, with_defaults(about), data)


def control(name: str, *, schema: str = POLICY) -> Document:
    return Document(schema, name, "", with_defaults({"schema": CONTROL, "name": name}), {})


def secret(name: str, data: Any, **metadata: Any) -> Document:
    return thing(name, data, storagePolicy="encrypted", **metadata)


def held(document: Document, bucket: str = "a", revision: int = 1) -> dict[str, Any]:
    """Return the document as Deckhand lists it."""
    return {"id": 99, **translate.entry_of(document), "status": {"bucket": bucket, "revision": revision}}


def listed(number: int, *tags: str, at: str = "2026-01-31T12:00:00.5") -> dict[str, Any]:
    return {"id": number, "createdAt": at, "buckets": [], "tags": list(tags)}


def there_are(peer: Peer, *revisions: dict[str, Any]) -> None:
    peer.on("GET /revisions", single({"count": len(revisions), "results": list(revisions)}))


def shown(peer: Peer, number: int, *, tags: Mapping[str, Any] | None = None, policies: Any = ()) -> None:
    body = {**listed(number), "tags": dict(tags or {}), "validationPolicies": list(policies), "status": "success"}
    peer.on(f"GET /revisions/{number}", single(body))


def holds(peer: Peer, number: int, *entries: dict[str, Any]) -> None:
    peer.on(f"GET /revisions/{number}/documents", several(*entries) if entries else Answer(200))


def put(
    designs: DeckhandDesigns, *documents: Document, collection: str = "a", base: int = 7, head: int = 7
) -> Revision | None:
    return designs.put(Collection(collection), documents, base=Revision(base), head=Revision(head))


@pytest.fixture
def seven(peer: Peer) -> None:
    """A Deckhand whose newest revision is 7, with ``x`` in bucket a and ``y`` in bucket b."""
    there_are(peer, listed(7))
    shown(peer, 7)
    holds(peer, 7, held(thing("x"), "a"), held(thing("y"), "b"))


# Revisions


def test_revisions_are_sorted_and_their_numbers_have_gaps(peer: Peer, designs: DeckhandDesigns) -> None:
    there_are(peer, listed(9, "committed"), listed(4, "committed", "site-action-failure"), listed(12), listed(2, "x"))
    assert designs.heads().head == 12
    assert designs.heads().newest == {RevisionTag.COMMITTED: 9, RevisionTag.SITE_ACTION_FAILURE: 4}
    peer.on("GET /revisions/9/tags", single({"committed": {"x": 1}}))
    found = designs.revisions(after=Revision(4), limit=5)
    assert [(one.revision, one.tags) for one in found] == [(9, {"committed": {"x": 1}}), (12, {})]
    assert found[0].created_at.isoformat() == "2026-01-31T12:00:00.500000+00:00"


def test_the_data_of_tags_is_asked_for_on_the_page_only(peer: Peer, designs: DeckhandDesigns) -> None:
    there_are(peer, *(listed(number, "t") for number in range(1, 50)))
    peer.on("GET /revisions/3/tags", single({"t": {}}))
    peer.on("GET /revisions/4/tags", fault(404, "RevisionNotFound"))  # somebody emptied the store in between
    assert [one.tags for one in designs.revisions(after=Revision(2), limit=2)] == [{"t": {}}, {}]
    assert len(peer.requests) == 3
    body = {**listed(7), "tags": {"t": {"x": 1}}, "url": "https://deckhand/api/v1.0/revisions/7"}  # not followed
    peer.on("GET /revisions/7", single(body))
    assert designs.revision(Revision(7)).tags == {"t": {"x": 1}}
    assert len(peer.requests) == 4


def test_a_number_that_would_break_deckhand_is_not_sent(peer: Peer, designs: DeckhandDesigns) -> None:
    for number in (-1, 2**31, 10**30):
        for call in (designs.documents, designs.rendered, designs.revision, designs.findings, designs.rollback):
            with pytest.raises(UnknownRevision):
                call(Revision(number))
    assert peer.requests == []


def test_the_older_revision_is_always_named_first(peer: Peer, designs: DeckhandDesigns) -> None:
    created, deleted, modified = Change.CREATED, Change.DELETED, Change.MODIFIED
    for base, new, path, told in (
        (3, 7, "3/diff/7", [created, deleted, modified]),
        (7, 3, "3/diff/7", [deleted, created, modified]),
        (7, 0, "0/diff/7", [deleted, created, modified]),
    ):
        peer.on(f"GET /revisions/{path}", single({"c": "modified", "a": "created", "b": "deleted"}))
        found = designs.differences(Revision(base), Revision(new))
        assert list(found.items()) == list(zip("abc", told, strict=True))


def test_what_is_no_list_of_revisions_or_no_document_is_no_answer(peer: Peer, designs: DeckhandDesigns) -> None:
    at = "2026-01-31T12:00:00"
    for entries in (
        [{"id": "7", "createdAt": at}],
        [{"id": True, "createdAt": at}],
        [listed(7, at="x")],
        [{"id": 7}],
        7,
    ):
        peer.on("GET /revisions", single({"results": entries}))
        with pytest.raises(Unavailable):
            designs.heads()
    for part in (
        *({"status": status} for status in ({"revision": 1}, {"bucket": "a"}, None)),
        *({"metadata": metadata} for metadata in ({}, None)),
        {"schema": None},
    ):
        holds(peer, 7, {**held(thing("x")), **part})
        with pytest.raises(Unavailable, match="a document without"):
            designs.documents(Revision(7))
    older = {"schema": DOCUMENT, "name": "x", "layeringDefinition": {"layer": "site"}}
    holds(peer, 7, {**held(thing("x")), "metadata": older})
    assert designs.documents(Revision(7))[0].document == thing("x")  # with its defaults


# Loads


BREAKING: dict[str, tuple[list[Document], str, str]] = {
    "a schema of two parts": ([thing("n", schema="example/Thing")], "a", "three parts"),
    "a long name": ([thing("n" * 65)], "a", "its name has 65 characters"),
    "a long schema": ([thing("n", schema=f"e/{'T' * 62}/v1")], "a", "its schema has 67"),
    "a long layer": ([thing("n", layer="l" * 65)], "a", "its layer has 65"),
    "a long collection": ([thing("n")], "c" * 37, "name has 37 characters"),
    "no collection": ([thing("n")], "", "name has 0 characters"),
    "twice the same": ([thing("n", 1), thing("n", 2)], "a", "occurs twice"),
}


@pytest.mark.usefixtures("seven")
def test_what_would_break_deckhand_is_refused_and_not_sent(peer: Peer, designs: DeckhandDesigns) -> None:
    for loaded, collection, told in BREAKING.values():
        with pytest.raises(Refused, match=told) as refused:
            put(designs, *loaded, collection=collection)
        assert refused.value.code == 400
    assert peer.changes == []


@pytest.mark.usefixtures("seven")
def test_head_owners_and_differences_are_looked_up_before_anything_is_sent(
    peer: Peer, designs: DeckhandDesigns
) -> None:
    assert put(designs, thing("x")) is None
    assert put(designs, collection="none") is None
    for head in (6, 8):
        with pytest.raises(Overtaken):
            put(designs, thing("n"), head=head)
    with pytest.raises(DocumentElsewhere):
        put(designs, thing("y"))
    holds(peer, 7, held(control("first"), "b"))
    with pytest.raises(SecondLayeringPolicy):
        put(designs, control("second"))
    assert peer.changes == []


@pytest.mark.usefixtures("seven")
def test_the_number_of_a_revision_is_read_from_the_answer_or_looked_up(peer: Peer, designs: DeckhandDesigns) -> None:
    for told in (
        several(held(thing("n"), revision=15)),
        several(held(thing("n"), revision=15), held(thing("m"), revision=7)),
        several({"status": {"bucket": "a", "revision": 15}}),  # something only went away
    ):
        peer.on(PUT_A, told)
        assert put(designs, thing("n"), thing("m")) == 15
    seven = single({"results": [listed(7)]})
    for untold in (Answer(200), several(held(thing("x"), revision=3))):
        peer.on(PUT_A, untold)
        peer.on("GET /revisions", seven, single({"results": [listed(9), listed(7)]}))
        assert put(designs, thing("n")) == 9
        peer.on("GET /revisions", seven)
        assert put(designs, thing("n")) is None


@pytest.mark.usefixtures("seven")
def test_a_validation_policy_is_sent_again_for_it_cannot_be_seen(peer: Peer, designs: DeckhandDesigns) -> None:
    peer.on(PUT_A, several(held(thing("x"), revision=8)))
    assert put(designs, thing("x"), control("p", schema="deckhand/ValidationPolicy/v1")) == 8
    shown(peer, 7, policies=[{"name": "p", "status": "success"}])
    assert put(designs, thing("x")) == 8


@pytest.mark.usefixtures("seven")
def test_a_conflict_all_the_same_means_that_somebody_else_wrote(peer: Peer, designs: DeckhandDesigns) -> None:
    seven = single({"results": [listed(7)]})
    for kind in ("DuplicateDocumentExists", "SingletonDocumentConflict"):
        peer.on(PUT_A, fault(409, kind))
        peer.on("GET /revisions", seven, single({"results": [listed(8)]}))
        with pytest.raises(Overtaken):
            put(designs, thing("n"))
        peer.on("GET /revisions", seven)
        with pytest.raises(Refused, match="answered 409: no"):
            put(designs, thing("n"))


@pytest.mark.usefixtures("seven")
def test_a_layering_policy_is_renamed_in_two_loads(peer: Peer, designs: DeckhandDesigns) -> None:
    holds(peer, 7, held(control("first")))
    peer.on(
        PUT_A,
        fault(409, "SingletonDocumentConflict"),
        several(held(thing("n"), revision=8)),
        several(held(thing("n"), revision=9)),
    )
    assert put(designs, thing("n"), control("second")) == 9
    names = [[one["metadata"]["name"] for one in documents(request)] for request in peer.asked(PUT_A)]
    assert names == [["n", "second"], ["n"], ["n", "second"]]


@pytest.mark.usefixtures("seven")
def test_a_load_whose_answer_is_lost_may_be_repeated(peer: Peer, designs: DeckhandDesigns) -> None:
    peer.on(PUT_A, several(held(thing("n"), revision=8), status=200), fault(500, "DBDuplicateEntry"))
    peer.answers[PUT_A][0].cut = 5
    for _ in range(2):
        with pytest.raises(Unavailable):
            put(designs, thing("n"))
    there_are(peer, listed(7), listed(8))
    shown(peer, 8)
    holds(peer, 8, held(thing("n"), revision=8))
    with pytest.raises(Overtaken):
        put(designs, thing("n"))
    assert put(designs, thing("n"), base=8, head=8) is None


def test_a_secret_is_compared_with_the_one_in_the_design(peer: Peer, designs: DeckhandDesigns) -> None:
    there_are(peer, listed(7))
    shown(peer, 7)
    holds(peer, 7, held(secret("s", "http://barbican/v1/secrets/1")))
    peer.on("GET /revisions/7/rendered-documents", several(held(secret("s", "word"))))
    peer.on(PUT_A, several(held(secret("s", "http://barbican/v1/secrets/2"), revision=8)))
    assert put(designs, secret("s", "word")) is None
    assert put(designs, secret("s", "another")) == 8
    peer.on("GET /revisions/7/rendered-documents", fault(409, "LayeringPolicyNotFound"))
    assert put(designs, secret("s", "word")) == 8


@pytest.mark.usefixtures("seven")
def test_a_load_that_fails_otherwise_says_how(peer: Peer, designs: DeckhandDesigns) -> None:
    answers: list[tuple[Answer, type[Exception]]] = [
        (fault(400, "InvalidDocumentFormat", "a shape"), Refused),
        (fault(403, "HTTPForbidden"), Refused),
        (Answer(429), Busy),
        (fault(500, "DBError"), Unavailable),
    ]
    for answer, error in answers:
        peer.on(PUT_A, answer)
        with pytest.raises(error):
            put(designs, thing("n"))
    assert peer.changes == [PUT_A] * len(answers)


# Rollback


def rolled_back(peer: Peer, **changes: str) -> None:
    """Let a rollback to 3 make 8, of which Deckhand says that it differs so."""
    peer.on("POST /rollback/3", single({"id": 8, "buckets": []}, status=201))
    peer.on("GET /revisions/3/diff/8", single(changes))
    shown(peer, 3)


def test_a_good_rollback_is_left_alone(peer: Peer, designs: DeckhandDesigns) -> None:
    rolled_back(peer, a="unmodified", b="unmodified")
    assert designs.rollback(Revision(3)) == 8
    assert peer.changes == ["POST /rollback/3"]
    assert peer.asked("POST /rollback/3")[0].body == b""


def test_a_rollback_that_brought_back_something_else_is_put_right(peer: Peer, designs: DeckhandDesigns) -> None:
    rolled_back(peer, a="modified", b="modified", c="unmodified", d="created")
    other = held(thing("z"), "c")
    holds(peer, 3, held(thing("x", 3)), held(thing("y", 3), "b"), other)
    holds(peer, 8, held(thing("x", 1)), held(thing("y", 1)), other, held(thing("gone"), "d"))
    holds(peer, 12, held(thing("x", 3), revision=11), held(thing("y", 3), "b", 12), other)
    peer.on(PUT_A, several({"status": {"bucket": "a", "revision": 9}}), several(held(thing("x", 3), revision=10)))
    peer.on(PUT_B, several(held(thing("y", 3), "b", 11)))
    peer.on("PUT /buckets/d/documents", several({"status": {"bucket": "d", "revision": 12}}))
    peer.on("GET /revisions/3/diff/12", single(dict.fromkeys("abc", "unmodified")))
    assert designs.rollback(Revision(3)) == 12
    # Bucket b cannot have y before a has let it go.
    assert peer.changes == ["POST /rollback/3", PUT_A, PUT_A, PUT_B, "PUT /buckets/d/documents"]
    sent = [[(one["metadata"]["name"], one["data"]) for one in documents(put)] for put in _puts(peer)]
    assert sent == [[], [("x", 3)], [("y", 3)], []]


def _puts(peer: Peer) -> list[Request]:
    return [one for one in peer.requests if one.method == "PUT"]


def test_a_rollback_to_nothing_is_emptied(peer: Peer, designs: DeckhandDesigns) -> None:
    peer.on("POST /rollback/0", single({"id": 8}, status=201))
    peer.on("GET /revisions/0/diff/8", single({"a": "created"}))
    holds(peer, 8, held(thing("x")))
    peer.on(PUT_A, several({"status": {"bucket": "a", "revision": 9}}))
    holds(peer, 9)
    peer.on("GET /revisions/0/diff/9", single({}))
    assert designs.rollback(NONE) == 9
    assert peer.asked(PUT_A)[0].body == b""


def test_a_rollback_that_stays_wrong_is_reported(peer: Peer, designs: DeckhandDesigns) -> None:
    rolled_back(peer, a="modified", b="unmodified")
    holds(peer, 3, held(thing("x", 3)))
    holds(peer, 8, held(thing("x", 3)))
    with pytest.raises(Refused, match="held in a, and the others are not visible to Shipyard's account"):
        designs.rollback(Revision(3))
    assert peer.changes == ["POST /rollback/3"]

    holds(peer, 8, held(thing("x", 1)))
    peer.on("GET /revisions/3/diff/9", single({"a": "modified"}))
    for loaded, told in ((1, "in a, and loading it again did not help"), (3, "not visible to Shipyard's account")):
        peer.on(PUT_A, several(held(thing("x", loaded), revision=9)))
        holds(peer, 9, held(thing("x", loaded), revision=9))
        with pytest.raises(Refused, match=told):
            designs.rollback(Revision(3))


LAYERING = {"parentSelector": {"k": "v"}, "actions": [{"method": "merge", "path": "."}]}
SUBSTITUTIONS = [{"src": {"schema": THING, "name": "y", "path": "."}, "dest": {"path": "."}}]


def test_a_secret_comes_back_from_the_design(peer: Peer, designs: DeckhandDesigns) -> None:
    rolled_back(peer, a="modified")
    reference = "http://barbican/v1/secrets/"
    holds(peer, 3, held(secret("s", reference + "3")), held(thing("x", 3)))
    holds(peer, 8, held(secret("s", reference + "3")), held(thing("x", 1)))
    peer.on("GET /revisions/3/rendered-documents", several(held(secret("s", "word")), held(thing("x", 3))))
    peer.on(PUT_A, several(held(thing("x", 3), revision=9)))
    holds(peer, 9, held(secret("s", reference + "9"), revision=9), held(thing("x", 3), revision=9))
    peer.on("GET /revisions/3/diff/9", single({"a": "modified"}))
    assert designs.rollback(Revision(3)) == 9
    assert [one["data"] for one in documents(peer.asked(PUT_A)[0])] == ["word", 3]


HIDDEN: dict[str, tuple[Document, list[Document] | None]] = {
    "layered": (secret("s", "ref", layering=LAYERING), [secret("s", "word", layering=LAYERING)]),
    "substituted": (
        secret("s", "ref", substitutions=SUBSTITUTIONS),
        [secret("s", "word", substitutions=SUBSTITUTIONS)],
    ),
    "abstract or replaced": (secret("s", "ref"), []),
    "replaced by another layer": (secret("s", "ref"), [secret("s", "word", layer="global")]),
    "no longer a secret": (secret("s", "ref"), [thing("s", "word")]),
    "of no design": (secret("s", "ref"), None),
}


def test_a_secret_that_deckhand_does_not_show_is_not_guessed(peer: Peer, designs: DeckhandDesigns) -> None:
    rolled_back(peer, a="modified")
    holds(peer, 8)
    failed = fault(409, "LayeringPolicyNotFound")
    for document, design in HIDDEN.values():
        holds(peer, 3, held(document))
        answer = failed if design is None else several(*map(held, design)) if design else Answer(200)
        peer.on("GET /revisions/3/rendered-documents", answer)
        with pytest.raises(Refused, match="does not show the secrets of example/Thing/v1 's'"):
            designs.rollback(Revision(3))
    shown(peer, 3, policies=[{"name": "p"}])
    holds(peer, 3, held(thing("x", 3)))
    with pytest.raises(Refused, match="validation policies"):  # nor are those
        designs.rollback(Revision(3))
    assert set(peer.changes) == {"POST /rollback/3"}


def test_a_load_on_another_base_rolls_back_first(peer: Peer, designs: DeckhandDesigns) -> None:
    there_are(peer, listed(3), listed(7))
    rolled_back(peer, b="unmodified")
    holds(peer, 3, held(thing("y"), "b"))
    peer.on(PUT_A, several(held(thing("n"), revision=9)))
    assert put(designs, thing("n"), base=3) == 9
    assert peer.changes == ["POST /rollback/3", PUT_A]


# Tags


def test_a_tag_is_never_set_twice(peer: Peer, designs: DeckhandDesigns) -> None:
    peer.on("DELETE /revisions/7/tags/t", Answer(204))
    peer.on("POST /revisions/7/tags/t", single({"t": {"x": 1}}, status=201))
    present: list[tuple[Mapping[str, Any], list[str]]] = [
        ({}, ["POST"]),
        ({"other": {"x": 1}}, ["POST"]),
        ({"t": {"x": 2}}, ["DELETE", "POST"]),
        ({"t": None}, ["DELETE", "POST"]),
        ({"t": {"x": 1}}, []),
    ]
    for tags, changes in present:
        peer.requests.clear()
        shown(peer, 7, tags=tags)
        designs.tag(Revision(7), "t", {"x": 1})
        assert [one.method for one in peer.requests if one.method != "GET"] == changes, tags
        assert peer.asked("GET /revisions/7/tags/t") == []


def test_a_tag_that_would_break_deckhand_is_not_sent(peer: Peer, designs: DeckhandDesigns) -> None:
    peer.on("GET /revisions/9", fault(404, "RevisionNotFound"))
    with pytest.raises(UnknownRevision):
        designs.tag(Revision(9), "t", {})
    shown(peer, 7)
    with pytest.raises(Refused, match="is a mapping"):
        designs.tag(Revision(7), "t", ["a"])  # type: ignore[arg-type]
    for name in ("", "t" * 65):
        with pytest.raises(Refused, match="allowed are 1 to 64"):
            designs.tag(Revision(7), name, {})
    assert peer.changes == []


# Designs

RENDERED = "GET /revisions/7/rendered-documents"


def test_a_layering_policy_of_another_revision_is_left_out(peer: Peer, designs: DeckhandDesigns) -> None:
    holds(peer, 7, held(thing("x")))
    peer.on(RENDERED, several(held(thing("x")), held(control("of revision 3"))))
    assert [one.document.name for one in designs.rendered(Revision(7)).documents] == ["x"]


def test_when_nobody_knows_what_is_secret_everything_is(
    peer: Peer, designs: DeckhandDesigns, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_documents: object) -> frozenset[tuple[str, str]]:
        raise RuntimeError("as scripted")

    monkeypatch.setattr(translate, "secret_keys", fail)
    holds(peer, 7, held(thing("x")))
    peer.on(RENDERED, several(held(thing("x"))))
    assert all(one.secret for one in designs.rendered(Revision(7)).documents)


FINDINGS = {
    "InvalidDocumentLayer": (400, "layer moon"),
    "MissingDocumentKey": (400, "no key"),
    "SubstitutionSourceNotFound": (409, "no source"),
    "LayeringPolicyNotFound": (409, "no policy"),
    "UnknownSubstitutionError": (500, ""),
    "JsonPathParserError": (500, "near token"),
    "InvalidDocumentFormat": (500, "bad"),
}
NO_FINDINGS: list[tuple[Answer, type[Exception]]] = [
    (fault(400, "HTTPInvalidParam"), Refused),
    (fault(400, "InvalidInputException"), Refused),
    (fault(403, "HTTPForbidden"), Refused),
    (Answer(400, b"<html>"), Refused),
    (fault(409, ""), Refused),
    (fault(500, "RuntimeError"), Unavailable),
    (fault(500, "DBError"), Unavailable),
    (Answer(500, b"<html>"), Unavailable),
    (Answer(504), Unavailable),
]


def test_what_is_wrong_with_a_design_is_a_finding_and_what_is_wrong_with_deckhand_none(
    peer: Peer, designs: DeckhandDesigns
) -> None:
    holds(peer, 7, held(thing("x")))
    for name, (status, message) in FINDINGS.items():
        peer.requests.clear()
        peer.on(RENDERED, fault(status, name, message))
        with pytest.raises(RenderingFailed) as caught:
            designs.rendered(Revision(7))
        [found] = caught.value.findings
        assert (found.name, found.source, bool(found.message)) == (name, "Deckhand", True)
        assert len(peer.asked(RENDERED)) == 1
    for answer, error in NO_FINDINGS:
        peer.on(RENDERED, answer)
        with pytest.raises(error):
            designs.rendered(Revision(7))


# Reports

REPORTS = "GET /revisions/7/validations/detail"


def test_reported_failures_are_findings(peer: Peer, designs: DeckhandDesigns) -> None:
    section = {"error_section": {"x": 1}, "path": ".x", "validation_schema": THING, "schema_path": ".properties.x"}
    about = {"name": "x", "schema": THING}
    reports = [
        {"id": 0, "name": "deckhand-schema-validation", "status": "failure", "errors": [{**section, **about}]},
        {"id": 1, "name": "promenade-site-validation", "status": "failure", "errors": [{"message": "no"}, "plain"]},
        {"id": 2, "name": "silent-validation", "status": "failure", "errors": []},
        {"id": 3, "name": "good-validation", "status": "success", "errors": []},
        {"id": 4, "name": "other-validation", "status": "ignored [failure]", "errors": [{"message": "unheard"}]},
    ]
    peer.on(REPORTS, single({"count": 5, "results": reports}))
    holds(peer, 7, held(thing("x")))
    first, *others = designs.findings(Revision(7))
    assert first.documents == (DocumentRef(THING, "x"),)
    assert first.diagnostic == f'Section: {{"x": 1}} at .x (schema {THING} at .properties.x)'
    assert [(one.name, one.message, one.diagnostic) for one in others] == [
        ("promenade-site-validation", "no", ""),
        ("promenade-site-validation", "plain", ""),
        ("silent-validation", "The validation silent-validation failed, without a word why.", ""),
    ]
    assert {one.source for one in (first, *others)} == {"Deckhand"}


def test_that_nothing_was_reported_may_mean_that_there_is_no_revision(peer: Peer, designs: DeckhandDesigns) -> None:
    peer.on(REPORTS, single({"count": 0, "results": []}))
    shown(peer, 7)
    assert designs.findings(Revision(7)) == ()
    peer.on("GET /revisions/7", fault(404, "RevisionNotFound"))
    with pytest.raises(UnknownRevision):
        designs.findings(Revision(7))


# Fingerprints


def test_a_fingerprint_depends_on_the_key(designs: DeckhandDesigns, peer: Peer) -> None:
    other = DeckhandDesigns(DeckhandClient(peer.url, token=lambda: "any"), b"other")
    assert designs.fingerprint(b"word") == hmac.new(b"key", b"word", hashlib.sha256).hexdigest()
    assert other.fingerprint(b"word") != designs.fingerprint(b"word")
