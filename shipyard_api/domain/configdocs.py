"""Documents of a site design: their shape, what makes two of them the same, and which versions there are.

Contract: deckhand part B (B1, B2) and part C. Layering and substitution are not done here yet: a revision's documents
are used as they are written, abstract ones left out (see ``concrete``).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NewType

from shipyard_api.domain.findings import DocumentRef, Finding, error
from shipyard_api.domain.nodes import Inventory, Node, NodeName

Collection = NewType("Collection", str)
"""Name of a set of documents that one writer owns; a bucket, in Deckhand's words."""

Revision = NewType("Revision", int)
"""Number of an immutable state of all collections; 0 is the empty state before the first."""

DOCUMENT = "metadata/Document/v1"
CONTROL = "metadata/Control/v1"

BAREMETAL_NODE = "drydock/BaremetalNode/v1"
HOST_PROFILE = "drydock/HostProfile/v1"

COLLECTION_LIMIT = 36
NAME_LIMIT = 64
# The words that Deckhand allows in a schema, and the digits that some of its own documents carry.
_SCHEMA = re.compile(r"[A-Za-z]+/[A-Za-z]+/v[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Document:
    """One document: ``metadata`` and ``data`` as written, as plain JSON values."""

    schema: str
    name: str
    layer: str
    metadata: Mapping[str, Any]
    data: Any

    @property
    def identity(self) -> tuple[str, str, str]:
        """What may exist only once in the whole store (contract: deckhand, B4)."""
        return self.schema, self.layer, self.name

    @property
    def ref(self) -> DocumentRef:
        """How findings name the document."""
        return DocumentRef(self.schema, self.name)

    @property
    def is_concrete(self) -> bool:
        """Whether the document is part of the design itself, not only a parent for others."""
        return not _layering(self.metadata).get("abstract", False)


class Version(Enum):
    """Which revision a reader means, in the order in which a comparison takes its base."""

    SUCCESSFUL_SITE_ACTION = "successful_site_action"
    LAST_SITE_ACTION = "last_site_action"
    COMMITTED = "committed"
    BUFFER = "buffer"


class RevisionTag(Enum):
    """Marks on revisions that mean something to us (contract: deckhand, A11)."""

    COMMITTED = "committed"
    SITE_ACTION_SUCCESS = "site-action-success"
    SITE_ACTION_FAILURE = "site-action-failure"


class BufferMode(Enum):
    """What a load does when the buffer already holds something (contract: shipyard-rest, 5.2)."""

    REJECT_ON_CONTENTS = "rejectoncontents"
    APPEND = "append"
    REPLACE = "replace"


def parse_documents(entries: Sequence[object]) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """Return the documents of a stream and what is wrong with their shape; all faults, not only the first."""
    documents: list[Document] = []
    findings: list[Finding] = []
    places: dict[tuple[str, str, str], int] = {}
    for position, entry in enumerate(entries, start=1):
        wrong = list(_shape_faults(entry, position))
        findings.extend(wrong)
        if wrong or not isinstance(entry, Mapping):
            continue
        document = _document(entry)
        if document.identity in places:
            findings.append(
                error(
                    "DuplicateDocument",
                    f"Documents {places[document.identity]} and {position} are both {document.schema} "
                    f"'{document.name}' of layer '{document.layer}'; a document may occur once.",
                ).about(document.ref)
            )
        places.setdefault(document.identity, position)
        documents.append(document)
    return tuple(documents), tuple(findings)


def concrete(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return the documents that make up the design."""
    return tuple(document for document in documents if document.is_concrete)


def find(documents: Iterable[Document], schema: str, name: str) -> Document | None:
    """Return the document of that schema and name, if there is exactly one."""
    found = [document for document in documents if document.schema == schema and document.name == name]
    return found[0] if len(found) == 1 else None


def inventory(documents: Iterable[Document]) -> Inventory:
    """Return the machines of a design, with what they inherit from their host profiles (contract: drydock, 8).

    Tags add up along the profiles, the node's own rack and labels win, and a leading ``!`` takes out an inherited tag
    or label. A profile that does not exist, or that is its own ancestor, ends the chain.
    """
    documents = list(documents)
    profiles = {document.name: document for document in documents if document.schema == HOST_PROFILE}
    return Inventory.of(_node(document, profiles) for document in documents if document.schema == BAREMETAL_NODE)


def _document(entry: Mapping[str, Any]) -> Document:
    metadata = entry["metadata"]
    layer = _layering(metadata).get("layer", "")
    return Document(
        entry["schema"], metadata["name"], layer if isinstance(layer, str) else "", metadata, entry.get("data", {})
    )


def _layering(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the layering of a document; control documents may carry anything under that key (B2), or nothing."""
    layering = metadata.get("layeringDefinition")
    return layering if isinstance(layering, Mapping) else {}


def _shape_faults(entry: object, position: int) -> Iterable[Finding]:
    """Yield what keeps an entry of the stream from being a document (contract: deckhand, B2 and C2)."""

    def fault(message: str, path: str = "") -> Finding:
        return error("D001", f"Document {position}: {message}", path=path)

    if not isinstance(entry, Mapping):
        yield fault("is empty or not a mapping; a document has the keys schema, metadata and data")
        return
    metadata = entry.get("metadata")
    if not isinstance(metadata, Mapping):
        yield fault("'metadata' is missing or not a mapping", "/metadata")
        metadata = {}
    name = metadata.get("name")
    known = f" ({_short(entry.get('schema'))}, {_short(name)})"
    schema = entry.get("schema")
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema) or len(schema) > NAME_LIMIT:
        yield fault(
            f"'schema' must be text of the form word/Word/v1 with at most {NAME_LIMIT} characters{known}", "/schema"
        )
    if not isinstance(name, str) or not name or len(name) > NAME_LIMIT or not name.isprintable():
        yield fault(f"'metadata.name' must be text of 1 to {NAME_LIMIT} printable characters{known}", "/metadata/name")
    layer = _layering(metadata).get("layer")
    if isinstance(layer, str) and (len(layer) > NAME_LIMIT or not layer.isprintable()):
        yield fault(
            f"the layer must be text of at most {NAME_LIMIT} printable characters{known}",
            "/metadata/layeringDefinition/layer",
        )
    kind = metadata.get("schema")
    if kind == DOCUMENT:
        yield from _document_faults(metadata, fault, known)
    elif kind != CONTROL:
        yield fault(f"'metadata.schema' must be {DOCUMENT} or {CONTROL}{known}", "/metadata/schema")


def _short(value: object) -> str:
    """Return what identifies a document in a message, without the rest of something that is far too long for it."""
    text = str(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}…"


def _document_faults(metadata: Mapping[str, Any], fault: Any, known: str) -> Iterable[Finding]:
    layering = metadata.get("layeringDefinition")
    if not isinstance(layering, Mapping) or not isinstance(layering.get("layer"), str) or not layering["layer"]:
        yield fault(
            f"'metadata.layeringDefinition.layer' must name the layer{known}", "/metadata/layeringDefinition/layer"
        )
    elif not isinstance(layering.get("abstract", False), bool):
        yield fault(
            f"'metadata.layeringDefinition.abstract' must be true or false{known}",
            "/metadata/layeringDefinition/abstract",
        )
    policy = metadata.get("storagePolicy")
    if policy == "encrypted":
        yield fault(
            f"has storagePolicy 'encrypted', and this release has no key to encrypt it with: it is refused rather than "
            f"stored in clear{known}",
            "/metadata/storagePolicy",
        )
    elif policy != "cleartext":
        yield fault(f"'metadata.storagePolicy' must be cleartext or encrypted{known}", "/metadata/storagePolicy")


def _node(document: Document, profiles: Mapping[str, Document]) -> Node:
    chain: list[Document] = [document]
    seen = set()
    while True:
        data = chain[-1].data
        parent = data.get("host_profile") if isinstance(data, Mapping) else None
        if not isinstance(parent, str) or parent in seen or parent not in profiles:
            break
        seen.add(parent)
        chain.append(profiles[parent])
    tags: set[str] = set()
    labels: dict[str, str] = {}
    rack = ""
    for level in reversed(chain):
        metadata = level.data.get("metadata") if isinstance(level.data, Mapping) else None
        if not isinstance(metadata, Mapping):
            continue
        for tag in _texts(metadata.get("tags")):
            (tags.discard if tag.startswith("!") else tags.add)(tag.removeprefix("!"))
        owner_data = metadata.get("owner_data")
        for key, value in (owner_data if isinstance(owner_data, Mapping) else {}).items():
            if key.startswith("!"):
                labels.pop(key.removeprefix("!"), None)
            elif isinstance(value, str):
                labels[key] = value
        if isinstance(metadata.get("rack"), str):
            rack = metadata["rack"]
    return Node(NodeName(document.name), rack, frozenset(tags), frozenset(labels.items()))


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
