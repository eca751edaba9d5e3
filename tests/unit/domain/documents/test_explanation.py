"""The chain of documents, actions and substitutions behind a value, and that it ends in the rendered value."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from shipyard_api.domain.documents import parse_documents, render
from shipyard_api.domain.documents.document import Collection, Revision, StoredDocument
from shipyard_api.domain.documents.explanation import MOST_VALUES, ExplainedValue, Place, at, explain, written_at
from shipyard_api.yaml_stream import read_documents
from tests.conftest import site_file
from tests.designs import KIND, POLICY, SCHEMAS, in_layer, stored, taking
from tests.unit.tables import every_row

PARENT = {"role": "parent"}
REGION = {"role": "region"}
SOURCE = in_layer("site", "source", {"url": "http://a", "list": [{"x": 1}, {"x": 2}], "deep": {"a": {"b": 3}}})


def lines(found: list[ExplainedValue]) -> list[str]:
    """An explanation as text: a line for each value, and one for each of its steps."""
    shown = []
    for number, one in enumerate(found):
        hidden = " secret" if one.secret else ""
        shown.append(f"{number} {one.stored.document.name} {'/'.join(one.place)}{hidden}")
        shown.extend(
            " ".join(
                part
                for part in (
                    f"  {step.kind.value}",
                    step.detail,
                    f"{step.value!r}" if at({"": step.value}, ("",)) is step.value else "",
                    "" if step.source is None else f"<- {step.source}",
                )
                if part
            )
            for step in one.steps
        )
    return shown


CHAINS = {
    "through two layers": (
        [
            in_layer("global", "g", {"x": 1}, labels=PARENT),
            in_layer("region", "r", {"x": 2}, labels=REGION, parent=PARENT),
            in_layer("site", "a", {}, parent=REGION),
        ],
        ("x",),
        ["0 a x", "  parent 2 <- 1", "1 r x", "  parent 1 <- 2", "  action merge . 2", "2 g x", "  written 1"],
    ),
    "an action that writes the same value counts, one beside it does not": (
        [
            in_layer("global", "g", {"x": {"y": 1, "z": 2}, "w": 3}, labels=PARENT),
            in_layer("site", "a", {"x": {"y": 1}}, parent=PARENT, actions=[("replace", ".x"), ("delete", ".w")]),
        ],
        ("x", "y"),
        ["0 a x/y", "  parent 1 <- 1", "  action replace .x 1", "1 g x/y", "  written 1"],
    ),
    "a part that was deleted": (
        [
            in_layer("global", "g", {"x": {"y": 1, "z": 2}}, labels=PARENT),
            in_layer("site", "a", {}, parent=PARENT, actions=[("delete", ".x.z")]),
        ],
        ("x",),
        [
            "0 a x",
            "  parent {'y': 1, 'z': 2} <- 1",
            "  action delete .x.z {'y': 1}",
            "1 g x",
            "  written {'y': 1, 'z': 2}",
        ],
    ),
    "substituted": (
        [SOURCE, in_layer("site", "a", {"x": "old"}, substitutions=[taking("source", ".url", ".x")])],
        ("x",),
        ["0 a x", "  written 'old'", "  substitution 'http://a' <- 1", "1 source url", "  written 'http://a'"],
    ),
    "below what was substituted": (
        [SOURCE, in_layer("site", "a", {}, substitutions=[taking("source", ".deep", ".x")])],
        ("x", "a", "b"),
        ["0 a x/a/b", "  substitution 3 <- 1", "1 source deep/a/b", "  written 3"],
    ),
    "into a text": (
        [
            SOURCE,
            in_layer(
                "site",
                "a",
                {"x": "see URL!"},
                substitutions=[taking("source", ".url", {"path": ".x", "pattern": "URL"})],
            ),
        ],
        ("x",),
        [
            "0 a x",
            "  written 'see URL!'",
            "  substitution 'see http://a!' <- 1",
            "1 source url",
            "  written 'http://a'",
        ],
    ),
    "a replacement": (
        [
            in_layer("global", "a", {"x": 1}, labels=PARENT),
            in_layer("site", "a", {"x": 2}, parent=PARENT, replacement=True),
            in_layer("site", "b", {}, substitutions=[taking("a", ".x", ".x")]),
        ],
        ("x",),
        None,
    ),
}


@every_row(CHAINS)
def test_a_chain(entries: list[dict[str, Any]], place: Place, expected: list[str] | None) -> None:
    name = "b" if expected is None else "a"
    expected = expected or [
        "0 b x", "  substitution 2 <- 1", "1 a x", "  parent 1 <- 2", "  action merge . 2", "2 a x", "  written 1",
    ]  # fmt: skip

    assert lines(explain(stored(POLICY, *entries), (KIND, name), place)) == expected


@every_row(
    {
        "in a parent": ("z", "g", "/data/z"),
        "in the layer between": ("x", "r", "/data/x"),
        "by a substitution": ("y", "source", "/data/url"),
        "in a container that a substitution writes into": ("w", "a", "/data/w"),
        "in the document itself": ("v", "a", "/data/v"),
    }
)
def test_the_place_where_a_value_was_written(key: str, name: str, pointer: str) -> None:
    documents = [
        POLICY,
        SOURCE,
        in_layer("global", "g", {"x": 1, "z": 1}, labels=PARENT),
        in_layer("region", "r", {"x": 2}, labels=REGION, parent=PARENT),
        in_layer("site", "a", {"v": 3, "w": {"own": 1}}, parent=REGION, substitutions=[TAKEN, TAKEN_INTO]),
    ]
    document, path = written_at(explain(stored(*documents), (KIND, "a"), (key,)))
    assert (document.document.name, path) == (name, pointer)


TAKEN, TAKEN_INTO = (
    {"src": {"schema": KIND, "name": "source", "path": ".url"}, "dest": {"path": path}} for path in (".y", ".w.taken")
)


def test_a_secret_document_is_explained_as_a_whole() -> None:
    documents = stored(
        POLICY,
        in_layer("site", "password", {"hidden": "swordfish"}, storagePolicy="encrypted"),
        SOURCE,
        in_layer(
            "site",
            "a",
            {},
            substitutions=[taking("password", ".hidden", ".auth.word"), taking("source", ".url", ".auth.url")],
        ),
    )

    found = explain(documents, (KIND, "a"), ("auth", "no such key"))

    assert [(one.stored.document.name, one.place, one.secret) for one in found] == [
        ("a", (), True),
        ("password", (), True),
        ("source", (), False),
    ]


def test_what_is_not_there_is_a_lookup_error() -> None:
    documents = stored(POLICY, SOURCE)

    with pytest.raises(KeyError):
        explain(documents, (KIND, "source"), ("nowhere",))
    with pytest.raises(LookupError, match="no document test/Kind/v1 'b'"):
        explain(documents, (KIND, "b"), ())


def test_an_explanation_that_takes_too_long_is_given_up() -> None:
    asked = itertools.count()
    substitutions = [taking("source", ".url", f".x{number}") for number in range(10)]
    documents = stored(POLICY, SOURCE, in_layer("site", "a", {}, substitutions=substitutions))

    with pytest.raises(LookupError, match="takes too long"):
        explain(documents, (KIND, "a"), (), lambda: next(asked) > 14)


def test_a_value_made_from_very_many_is_followed_so_far() -> None:
    entries = [in_layer("site", f"s{number}", {"x": number}) for number in range(MOST_VALUES + 5)]
    substitutions = [taking(f"s{number}", ".x", f".x{number}") for number in range(MOST_VALUES + 5)]

    found = explain(stored(POLICY, *entries, in_layer("site", "a", {}, substitutions=substitutions)), (KIND, "a"), ())

    assert len(found) == MOST_VALUES
    assert [step.source for step in found[0].steps[-6:]] == [None] * 6


def _leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*place, key))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*place, str(index)))
    else:
        yield place, value


def test_every_leaf_of_a_real_site_is_explained_by_its_rendered_value() -> None:
    documents, _ = parse_documents(read_documents(site_file("airsloop.yaml").read_bytes()), SCHEMAS)
    kept = [StoredDocument(one, Collection("site"), Revision(1)) for one in documents]
    design, _ = render(kept, SCHEMAS)
    chosen = [
        one.document
        for one in design.documents
        if not one.secret and one.document.metadata.get("substitutions") and len(str(one.document.data)) < 6_000
    ][::24]
    assert len(chosen) > 2

    for document in chosen:
        for place, value in list(_leaves(document.data))[::6]:
            found = explain(kept, document.key, place)
            assert found[0].value == value
            assert found[0].steps[-1].value == value, (document.key, place)
            for one in found:
                assert one.steps, (document.key, place, one.place)
