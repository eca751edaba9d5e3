"""Our documents into Deckhand's, its answers and its complaints into ours; pure (contract deckhand, part A, B9)."""

import collections.abc
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents import (
    COLLECTION_LIMIT,
    LAYERING_POLICY,
    NAME_LIMIT,
    VALIDATION_POLICY,
    Change,
    Collection,
    Document,
    Identity,
    Key,
    RenderedDocument,
    Revision,
    StoredDocument,
    canonical,
    secret_keys,
)
from shipyard_api.domain.documents.document import layering_of, with_defaults
from shipyard_api.domain.findings import DocumentRef, Finding, Level
from shipyard_api.domain.json_types import JsonObject, member, objects, texts
from shipyard_api.ports.documents import DocumentElsewhere, SecondLayeringPolicy
from shipyard_api.ports.errors import Refused

SYSTEM = "Deckhand"
LARGEST_REVISION = 2**31 - 1  # a larger number makes Deckhand's database fail
TAG_LIMIT = 64  # characters
LONGEST_SECTION = 2000  # characters of a quoted part of a document
NOT_SPECIFIED = "not specified"
WITHHELD = "The data breaks the data schema of its kind; what Deckhand says is not shown: it may quote secrets."

# Errors of a design, although Deckhand answers 500 (A6, B6, B7).
_FAILURES_AS_500 = frozenset(
    {"InvalidDocumentFormat", "JsonPathLexerError", "JsonPathParserError", "UnknownSubstitutionError"}
)
# Errors of our request or our permissions, not of a design.
_OF_THE_REQUEST = frozenset({"InvalidInputException"})
# Payloads that Deckhand does not store as secrets.
_EMPTY: tuple[Any, ...] = ("", {}, [], None)


class UnexpectedAnswer(ValueError):
    """An answer has an unexpected structure."""


class Listed(Struct, frozen=True):
    """A revision in the list of revisions: tags without their data."""

    revision: Revision
    created_at: datetime
    tags: frozenset[str]


# Documents


def entry_of(document: Document) -> dict[str, Any]:
    """Return the document as sent to Deckhand."""
    return {"schema": document.schema, "metadata": document.metadata, "data": document.data}


def document_of(entry: JsonObject) -> Document:
    """Return a document from an answer. Raises UnexpectedAnswer."""
    schema, metadata = entry.get("schema"), entry.get("metadata")
    name = member(metadata, "name")
    if not (isinstance(schema, str) and isinstance(metadata, Mapping) and isinstance(name, str)):
        raise UnexpectedAnswer("a document without schema, metadata or name")
    layer = layering_of(metadata).get("layer")
    return Document(schema, name, layer if isinstance(layer, str) else "", with_defaults(metadata), entry.get("data"))


def stored_of(entry: JsonObject) -> StoredDocument:
    """Return a document from a list of those of a revision. Raises UnexpectedAnswer."""
    status = entry.get("status")
    if not isinstance(status, Mapping) or not isinstance(status.get("bucket"), str):
        raise UnexpectedAnswer("a document without a bucket")
    if (since := _revision(status.get("revision"))) is None:
        raise UnexpectedAnswer("a document without a revision")
    return StoredDocument(document_of(entry), Collection(status["bucket"]), since)


def rendered_of(entry: JsonObject, secrets: collections.abc.Collection[Key] | None) -> RenderedDocument:
    """Return a document of a design; ``secrets``: those that hold some (None: unknown). Raises UnexpectedAnswer."""
    stored = stored_of(entry)
    document = stored.document
    secret = secrets is None or document.key in secrets or document.is_encrypted
    return RenderedDocument(document, stored.collection, stored.since, secret)


def secrets_among(documents: Sequence[Document]) -> frozenset[Key] | None:
    """Return the documents of a design that hold secrets, or None if unknown: treat all as secret."""
    try:
        return secret_keys(documents)
    except Exception:  # noqa: BLE001 - no fault of a rendered design may reveal a secret
        return None


def made_by(answer: Iterable[JsonObject]) -> Revision | None:
    """Return the newest revision in the answer to a load, or None if it has none."""
    statuses = (status.get("status") for status in answer)
    numbers = (_revision(status.get("revision")) for status in statuses if isinstance(status, Mapping))
    return max((number for number in numbers if number is not None), default=None)


# Loads


def check_load(collection: Collection, documents: Sequence[Document], base: Iterable[StoredDocument]) -> None:
    """Raise for documents that Deckhand would handle wrongly, or answer with 500, on top of ``base``.

    Raises Refused for what it cannot keep, with the code that it should have for that, DocumentElsewhere and
    SecondLayeringPolicy (A4, A13).
    """
    if faults := list(_faults(collection, documents)):
        raise Refused(SYSTEM, f"put {collection}", "; ".join(faults), code=400)
    others = [stored for stored in base if stored.collection != collection]
    owners = {stored.document.identity: stored.collection for stored in others}
    for document in documents:
        if document.identity in owners:
            raise DocumentElsewhere(document, owners[document.identity])
    policies = [stored.document for stored in others if stored.document.schema == LAYERING_POLICY]
    for document in documents:
        if document.schema == LAYERING_POLICY:
            if policies:
                raise SecondLayeringPolicy(document, policies[0].name)
            policies.append(document)


