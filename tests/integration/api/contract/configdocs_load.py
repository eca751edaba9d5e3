"""Chapter 5.2: POST /configdocs/{collection_id}, a collection into the buffer."""

from typing import Any

from shipyard_api.yaml_stream import write_documents
from tests.factories import node_document
from tests.integration.api.contract.case import YAML, Case, Exchange, Nothing, Yaml, error, verdict
from tests.integration.api.contract.entities import DOCUMENT, FINDING
from tests.integration.api.contract.matching import INTEGER, SOME, Each, Entity, Pattern
from tests.integration.api.contract.states import BAD_KIND, SCHEMA_OF_KIND, VERSION_DOCUMENT, extra
from tests.integration.api.contract.texts import ANY_DOCUMENTS, LENGTH_REQUIRED, LOADED, OF_DOCUMENTS, buffer_refused
from tests.integration.api.wire import small_design

DESIGN = write_documents(small_design())
WIDER = write_documents(small_design(("n1", "n2", "n3")))
OTHER = write_documents([extra("other")])
MODES = ("rejectoncontents", "append", "replace")
INVALID = error(400, "Document(s) invalid syntax or otherwise unsuitable", SOME, kind=OF_DOCUMENTS, messages=Each(
    Entity({"message": SOME, "error": True}), least=1), count=INTEGER)  # fmt: skip
ELSEWHERE = error(
    409,
    "Documents may not exist in more than one collection",
    Pattern(".+ 'n1' belongs to collection 'design'"),
    kind=OF_DOCUMENTS,
)
NO_REVISION = "Collection created no new revision"
MISSING = (
    "Deployment version document missing from collection. Expected document to be present with schema: "
    "pegleg/DeploymentData/v1 and name: deployment-version"
)


def load(name: str, ask: str, body: bytes | str | None, **rest: Any) -> Case:
    """A load into the collection ``ask`` names, with its query."""
    return Case(section="5.2", name=name, ask=f"POST configdocs/{ask}", sends=YAML, body=body, **rest)


def taken(name: str, ask: str, body: bytes | str | None, **rest: Any) -> Case:
    """A load that is accepted and finds nothing wrong."""
    collection = ask.partition("?")[0]
    told = {"code": 201, "headers": {"Location": f"/api/v1.0/configdocs/{collection}"}, "answer": LOADED}
    return load(name, ask, body, **{**told, **rest})


def told(level: str) -> dict[str, Any]:
    """The message about a deployment version that is not there."""
    return {"code": "200 OK", "message": MISSING, "status": level, "level": level.lower()}


_UNSUITABLE: dict[str, bytes | str] = {
    "no YAML": "a: [1",
    "a text": "hello",
    "a list": "[1, 2]",
    "without a schema": "{metadata: {schema: metadata/Document/v1, name: a}, data: {}}",
    "without metadata": "{schema: a/B/v1, data: {}}",
    "without a name": "{schema: a/B/v1, metadata: {schema: metadata/Document/v1}, data: {}}",
    "the same document twice": write_documents([extra("one"), extra("one", of="another")]),
    "not UTF-8": b"\xff\xfe: 1",
}

