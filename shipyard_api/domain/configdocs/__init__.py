"""Configdocs: what a document is, and how documents make a design (contract: deckhand, parts B and C)."""

from shipyard_api.domain.configdocs.comparison import DocumentChange, ValueChange, compare_documents, unified
from shipyard_api.domain.configdocs.data_schemas import Compile, DataCheck, SchemaFault
from shipyard_api.domain.configdocs.documents import (
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
from shipyard_api.domain.configdocs.machines import BAREMETAL_NODE, HOST_PROFILE, inventory
from shipyard_api.domain.configdocs.queries import Query, choose
from shipyard_api.domain.configdocs.redaction import redacted, scrubbed, scrubber
from shipyard_api.domain.configdocs.relations import secret_keys
from shipyard_api.domain.configdocs.rendering import RenderedDocument, Rendering, render
from shipyard_api.domain.configdocs.shape import parse_documents

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
    "unified",
]
