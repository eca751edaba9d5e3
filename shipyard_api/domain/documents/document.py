"""Documents, collections, revisions and versions, and the identity of documents.

Contract: deckhand B1, B2, B4 and part C. Values inside a document are plain JSON values. They are never changed in
place, because documents share them.
"""

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NewType

from msgspec import Struct

from shipyard_api.domain.findings import DocumentRef

Collection = NewType("Collection", str)
"""Name of a set of documents with one owner; Deckhand calls it a bucket."""

Revision = NewType("Revision", int)
"""Number of an immutable state of all collections; 0 is the empty state before the first."""

Identity = tuple[str, str, str]
"""Schema, layer and name: unique in a revision (B4)."""

Key = tuple[str, str]
"""Schema and name: unique in a design; documents refer to each other by them (B4)."""

DOCUMENT = "metadata/Document/v1"
CONTROL = "metadata/Control/v1"

LAYERING_POLICY = "deckhand/LayeringPolicy/v1"
DATA_SCHEMA = "deckhand/DataSchema/v1"
VALIDATION_POLICY = "deckhand/ValidationPolicy/v1"

TEXT_KINDS = frozenset(
    f"deckhand/{kind}/v1"
    for kind in (
        "Certificate",
        "CertificateAuthority",
        "CertificateAuthorityKey",
        "CertificateKey",
        "Passphrase",
        "PrivateKey",
        "PublicKey",
    )
)
"""Kinds whose data is a text (B1)."""

COLLECTION_LIMIT = 36
NAME_LIMIT = 64


class Document(Struct, frozen=True):
    """One document: ``metadata`` with its defaults filled in and ``data`` as written."""

    schema: str
    name: str
    layer: str
    metadata: Mapping[str, Any]
    data: Any

    def __repr__(self) -> str:
        """Return which document it is; its data may be secret."""
        return f"Document({self.ref})"

    @property
    def identity(self) -> Identity:
        """Unique in a revision."""
        return self.schema, self.layer, self.name

    @property
    def key(self) -> Key:
        """Unique in a design."""
        return self.schema, self.name

    @property
    def ref(self) -> DocumentRef:
        """Reference for findings."""
        return DocumentRef(self.schema, self.name)

    @property
    def place(self) -> DocumentRef:
        """Reference with the layer, for findings where it matters."""
        return DocumentRef(self.schema, self.name, self.layer)

    def at(self, path: str) -> DocumentRef:
        """Return the reference to a place in the document: a JSON pointer such as ``/metadata/replacement``."""
        return DocumentRef(self.schema, self.name, self.layer, path)

    @property
    def is_control(self) -> bool:
        """Whether this is a control document, which is neither layered nor substituted."""
        return self.metadata.get("schema") == CONTROL

    @property
    def is_concrete(self) -> bool:
        """Whether the document is part of the rendered design, not only a parent for others."""
        return layering_of(self.metadata).get("abstract") is not True

    @property
    def is_encrypted(self) -> bool:
        """Whether the document must be stored encrypted."""
        return self.metadata.get("storagePolicy") == "encrypted"

    @property
    def keeps_its_data(self) -> bool:
        """Whether a rendering shows the data as written, without layering or substitution."""
        return not layering_of(self.metadata).get("parentSelector") and not self.metadata.get("substitutions")

    @property
    def is_replacement(self) -> bool:
        """Whether the document replaces its parent (B8)."""
        return self.metadata.get("replacement") is True


class StoredDocument(Struct, frozen=True):
    """A document of a revision, with its collection and the revision in which it last changed."""

    document: Document
    collection: Collection
    since: Revision


class Version(Enum):
    """Named versions of the configdocs, in the order in which a comparison chooses its base."""

    SUCCESSFUL_SITE_ACTION = "successful_site_action"
    LAST_SITE_ACTION = "last_site_action"
    COMMITTED = "committed"
    BUFFER = "buffer"


class RevisionTag(Enum):
    """Revision tags that Shipyard uses (contract: deckhand, A11)."""

    COMMITTED = "committed"
    ROLLBACK_COMMIT = "rollback_commit"
    SITE_ACTION_SUCCESS = "site-action-success"
    SITE_ACTION_FAILURE = "site-action-failure"


class BufferMode(Enum):
    """What a load does when the buffer is not empty (contract: shipyard-rest, 5.2)."""

    REJECT_ON_CONTENTS = "rejectoncontents"
    APPEND = "append"
    REPLACE = "replace"


class Change(Enum):
    """Change of a document or collection between two revisions; the values are the words on the wire."""

    UNMODIFIED = "unmodified"
    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


def layering_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the layering definition; control documents may have anything or nothing under that key (B2)."""
    layering = metadata.get("layeringDefinition")
    return layering if isinstance(layering, Mapping) else {}


def with_defaults(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with defaults filled in (B2, Defaults)."""
    layering = metadata.get("layeringDefinition", {})
    filled = dict(metadata)
    filled.setdefault("storagePolicy", "cleartext")
    filled.setdefault("replacement", False)
    if isinstance(layering, Mapping):
        filled["layeringDefinition"] = {"abstract": False, **layering}
    return filled


def canonical(value: object) -> bytes:
    """Return the canonical JSON of a value: equal values have equal bytes (part C1)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def find(documents: Iterable[Document], schema: str, name: str) -> Document | None:
    """Return the document with this schema and name, if there is exactly one."""
    matching = [document for document in documents if document.schema == schema and document.name == name]
    return matching[0] if len(matching) == 1 else None