def _faults(collection: Collection, documents: Sequence[Document]) -> Iterable[str]:
    if not 0 < len(collection) <= COLLECTION_LIMIT:
        yield f"the collection's name has {len(collection)} characters, allowed are 1 to {COLLECTION_LIMIT}"
    seen: set[Identity] = set()
    for document in documents:
        what = f"{document.schema} '{document.name}'"
        if document.identity in seen:
            yield f"{what} occurs twice"
        seen.add(document.identity)
        if len(document.schema.split("/")) != 3:
            yield f"{what}: a schema has three parts, as in example/Kind/v1"
        for part, text in (("schema", document.schema), ("name", document.name), ("layer", document.layer)):
            if len(text) > NAME_LIMIT:
                yield f"{what}: its {part} has {len(text)} characters, allowed are {NAME_LIMIT}"


def content(document: Document, *, with_data: bool = True) -> bytes:
    """Return the comparable content of a document, with or without its data."""
    return canonical([document.metadata, document.data if with_data else None])


def as_kept(document: Document) -> Document:
    """Return the document as Deckhand will show it: an empty payload is never secret (B9)."""
    if not document.is_encrypted or document.data not in _EMPTY:
        return document
    metadata = {**document.metadata, "storagePolicy": "cleartext"}
    return Document(document.schema, document.name, document.layer, metadata, document.data)


def has_hidden(documents: Iterable[Document]) -> bool:
    """Return whether any of these documents is one that Deckhand stores but never lists (A5)."""
    return any(document.schema == VALIDATION_POLICY for document in documents)


# Revisions


def number_of(entry: JsonObject) -> Revision:
    """Return the number of a revision. Raises UnexpectedAnswer."""
    if (number := _revision(entry.get("id"))) is None:
        raise UnexpectedAnswer("a revision without a number")
    return number


def created_at(entry: JsonObject) -> datetime:
    """Return when a revision was made; Deckhand omits the zone, which is UTC. Raises UnexpectedAnswer."""
    try:
        created = datetime.fromisoformat(str(entry.get("createdAt")))
    except ValueError as error:
        raise UnexpectedAnswer("a revision without a time") from error
    return created.replace(tzinfo=UTC) if created.tzinfo is None else created.astimezone(UTC)


def listed_of(entries: Iterable[JsonObject]) -> list[Listed]:
    """Return all revisions, oldest first. Raises UnexpectedAnswer."""
    listed = (
        Listed(number_of(entry), created_at(entry), frozenset(map(str, entry.get("tags") or ()))) for entry in entries
    )
    return sorted(listed, key=lambda entry: entry.revision)


def tags_of(tags: object) -> dict[str, JsonObject]:
    """Return the tags of a revision with their data; data of old tags that is no mapping is ignored."""
    if not isinstance(tags, Mapping):
        return {}
    return {name: data if isinstance(data, Mapping) else {} for name, data in tags.items()}


def changes_of(answer: JsonObject, base: Revision, new: Revision) -> dict[Collection, Change]:
    """Return the change of each collection to ``new``, from Deckhand's difference. Raises UnexpectedAnswer.

    Deckhand always takes the older revision as the base, and calls everything created if either is 0 (A8).
    """
    backwards = {Change.CREATED: Change.DELETED, Change.DELETED: Change.CREATED} if new < base else {}
    try:
        changes = {Collection(name): Change(word) for name, word in answer.items()}
    except ValueError as error:
        raise UnexpectedAnswer("an unknown word for a change") from error
    return {name: backwards.get(changes[name], changes[name]) for name in sorted(changes)}


# Errors


def kind_of(status: JsonObject) -> str:
    """Return Deckhand's kind of error; empty if the answer is no Status object."""
    kind = member(status, "details", "errorType")
    return kind if isinstance(kind, str) else ""


def said_in(status: JsonObject) -> str:
    """Return the error message."""
    said = texts([status.get("message"), *(message.get("message") for message in _messages(status))])
    return "; ".join(dict.fromkeys(filter(None, said)))


def is_about_the_design(code: int, kind: str) -> bool:
    """Return whether a rendering failed because of the documents, not because of the request or the account."""
    if code >= 500:
        return kind in _FAILURES_AS_500
    return code in (400, 409) and bool(kind) and not kind.startswith("HTTP") and kind not in _OF_THE_REQUEST


