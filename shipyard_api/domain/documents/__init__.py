"""Configdocs: documents, and how a design is rendered from them (contract: deckhand, parts B and C)."""

from shipyard_api.domain.documents.comparison import DocumentChange, ValueChange, compare_documents, unified
from shipyard_api.domain.documents.data_schemas import Compile, DataCheck, SchemaFault
from shipyard_api.domain.documents.document import (
    COLLECTION_LIMIT,
    CONTROL,
    DATA_SCHEMA,
    DOCUMENT,
    LAYERING_POLICY,
    NAME_LIMIT,
    VALIDATION_POLICY,
    BufferMode,
    Change,
    Collection,
    Document,
    Identity,
    Key,
    Revision,
    RevisionTag,
    StoredDocument,
    Version,
    canonical,
    find,
)
from shipyard_api.domain.documents.machines import BAREMETAL_NODE, HOST_PROFILE, inventory
from shipyard_api.domain.documents.queries import Query, choose
from shipyard_api.domain.documents.redaction import redacted, scrubbed, scrubber, secret_texts
from shipyard_api.domain.documents.relations import secret_keys
from shipyard_api.domain.documents.rendering import RenderedDocument, Rendering, render
from shipyard_api.domain.documents.shape import parse_documents

__all__ = [
    "BAREMETAL_NODE",
    "COLLECTION_LIMIT",
    "CONTROL",
    "DATA_SCHEMA",
    "DOCUMENT",
    "HOST_PROFILE",
    "LAYERING_POLICY",
    "NAME_LIMIT",
    "VALIDATION_POLICY",
    "BufferMode",
    "Change",
    "Collection",
    "Compile",
    "DataCheck",
    "Document",
    "DocumentChange",
    "Identity",
    "Key",
    "Query",
    "RenderedDocument",
    "Rendering",
    "Revision",
    "RevisionTag",
    "SchemaFault",
    "StoredDocument",
    "ValueChange",
    "Version",
    "canonical",
    "choose",
    "compare_documents",
    "find",
    "inventory",
    "parse_documents",
    "redacted",
    "render",
    "scrubbed",
    "scrubber",
    "secret_keys",
    "secret_texts",
    "unified",
]
