"""Choosing among the documents of a design: which fit, in which order, how many."""

from dataclasses import replace
from typing import Any

import pytest

from shipyard_api.domain.documents import Collection, Query, RenderedDocument, Revision, choose
from tests.designs import in_layer, stored


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


@pytest.mark.parametrize(
    ("schemas", "found"),
    [
        pytest.param((), ALL, id="none: all"),
        pytest.param(("example/Kind/v1",), [A], id="a whole schema"),
        pytest.param(("example/Kind",), [A, B], id="namespace and kind"),
        pytest.param(("example",), [A, B, C], id="a namespace"),
        pytest.param(("exam",), [], id="no part of a word"),
        pytest.param(("example/Kin",), [], id="no part of a kind"),
        pytest.param(("example/Kind/v",), [], id="no part of a version"),
        pytest.param(("Kind",), [], id="not from the middle"),
        pytest.param(("example/Kind/v1", "example/Kind/v2"), [A, B], id="several whole ones"),
        pytest.param(("example", "example/Kind/v1"), [A], id="several are matched exactly"),
        pytest.param(("example", "examples"), [], id="several namespaces are none"),
    ],
)
def test_by_schema(schemas: tuple[str, ...], found: list[str]) -> None:
    assert names(Query(schemas=schemas)) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param(Query(names=("a",)), [A, A2], id="a name"),
        pytest.param(Query(names=("a", "c")), [A, C, A2], id="any of the names"),
        pytest.param(Query(names=("A",)), [], id="another case"),
        pytest.param(Query(labels=(("k", "v"),)), [A, B], id="a label"),
        pytest.param(Query(labels=(("k", "v"), ("other", "x"))), [B], id="all labels"),
        pytest.param(Query(labels=(("k", "v"), ("k", "w"))), [], id="all labels, none has both"),
        pytest.param(Query(labels=(("n", "1"),)), [A], id="a label that is a number"),
        pytest.param(Query(labels=(("k", ""),)), [], id="an empty value"),
        pytest.param(Query(layers=("site",)), [A, A2], id="a layer"),
        pytest.param(Query(layers=("site", "global")), [A, B, A2], id="any of the layers"),
        pytest.param(Query(collections=("design",)), [A, B], id="a collection"),
        pytest.param(Query(collections=("more", "secrets")), [C, A2], id="any of the collections"),
        pytest.param(Query(schemas=("example",), names=("a",), layers=("site",)), [A], id="all kinds at once"),
        pytest.param(Query(names=("a",), layers=("global",)), [], id="each kind must fit"),
    ],
)
def test_by_name_label_layer_and_collection(query: Query, found: list[str]) -> None:
    assert names(query) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param(Query(sort=("schema",)), ALL, id="by schema"),
        pytest.param(Query(sort=("schema",), descending=True), ALL[::-1], id="backwards"),
        pytest.param(
            Query(sort=("metadata.name", "schema"), descending=True),
            [C, B, A2, A],
            id="by several keys",
        ),
        pytest.param(Query(sort=("metadata.name",)), [A, A2, B, C], id="equal ones keep order"),
        pytest.param(Query(sort=("status.bucket",)), [A, B, A2, C], id="bucket"),
        pytest.param(Query(sort=("status.revision",)), [A, A2, C, B], id="since"),
        pytest.param(Query(sort=(".metadata.layeringDefinition.layer",)), [B, A, A2, C], id="a dot in front"),
        pytest.param(Query(sort=("metadata.labels.n",)), ALL, id="what few have comes first"),
        pytest.param(Query(sort=("no.such.thing",)), ALL, id="an unknown path sorts nothing"),
        pytest.param(Query(sort=("metadata.",)), ALL, id="what is no path sorts nothing"),
        pytest.param(Query(sort=("[[",)), ALL, id="what is nothing at all sorts nothing"),
        pytest.param(Query(descending=True), ALL[::-1], id="backwards without a key"),
        pytest.param(Query(limit=2), ALL[:2], id="the first two"),
        pytest.param(Query(limit=0), [], id="none"),
        pytest.param(Query(limit=99), ALL, id="more than there are"),
        pytest.param(Query(sort=("schema",), descending=True, limit=1), ALL[-1:], id="the limit comes last"),
        pytest.param(Query(names=("c",), limit=1), [C], id="the limit comes after the filters"),
    ],
)
def test_order_and_limit(query: Query, found: list[str]) -> None:
    assert names(query) == found


def test_values_of_all_types_can_be_sorted_together() -> None:
    values = ["b", 2, None, 1.5, "a", [1], {"x": 1}, True]
    design = [one(f"n{index}", data={"v": value}) for index, value in enumerate(values)]

    found = [found.document.data["v"] for found in choose(design, Query(sort=("data.v",)))]

    assert found == [True, 1.5, 2, "a", "b", None, [1], {"x": 1}]


@pytest.mark.parametrize("labels", [["k"], "k", None, 3], ids=repr)
def test_a_control_document_may_carry_other_labels(labels: Any) -> None:
    document = replace(DESIGN[0].document, metadata={"schema": "metadata/Control/v1", "labels": labels})

    assert choose([replace(DESIGN[0], document=document)], Query(labels=(("k", "v"),))) == ()


def test_the_design_itself_is_not_changed() -> None:
    before = list(DESIGN)

    choose(DESIGN, Query(sort=("schema",), descending=True, limit=1))

    assert before == DESIGN