def rendering_findings(
    status: JsonObject, documents: Sequence[Document], secrets: collections.abc.Collection[Key] | None
) -> tuple[Finding, ...]:
    """Return why rendering failed: one finding for each of Deckhand's messages, and at least one."""
    kind = kind_of(status)
    quotable = _Quotable(documents, secrets)
    messages = _messages(status) or [{}]
    findings = (_failure(message, kind, str(status.get("message") or ""), quotable) for message in messages)
    return tuple(
        finding if finding.documents else replace(finding, documents=_named_in(finding.message, documents))
        for finding in findings
    )


def reported_findings(
    entries: Iterable[JsonObject], documents: Sequence[Document], secrets: collections.abc.Collection[Key] | None
) -> tuple[Finding, ...]:
    """Return reported failures, one finding for each error, without those that Deckhand was configured to ignore."""
    quotable = _Quotable(documents, secrets)
    findings: list[Finding] = []
    for entry in entries:
        if entry.get("status") != "failure":
            continue
        name = str(entry.get("name") or SYSTEM)
        errors = entry.get("errors")
        for error in errors if isinstance(errors, list) and errors else [{}]:
            message = error if isinstance(error, Mapping) else {"message": error}
            about = _documents_of(message) or _document_in(message)
            text = str(message.get("message") or f"The validation {name} failed, without a word why.")
            diagnostic = _diagnostic(message, about, quotable)
            if diagnostic and not quotable(about):
                text = WITHHELD
            findings.append(Finding(name, Level.ERROR, text, about, diagnostic=diagnostic, source=SYSTEM))
    return tuple(findings)


class _Quotable:
    """Decides whose data may appear in a message: documents without secrets and substitutions."""

    def __init__(self, documents: Sequence[Document], secrets: collections.abc.Collection[Key] | None) -> None:
        self._secrets = secrets
        self._known = {document.key for document in documents}
        self._patched = {document.key for document in documents if document.metadata.get("substitutions")}

    def __call__(self, about: Sequence[DocumentRef]) -> bool:
        keys = {(ref.schema, ref.name) for ref in about}
        if self._secrets is None or not keys or not keys <= self._known:
            return False
        return not keys & self._patched and not keys.intersection(self._secrets)


def _failure(message: JsonObject, kind: str, summary: str, quotable: _Quotable) -> Finding:
    about = _documents_of(message)
    name = str(message.get("name") or kind)
    text = str(message.get("message") or summary)
    if kind == "InvalidDocumentFormat" and not quotable(about):
        text = WITHHELD
    elif kind == "UnknownSubstitutionError":
        # The text of the inner error follows, which may quote the value.
        text = text.partition("Details:")[0].strip() or "A substitution cannot be done; Deckhand does not say which."
    diagnostic = _diagnostic(message, about, quotable)
    return Finding(name, Level.ERROR, text or kind, about, diagnostic=diagnostic, source=SYSTEM)


def _diagnostic(message: JsonObject, about: Sequence[DocumentRef], quotable: _Quotable) -> str:
    diagnostic = message.get("diagnostic")
    if isinstance(diagnostic, str) and diagnostic:
        return diagnostic if quotable(about) else ""
    parts = diagnostic if isinstance(diagnostic, Mapping) else message
    if not any(key in parts for key in ("error_section", "path", "validation_schema", "schema_path")):
        return ""
    section = _text(parts.get("error_section")) if quotable(about) else NOT_SPECIFIED
    path, schema, rule = (_text(parts.get(key)) for key in ("path", "validation_schema", "schema_path"))
    return f"Section: {section} at {path} (schema {schema} at {rule})"


def _text(value: object) -> str:
    if value is None or value == "":
        return NOT_SPECIFIED
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= LONGEST_SECTION else text[:LONGEST_SECTION] + "…"


def _messages(status: JsonObject) -> list[JsonObject]:
    return objects(member(status, "details", "messageList"))


def _documents_of(message: JsonObject) -> tuple[DocumentRef, ...]:
    return tuple(map(_ref, objects(message.get("documents"))))


def _named_in(text: str, documents: Iterable[Document]) -> tuple[DocumentRef, ...]:
    """Return the documents that a text names, in either of Deckhand's two forms."""
    return tuple(
        document.place
        for document in documents
        if any(
            re.search(rf"{re.escape(f'[{kind}] {document.name}')}(?![\w-])", text)
            for kind in (f"{document.schema}, {document.layer}", document.schema)
        )
    )


def _document_in(message: JsonObject) -> tuple[DocumentRef, ...]:
    """Return the document that an entry names, if any."""
    return (_ref(message),) if message.get("schema") and message.get("name") else ()


def _ref(entry: JsonObject) -> DocumentRef:
    return DocumentRef(*(str(entry.get(key) or "") for key in ("schema", "name", "layer")))


def _revision(value: object) -> Revision | None:
    return Revision(value) if isinstance(value, int) and not isinstance(value, bool) else None
