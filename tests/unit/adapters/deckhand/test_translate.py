"""What Deckhand's complaints become, and what may not be quoted of them."""

from typing import Any

import pytest

from shipyard_api.adapters.deckhand import translate
from shipyard_api.domain.documents import (
    DOCUMENT,
    LAYERING_POLICY,
    VALIDATION_POLICY,
    Collection,
    Document,
    RenderedDocument,
    Revision,
    StoredDocument,
)
from shipyard_api.domain.documents.document import with_defaults
from shipyard_api.domain.findings import DocumentRef, Level
from shipyard_api.ports.documents import SecondLayeringPolicy
from tests.unit.tables import every_row

THING = "example/Thing/v1"
WORD = "kept-from-everyone"
SUBSTITUTIONS = [{"src": {"schema": THING, "name": "plain", "path": "."}, "dest": {"path": ".x"}}]


def thing(name: str, **metadata: Any) -> Document:
    about = {"schema": DOCUMENT, "name": name, "layeringDefinition": {"layer": "site"}, **metadata}
    return Document(THING, name, "site", with_defaults(about), {})


DOCUMENTS = [
    thing("plain"),
    thing("sealed", storagePolicy="encrypted"),
    thing("patched", substitutions=SUBSTITUTIONS),
    thing("heir"),  # of a document that holds a secret
]
SECRETS = frozenset({(THING, "sealed"), (THING, "heir")})


def complaint(name: str, **entry: Any) -> dict[str, Any]:
    documents = [{"schema": THING, "layer": "site", "name": name}] if name else []
    return {"name": "D002", "error": True, "message": f"'{WORD}' is wrong", "documents": documents, **entry}


def status(kind: str, *entries: Any, message: str = "It failed.") -> dict[str, Any]:
    return {"kind": "Status", "message": message, "details": {"errorType": kind, "messageList": list(entries)}}


DIAGNOSTIC = {"error_section": {"word": WORD}, "schema_path": ".properties.word", "validation_schema": THING}


@every_row(
    {
        "plain": ("plain", SECRETS, True),
        "encrypted": ("sealed", SECRETS, False),
        "took a secret": ("heir", SECRETS, False),
        "has substitutions": ("patched", SECRETS, False),
        "unknown": ("stranger", SECRETS, False),
        "unnamed": ("", SECRETS, False),
        "nobody knows what is secret": ("plain", None, False),
    },
)
def test_only_what_holds_no_secret_is_quoted(name: str, secrets: frozenset[Any] | None, quoted: bool) -> None:
    failed = status("InvalidDocumentFormat", complaint(name, diagnostic=DIAGNOSTIC))
    [found] = translate.rendering_findings(failed, DOCUMENTS, secrets)
    assert (found.name, found.level, found.source) == ("D002", Level.ERROR, "Deckhand")
    assert found.documents == ((DocumentRef(THING, name, "site"),) if name else ())
    section = f'{{"word": "{WORD}"}}' if quoted else "not specified"
    assert found.diagnostic == f"Section: {section} at not specified (schema {THING} at .properties.word)"
    assert (WORD in found.message) is quoted
    assert found.message


@every_row([f"about {WORD}", None, "", [WORD], {}, {"other": WORD}])
def test_a_diagnostic_in_words_is_kept_where_it_may_be(diagnostic: Any) -> None:
    failed = status("InvalidDocumentFormat", *(complaint(name, diagnostic=diagnostic) for name in ("plain", "sealed")))
    plain, sealed = translate.rendering_findings(failed, DOCUMENTS, SECRETS)
    assert plain.diagnostic == (diagnostic if isinstance(diagnostic, str) else "")
    assert sealed.diagnostic == ""


def test_every_message_is_a_finding_and_so_is_a_failure_without_one() -> None:
    entries = [complaint("plain", message=text) for text in ("one", "two")]
    failed = status("InvalidDocumentFormat", *entries, "noise", None)
    assert [one.message for one in translate.rendering_findings(failed, DOCUMENTS, SECRETS)] == ["one", "two"]
    kind = "InvalidDocumentLayer"
    for failed, told in (
        (status(kind), "It failed."),
        (status(kind, {"message": None, "error": True}), "It failed."),
        ({**status(kind), "details": {"errorType": kind, "messageList": None}}, "It failed."),
        (status(kind, message=""), kind),
    ):
        [found] = translate.rendering_findings(failed, DOCUMENTS, SECRETS)
        assert (found.name, found.message) == (kind, told)


def test_the_inside_of_a_failed_substitution_is_not_told() -> None:
    text = f"Substitution into [{THING}] patched failed. Details: bad escape in {WORD}"
    entry = {"message": text, "error": True}
    [found] = translate.rendering_findings(status("UnknownSubstitutionError", entry), DOCUMENTS, SECRETS)
    assert found.message == f"Substitution into [{THING}] patched failed."


