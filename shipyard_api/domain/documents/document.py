"""What a document, a collection, a revision and a version are, and what makes two documents the same.

Contract: deckhand B1, B2, B4 and part C. Values inside a document are plain JSON values; whoever holds a document never
writes into them, so that documents may share what they hold.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NewType

from shipyard_api.domain.findings import DocumentRef

Collection = NewType("Collection", str)
"""Name of a set of documents that one writer owns; a bucket, in Deckhand's words."""

Revision = NewType("Revision", int)
"""Number of an immutable state of all collections; 0 is the empty state before the first."""

Identity = tuple[str, str, str]
"""Schema, layer and name: what may exist only once in a revision (B4)."""

Key = tuple[str, str]
"""Schema and name: what may exist only once in a design, and how documents name each other (B4)."""

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
"""The kinds whose data is a text (B1)."""

COLLECTION_LIMIT = 36
NAME_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Document:
    """One document: ``metadata`` with its defaults filled in and ``data`` as written."""

    schema: str
    name: str
    layer: str
    metadata: Mapping[str, Any]
    data: Any = field(repr=False)

    @property
    def identity(self) -> Identity:
        """What may exist only once in a revision."""
        return self.schema, self.layer, self.name

    @property
    def key(self) -> Key:
        """What may exist only once in a design."""
        return self.schema, self.name

    @property
    def ref(self) -> DocumentRef:
        """How findings name the document."""
        return DocumentRef(self.schema, self.name)

    @property
    def place(self) -> DocumentRef:
        """How findings name the document where its layer matters."""
        return DocumentRef(self.schema, self.name, self.layer)

    @property
    def is_control(self) -> bool:
        """Whether the document steers the others, and is neither layered nor substituted."""
        return self.metadata.get("schema") == CONTROL

    @property
    def is_concrete(self) -> bool:
        """Whether the document is part of the design itself, not only a parent for others."""
        return layering_of(self.metadata).get("abstract") is not True

    @property
    def is_encrypted(self) -> bool:
        """Whether the document asks to be kept where nobody can read it."""
        return self.metadata.get("storagePolicy") == "encrypted"

    @property
    def is_replacement(self) -> bool:
        """Whether the document stands in for its parent (B8)."""
        return self.metadata.get("replacement") is True


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of a revision: which collection holds it, and since which revision it has been as it is."""

    document: Document
    collection: Collection
    since: Revision


class Version(Enum):
    """Which revision a reader means, in the order in which a comparison takes its base."""

    SUCCESSFUL_SITE_ACTION = "successful_site_action"
    LAST_SITE_ACTION = "last_site_action"
    COMMITTED = "committed"
    BUFFER = "buffer"


class RevisionTag(Enum):
    """Marks on revisions that mean something to us (contract: deckhand, A11)."""

    COMMITTED = "committed"
    ROLLBACK_COMMIT = "rollback_commit"
    SITE_ACTION_SUCCESS = "site-action-success"
    SITE_ACTION_FAILURE = "site-action-failure"


class BufferMode(Enum):
    """What a load does when the buffer already holds something (contract: shipyard-rest, 5.2)."""

    REJECT_ON_CONTENTS = "rejectoncontents"
    APPEND = "append"
    REPLACE = "replace"


class Change(Enum):
    """How something stands in a later state, compared with an earlier one; the values are the words on the wire."""

    UNMODIFIED = "unmodified"
    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


def layering_of(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the layering of a document; control documents may carry anything under that key (B2), or nothing."""
    layering = metadata.get("layeringDefinition")
    return layering if isinstance(layering, Mapping) else {}


def with_defaults(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with what every answer shows, whether it was written or not (B2, Defaults)."""
    layering = metadata.get("layeringDefinition", {})
    filled = dict(metadata)
    filled.setdefault("storagePolicy", "cleartext")
    filled.setdefault("replacement", False)
    if isinstance(layering, Mapping):
        filled["layeringDefinition"] = {"abstract": False, **layering}
    return filled


def canonical(value: object) -> bytes:
    """Return the JSON text that is the same for equal values, whatever the order of their keys (part C1)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def find(documents: Iterable[Document], schema: str, name: str) -> Document | None:
    """Return the document of that schema and name, if there is exactly one."""
    found = [document for document in documents if document.schema == schema and document.name == name]
    return found[0] if len(found) == 1 else None