CASES = [
    # --- modes, by what the buffer holds ----------------------------------------------------------------------------
    *(taken(f"{mode}: nothing was ever loaded", f"design?buffermode={mode}", DESIGN) for mode in MODES),
    *(
        taken(
            f"{mode}: the buffer is empty, and this collection is committed",
            f"design?buffermode={mode}",
            WIDER,
            given="committed",
        )
        for mode in MODES
    ),
    *(
        taken(
            f"{mode}: the buffer is empty, and this collection is new",
            f"other?buffermode={mode}",
            OTHER,
            given="committed",
        )
        for mode in MODES
    ),
    load(
        "no mode: the buffer is not empty",
        "other",
        OTHER,
        given="buffered",
        code=409,
        answer=buffer_refused("rejectoncontents"),
    ),
    load(
        "rejectoncontents: the buffer is not empty",
        "other?buffermode=rejectoncontents",
        OTHER,
        given="buffered",
        code=409,
        answer=buffer_refused("rejectoncontents"),
    ),
    load(
        "rejectoncontents: this collection is in the buffer",
        "design?buffermode=rejectoncontents",
        WIDER,
        given="buffered",
        code=409,
        answer=buffer_refused("rejectoncontents"),
    ),
    taken("append: another collection is in the buffer", "other?buffermode=append", OTHER, given="buffered"),
    load(
        "append: this collection is in the buffer",
        "design?buffermode=append",
        WIDER,
        given="buffered",
        code=409,
        answer=buffer_refused("append"),
    ),
    load(
        "append: the buffer deletes this collection, which counts as being in it",
        "leaving?buffermode=append",
        OTHER,
        given="changed",
        code=409,
        answer=buffer_refused("append"),
    ),
    taken(
        "append: a committed collection that does not differ is not in the buffer",
        "kept?buffermode=append",
        OTHER,
        given="changed",
    ),
    taken(
        "replace: the buffer is thrown away, back to the commit",
        "other?buffermode=replace",
        OTHER,
        given="changed",
        then=[
            Exchange(
                ask="GET configdocs/arriving",
                code=404,
                answer=error(
                    404,
                    "No documents to retrieve",
                    "The Shipyard buffer is empty or does not contain this collection",
                    kind=OF_DOCUMENTS,
                ),
            ),
            Exchange(ask="GET configdocs/other", code=200, answer=Yaml([DOCUMENT])),
        ],
    ),
    taken(
        "replace: the buffer is thrown away, back to nothing",
        "other?buffermode=replace",
        OTHER,
        given="buffered",
        then=[
            Exchange(ask="GET configdocs", code=200, answer=[Entity({"collection_name": "other", "base_revision": 0})]),
        ],
    ),
    taken("a mode in capitals", "other?buffermode=APPEND", OTHER, given="buffered"),
    taken("a mode in both", "design?buffermode=Replace", WIDER, given="buffered"),
    # 17: an unknown mode is a 400, whatever the buffer holds.
    *(
        load(
            f"an unknown mode, the buffer {what}",
            "other?buffermode=overwrite",
            OTHER,
            given=given,
            code=400,
            answer=error(
                400, SOME, SOME, kind=OF_DOCUMENTS, messages=Each(Entity({"message": SOME, "error": True}), least=1)
            ),
        )
        for what, given in (("empty", "committed"), ("not empty", "buffered"))
    ),
    # --- a collection is replaced as a whole ------------------------------------------------------------------------
    taken(
        "documents that are left out are deleted",
        "design",
        write_documents([*small_design(("n1",))]),
        given="committed",
        then=[Exchange(ask="GET configdocs/design", code=200, answer=Yaml([DOCUMENT] * 3))],
    ),
    taken(
        "an emptied collection is deleted by the next commit",
        "design?empty-collection=true",
        None,
        given="committed",
        then=[Exchange(ask="GET configdocs/design", code=200, answer=Yaml([]))],
    ),
    taken(
        "the body is ignored when a collection is emptied", "design?empty-collection=true", "]: [", given="committed"
    ),
    taken("a name with a dot, a dash and an underscore", "site.a-b_c", OTHER),
    # --- refusals ---------------------------------------------------------------------------------------------------
    load("no body", "design", None, code=400, answer=LENGTH_REQUIRED),
    load("an empty body", "design", b"", code=400, answer=LENGTH_REQUIRED),
    load(
        "an empty body, and not to be emptied", "design?empty-collection=false", b"", code=400, answer=LENGTH_REQUIRED
    ),
    *(
        load(f"documents that are none: {what}", "design", body, code=400, answer=INVALID)
        for what, body in _UNSUITABLE.items()
    ),
    load(
        "what is committed already",
        "design",
        DESIGN,
        given="committed",
        code=400,
        answer=error(400, "Collection design not added to Shipyard buffer", NO_REVISION, kind=OF_DOCUMENTS),
    ),
    load(
        "emptying what is not there",
        "nothing?empty-collection=true",
        None,
        given="committed",
        code=400,
        answer=error(400, "Collection nothing not added to Shipyard buffer", NO_REVISION, kind=OF_DOCUMENTS),
    ),
    load(
        "a document that another collection holds",
        "other",
        write_documents([node_document("n1")]),
        given="committed",
        code=409,
        answer=ELSEWHERE,
    ),
    load(
        "a document that another collection of the buffer holds",
        "other?buffermode=append",
        write_documents([node_document("n1", rack="r7")]),
        given="buffered",
        code=409,
        answer=ELSEWHERE,
    ),
    # --- the validation form: 201 though documents fail (17: keep) --------------------------------------------------
    load(
        "documents of which Deckhand has stored that they fail are loaded and told",
        "design",
        write_documents([*small_design(), SCHEMA_OF_KIND, BAD_KIND]),
        given="deckhand_objects",
        code=201,
        headers={"Location": "/api/v1.0/configdocs/design"},
        answer=verdict(
            400,
            "Validations failed",
            [
                FINDING.but(
                    error=True,
                    level="Error",
                    source="Deckhand",
                    documents=[Entity({"schema": "a/Kind/v1", "name": "big"})],
                    diagnostic=Pattern(
                        r"Section: .*size.*large.* at \.size \(schema not specified at \.properties\.size\.type\)"
                    ),
                )
            ],
            errors=1,
        ),
    ),
    # deckhand, A12: loading leaves no validation by itself; the commit tells (5.5).
    taken(
        "documents that fail their schema are loaded",
        "design",
        write_documents([*small_design(), SCHEMA_OF_KIND, BAD_KIND]),
        then=[Exchange(ask="GET configdocs/design", code=200, answer=ANY_DOCUMENTS)],
    ),
    # --- [validations] deployment_version_create --------------------------------------------------------------------
    *(
        load(
            f"without a deployment version, which is {level}",
            "design",
            DESIGN,
            given=f"version_{level.lower()}",
            code=201,
            headers={"Location": "/api/v1.0/configdocs/design"},
            answer=verdict(201, "Validations succeeded", [Entity(told(level))]),
        )
        for level in ("Info", "Warning")
    ),
    *(
        taken(
            f"with a deployment version, which is {level} otherwise",
            "design",
            write_documents([*small_design(), VERSION_DOCUMENT]),
            given=f"version_{level}",
        )
        for level in ("info", "warning", "error")
    ),
    load(
        "without a deployment version, which is an error",
        "design",
        DESIGN,
        given="version_error",
        code=400,
        answer=error(
            400,
            "Deployment version document missing from collection",
            "Collection rejected due to missing deployment data document",
            kind=OF_DOCUMENTS,
            messages=Each(Entity({"message": SOME, "error": True}), least=1),
        ),
        then=[Exchange(ask="GET configdocs", code=200, answer=[])],
    ),
    load(
        "a refused load leaves nothing behind",
        "design",
        "hello",
        code=400,
        answer=INVALID,
        then=[Exchange(ask="GET configdocs", code=200, answer=[])],
    ),
    load(
        "a refused load leaves the buffer as it is",
        "other?buffermode=replace",
        "hello",
        given="changed",
        code=400,
        answer=INVALID,
        then=[Exchange(ask="GET configdocs/arriving", code=200, answer=Yaml([DOCUMENT]))],
    ),
]

__all__ = ["CASES", "Nothing"]