@every_row(
    {
        "with its layer": (f"[{THING}, site] plain is wrong", ["plain"]),
        "two of them": (f"[{THING}] plain and [{THING}, site] heir.", ["plain", "heir"]),
        "others": (f"[{THING}, global] plain, [{THING}] plain-2, plain", []),
    },
)
def test_documents_that_a_message_names_are_found(text: str, named: list[str]) -> None:
    failed = status("InvalidDocumentParent", {"message": text, "error": True})
    [found] = translate.rendering_findings(failed, DOCUMENTS, SECRETS)
    assert found.documents == tuple(DocumentRef(THING, name, "site") for name in named)


def test_long_sections_are_cut() -> None:
    diagnostic = {**DIAGNOSTIC, "error_section": "x" * 10_000}
    failed = status("InvalidDocumentFormat", complaint("plain", diagnostic=diagnostic))
    [found] = translate.rendering_findings(failed, DOCUMENTS, SECRETS)
    assert 2_000 < len(found.diagnostic) < 2_200


def test_a_reported_failure_quotes_no_secret_either() -> None:
    errors = [
        {**DIAGNOSTIC, "message": f"'{WORD}' is wrong", "name": name, "schema": THING} for name in ("heir", "plain")
    ]
    heir, plain = translate.reported_findings(
        [{"name": "some-validation", "status": "failure", "errors": errors}], DOCUMENTS, SECRETS
    )
    assert WORD not in repr(heir)
    assert heir.diagnostic.startswith("Section: not specified at")
    assert plain.message == f"'{WORD}' is wrong"


@every_row(["", {}, [], None])
def test_an_empty_payload_is_no_secret(data: Any) -> None:
    document = Document(THING, "x", "site", {"storagePolicy": "encrypted"}, data)
    assert not translate.as_kept(document).is_encrypted
    for kept in (0, False, "a", [None]):
        assert translate.as_kept(Document(THING, "x", "site", {"storagePolicy": "encrypted"}, kept)).is_encrypted


@every_row(
    {
        "no secrets": ("plain", frozenset(), False),
        "of another": ("plain", frozenset({(THING, "heir")}), False),
        "of this one": ("heir", frozenset({(THING, "heir")}), True),
        "encrypted": ("sealed", frozenset(), True),
        "unknown": ("plain", None, True),
    },
)
def test_a_rendered_document_is_secret_if_it_holds_one_or_may_hold_one(
    name: str, secrets: frozenset[Any] | None, secret: bool
) -> None:
    [document] = [one for one in DOCUMENTS if one.name == name]
    entry = {**translate.entry_of(document), "status": {"bucket": "a", "revision": 3}}
    expected = RenderedDocument(document, Collection("a"), Revision(3), secret)
    assert translate.rendered_of(entry, secrets) == expected


def test_a_load_of_the_longest_names_is_taken_and_one_of_two_layering_policies_is_not() -> None:
    longest = Document(f"e/{'T' * 59}/v1", "n" * 64, "l" * 64, {}, {})
    translate.check_load(Collection("c" * 36), [longest, thing("n")], [])
    policies = [Document(LAYERING_POLICY, name, "", {}, {}) for name in ("one", "two")]
    translate.check_load(Collection("a"), policies[:1], [StoredDocument(policies[1], Collection("a"), Revision(1))])
    with pytest.raises(SecondLayeringPolicy, match="one"):
        translate.check_load(Collection("a"), policies, [])


def test_a_validation_policy_is_hidden_among_others() -> None:
    hidden = Document(VALIDATION_POLICY, "p", "", {}, {})
    found = [translate.has_hidden(documents) for documents in ([], [thing("x")], [thing("x"), hidden])]
    assert found == [False, False, True]


@every_row(["2026-03-02T09:00:00", "2026-03-02T09:00:00+00:00", "2026-03-02T11:00:00+02:00"])
def test_a_revision_was_made_at_a_time_of_utc(written: str) -> None:
    assert translate.created_at({"createdAt": written}).isoformat() == "2026-03-02T09:00:00+00:00"


def test_a_document_is_read_as_it_was_sent_whatever_deckhand_fills_in() -> None:
    document = thing("x", labels={"a": "b"}, substitutions=SUBSTITUTIONS)
    entry = {**translate.entry_of(document), "id": 7, "status": {"bucket": "a", "revision": 3}}
    assert translate.stored_of(entry) == StoredDocument(document, Collection("a"), Revision(3))
    short = {"schema": DOCUMENT, "name": "x", "layeringDefinition": {"layer": "site"}}
    entry = {"schema": THING, "metadata": short, "data": {}, "status": {"bucket": "a", "revision": 3}}
    assert translate.content(translate.stored_of(entry).document) == translate.content(thing("x"))
