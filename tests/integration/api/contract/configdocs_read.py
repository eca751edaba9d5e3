"""Chapter 5.3: GET /configdocs/{collection_id}, the documents as they were loaded."""

from typing import Any

from tests.integration.api.contract.case import Case, Who, Yaml, error
from tests.integration.api.contract.entities import DOCUMENT
from tests.integration.api.contract.matching import Entity, Named, Pattern
from tests.integration.api.contract.texts import BAD_VERSION, FORBIDDEN, OF_DOCUMENTS

VERSIONS = ("buffer", "committed", "last_site_action", "successful_site_action")
NOT_IN_BUFFER = error(
    404,
    "No documents to retrieve",
    "The Shipyard buffer is empty or does not contain this collection",
    kind=OF_DOCUMENTS,
)


def none_of(collection: str, version: str) -> dict[str, Any]:
    """404: there is no such revision."""
    return error(
        404, "No documents to retrieve", f"No collection {collection} for revision {version}", kind=OF_DOCUMENTS
    )


def holding(bucket: str, name: str, **fields: Any) -> Entity:
    """One document as Deckhand tells it."""
    return DOCUMENT.but(
        status=Entity({"bucket": bucket, **fields}), metadata=Entity({"name": name}), schema=Pattern(".+/v1")
    )


DESIGN = Yaml([holding("design", name) for name in ("deployment-configuration", "n1", "n2", "layering-policy")])
EMPTY = Yaml([])
CLEAR = Entity({"data": "sesame-1728", "status": Entity({"bucket": "secrets"})})
HIDDEN = Entity({"data": Pattern("(?!.*sesame).+"), "status": Entity({"bucket": "secrets"})})


def read(name: str, ask: str, **rest: Any) -> Case:
    """A read of ``configdocs/`` that a viewer may make."""
    return Case(**{"section": "5.3", "name": name, "ask": f"GET configdocs/{ask}", "who": Who.VIEWER, **rest})


CASES = [
    read("the buffer, by default", "design", given="buffered", code=200, answer=DESIGN),
    read("the buffer", "design?version=buffer", given="buffered", code=200, answer=DESIGN),
    read("an admin may read too", "design", who=Who.ADMIN, given="buffered", code=200, answer=DESIGN),
    read("an empty version is none", "design?version=", given="buffered", code=200, answer=DESIGN),
    read("what is committed", "design?version=committed", given="committed", code=200, answer=DESIGN),
    read(
        "each document says where it is and since when",
        "arriving",
        given="changed",
        code=200,
        answer=Yaml([holding("arriving", "arriving", revision=Named("buffer"))]),
    ),
    read(
        "documents are passed on with their data",
        "kept?version=committed",
        given="changed",
        code=200,
        answer=Yaml([Entity({"schema": "a/B/v1", "data": {"of": "old"}})]),
    ),
    read("the buffer deletes the collection: empty, not 404", "leaving", given="changed", code=200, answer=EMPTY),
    read(
        "and it is still committed",
        "leaving?version=committed",
        given="changed",
        code=200,
        answer=Yaml([holding("leaving", "leaving")]),
    ),
    *(
        read(
            f"a collection that {version} lacks: empty, not 404",
            f"fourth?version={version}",
            given="acted",
            code=200,
            answer=EMPTY,
        )
        for version in VERSIONS[1:]
    ),
    *(
        read(f"{version} of four", f"design?version={version}", given="acted", code=200, answer=DESIGN)
        for version in VERSIONS[1:]
    ),
    read("nothing at all", "design", code=404, answer=NOT_IN_BUFFER),
    read("an empty buffer", "design", given="committed", code=404, answer=NOT_IN_BUFFER),
    read("a buffer without this collection", "other", given="buffered", code=404, answer=NOT_IN_BUFFER),
    read(
        "a committed collection that the buffer does not change",
        "kept",
        given="changed",
        code=404,
        answer=NOT_IN_BUFFER,
    ),
    *(
        read(
            f"no revision is {version}",
            f"design?version={version}",
            given="buffered",
            code=404,
            answer=none_of("design", version),
        )
        for version in VERSIONS[1:]
    ),
    *(
        read(f"{version!r} is no version", f"design?version={version}", given="committed", code=400, answer=BAD_VERSION)
        for version in ("nonsense", "site-action", "committed,buffer", "1")
    ),
    # 17: the value is lowered, then compared.
    read(
        "COMMITTED is committed, not the buffer",
        "kept?version=COMMITTED",
        given="changed",
        code=200,
        answer=Yaml([DOCUMENT]),
    ),
    read("Buffer is the buffer", "design?version=Buffer", given="buffered", code=200, answer=DESIGN),
    read(
        "Last_Site_Action does not exist",
        "design?version=Last_Site_Action",
        given="committed",
        code=404,
        answer=none_of("design", "last_site_action"),
    ),
    # --- secrets ----------------------------------------------------------------------------------------------------
    read("a secret is redacted", "secrets?version=committed", given="secret", code=200, answer=Yaml([HIDDEN])),
    read(
        "a secret is redacted for those who may see it, too",
        "secrets?version=committed",
        who=Who.ADMIN,
        given="secret",
        code=200,
        answer=Yaml([HIDDEN]),
    ),
    read(
        "a secret in clear",
        "secrets?version=committed&cleartext-secrets=true",
        who=Who.ADMIN,
        given="secret",
        code=200,
        answer=Yaml([CLEAR]),
    ),
    read(
        "a secret not in clear",
        "secrets?version=committed&cleartext-secrets=False",
        given="secret",
        code=200,
        answer=Yaml([HIDDEN]),
    ),
    read(
        "a viewer may not ask for clear text",
        "secrets?version=committed&cleartext-secrets=true",
        given="secret",
        code=403,
        answer=FORBIDDEN,
    ),
    read("nor where there is nothing", "nothing?cleartext-secrets=true", code=403, answer=FORBIDDEN),
]
