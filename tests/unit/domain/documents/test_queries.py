"""Choosing among the documents of a design: which fit, in which order, how many."""

from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.documents import Collection, Query, RenderedDocument, Revision, choose
from tests.designs import in_layer, stored
from tests.unit.tables import every_row


def one(name: str, layer: str = "site", data: Any = None, **more: Any) -> RenderedDocument:
    collection, since, secret = more.pop("collection", "design"), more.pop("since", 1), more.pop("secret", False)
    (held,) = stored(in_layer(layer, name, data, **more))
    return RenderedDocument(held.document, Collection(collection), Revision(since), secret)


DESIGN = [
    one("a", labels={"k": "v", "n": 1}, schema="example/Kind/v1"),
    one("b", layer="global", labels={"k": "v", "other": "x"}, schema="example/Kind/v2", since=3),
    one("c", layer="type", labels={"k": "w"}, schema="example/Kindred/v1", collection="secrets", since=2),
    one("a", schema="examples/Kind/v1", collection="more", data={"x": 1}),
]


def names(query: Query) -> list[str]:
    return [f"{found.document.schema[:8]}{found.document.name}" for found in choose(DESIGN, query)]


ALL = A, B, C, A2 = ["example/a", "example/b", "example/c", "examplesa"]


@every_row(
    {
        "a whole schema": (("example/Kind/v1",), [A]),
        "namespace and kind": (("example/Kind",), [A, B]),
        "a namespace": (("example",), [A, B, C]),
        "no part of a word": (("exam",), []),
        "no part of a kind": (("example/Kin",), []),
        "not from the middle": (("Kind",), []),
        "several are matched exactly": (("example", "example/Kind/v1"), [A]),
    },
)
def test_by_schema(schemas: tuple[str, ...], found: list[str]) -> None:
    assert names(Query(schemas=schemas)) == found


@every_row(
    {
        "a name": (Query(names=("a",)), [A, A2]),
        "a label": (Query(labels=(("k", "v"),)), [A, B]),
        "all labels": (Query(labels=(("k", "v"), ("other", "x"))), [B]),
        "all labels, none has both": (Query(labels=(("k", "v"), ("k", "w"))), []),
        "a label that is a number": (Query(labels=(("n", "1"),)), [A]),
        "all kinds at once": (Query(schemas=("example",), names=("a",), layers=("site",)), [A]),
        "each kind must fit": (Query(names=("a",), layers=("global",)), []),
    },
)
def test_by_name_label_layer_and_collection(query: Query, found: list[str]) -> None:
    assert names(query) == found


@every_row(
    {
        "backwards": (Query(sort=("schema",), descending=True), ALL[::-1]),
        "equal ones keep order": (Query(sort=("metadata.name",)), [A, A2, B, C]),
        "bucket": (Query(sort=("status.bucket",)), [A, B, A2, C]),
        "since": (Query(sort=("status.revision",)), [A, A2, C, B]),
        "what few have comes first": (Query(sort=("metadata.labels.n",)), ALL),
        "an unknown path sorts nothing": (Query(sort=("no.such.thing",)), ALL),
        "what is no path sorts nothing": (Query(sort=("metadata.",)), ALL),
        "the first two": (Query(limit=2), ALL[:2]),
        "none": (Query(limit=0), []),
        "the limit comes last": (Query(sort=("schema",), descending=True, limit=1), ALL[-1:]),
        "the limit comes after the filters": (Query(names=("c",), limit=1), [C]),
    },
)
def test_order_and_limit(query: Query, found: list[str]) -> None:
    assert names(query) == found


def test_values_of_all_types_can_be_sorted_together() -> None:
    values = ["b", 2, None, 1.5, "a", [1], {"x": 1}, True]
    design = [one(f"n{index}", data={"v": value}) for index, value in enumerate(values)]

    found = [found.document.data["v"] for found in choose(design, Query(sort=("data.v",)))]

    assert found == [True, 1.5, 2, "a", "b", None, [1], {"x": 1}]


@every_row([["k"], "k", None, 3])
def test_a_control_document_may_carry_other_labels(labels: Any) -> None:
    document = replace(DESIGN[0].document, metadata={"schema": "metadata/Control/v1", "labels": labels})

    assert choose([replace(DESIGN[0], document=document)], Query(labels=(("k", "v"),))) == ()
