"""What all addresses of documents share: their form as YAML, which version is meant, and who may see secrets."""

from collections.abc import Iterable, Mapping
from typing import Any

import falcon

from shipyard_api.api.airship.errors import InvalidVersion
from shipyard_api.api.http.authentication import require
from shipyard_api.api.http.reading import boolean, one_of
from shipyard_api.domain.documents import RenderedDocument, StoredDocument, Version
from shipyard_api.yaml_stream import write_documents

YAML = "application/x-yaml"


def version_of(req: falcon.Request) -> Version:
    """Return the version that is asked for, the buffer if none is; the case does not matter."""
    return one_of(req, "version", Version, Version.BUFFER, lambda _: InvalidVersion())


def wants_clear_text(req: falcon.Request, rule: str) -> bool:
    """Say whether the caller asks to be shown secrets; raises Forbidden for who may not be."""
    asked = bool(boolean(req, "cleartext-secrets", default=False))
    if asked:
        require(req, rule)
    return asked


def as_yaml(documents: Iterable[StoredDocument | RenderedDocument]) -> bytes:
    """Return documents in Deckhand's form (contract: deckhand, A5)."""
    return write_documents(_stored_form(number, stored) for number, stored in enumerate(documents, start=1))


def _stored_form(number: int, stored: StoredDocument | RenderedDocument) -> Mapping[str, Any]:
    document = stored.document
    return {
        "id": number,
        "schema": document.schema,
        "metadata": document.metadata,
        "data": document.data,
        "status": {"bucket": stored.collection, "revision": stored.since},
    }
