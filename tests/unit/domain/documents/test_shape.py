"""Whether what came in is a document: every rule, every fault at once, and never a word of the data."""

import copy
from itertools import product
from typing import Any

from shipyard_api.domain.documents import find, parse_documents
from shipyard_api.domain.findings import Level
from tests.designs import SCHEMAS, data_schema, in_layer, taking
from tests.factories import document
from tests.unit.tables import every_row

CANARY = "CANARY-4711"


def faults(*entries: Any) -> list[str]:
    """Return the places of everything that is wrong; nothing of it may quote the data."""
    documents, findings = parse_documents(entries, SCHEMAS)
    assert len(documents) < len(entries) or not findings
    assert {finding.name for finding in findings} <= {"D001"}
    assert {finding.level for finding in findings} <= {Level.ERROR}
    assert CANARY not in str(findings)
    return [finding.path for finding in findings]


def plain(**metadata: Any) -> dict[str, Any]:
    return document("a/B/v1", "one", {"k": CANARY, "l": [CANARY]}, **metadata)


def layered(**layering: Any) -> dict[str, Any]:
    return plain(layeringDefinition={"layer": "site", **layering})


def control(schema: str = "a/B/v1", data: Any = None, **metadata: Any) -> dict[str, Any]:
    written = {"schema": "metadata/Control/v1", "name": "one", **metadata}
    return {"schema": schema, "metadata": written, "data": {} if data is None else data}


def without(entry: dict[str, Any], *path: str) -> dict[str, Any]:
    entry = copy.deepcopy(entry)
    place = entry
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return entry


# What is accepted


def test_documents_keep_what_was_written() -> None:
    entry = document("a/B/v1", "one", {"x": [1]}, labels={"k": "v"}, replacement=False)

    (parsed,), findings = parse_documents([entry])

    assert findings == ()
    assert parsed.identity == ("a/B/v1", "site", "one")
    assert parsed.key == ("a/B/v1", "one")
    assert (parsed.metadata, parsed.data) == (entry["metadata"], {"x": [1]})
    assert (parsed.ref.schema, parsed.ref.name, parsed.ref.layer) == ("a/B/v1", "one", "")
    assert parsed.place.layer == "site"


@every_row([None, "text", 7, 1.5, True, [], [1], {}, {"a": None}])
def test_data_may_be_any_value(data: object) -> None:
    (parsed,), findings = parse_documents([document("a/B/v1", "one", data)])

    assert findings == ()
    assert parsed.data == data


def test_other_keys_at_the_top_are_dropped_silently() -> None:
    (parsed,), findings = parse_documents([{**plain(), "id": 7, "status": {"bucket": "x"}}])

    assert findings == ()
    assert set(parsed.metadata) == set(plain()["metadata"]) | {"replacement"}


def test_defaults_are_filled_in() -> None:
    entry = layered()
    (parsed,), _ = parse_documents([entry])

    assert parsed.metadata == {
        **entry["metadata"],
        "layeringDefinition": {"abstract": False, "layer": "site"},
        "replacement": False,
    }
    assert "replacement" not in entry["metadata"], "what came in stays as it is"


SOUND = {
    "labels of any type": plain(labels={"a": 1, "b": None, "c": [True], "d": {"e": "f"}}),
    "replacement": plain(replacement=True),
    "all of src": plain(substitutions=[taking("x", "a.b", "$", pattern="(a)(b)", match_group=2, deepcopy=True)]),
    "actions": in_layer("site", "n", parent={"a": 1}, actions=[("merge", "."), ("delete", "a.b")]),
    "a schema of 64": in_layer("site", "n", schema=f"{'a' * 30}/{'B' * 30}/v1"),
    "a validation policy": control(
        "deckhand/ValidationPolicy/v1",
        {"validations": [{"name": "a-validation", "expiresAfter": "P1W"}, {"name": "b-verification"}]},
    ),
    "a data schema": data_schema("a/B/v1", {"type": "object"}),
    "a data schema of no kind": data_schema("no schema name", {}),
    **{
        kind: document(f"deckhand/{kind}/v1", "one", "text")
        for kind in (
            "Certificate",
            "CertificateAuthority",
            "CertificateAuthorityKey",
            "CertificateKey",
            "Passphrase",
            "PrivateKey",
            "PublicKey",
        )
    },
    "another version of a secret kind": document("deckhand/Passphrase/v2", "one", {}),
    "a secret made of its parent": in_layer("site", "n", {}, schema="deckhand/Passphrase/v1", parent={"a": "b"}),
    "a secret that is taken": in_layer(
        "site", "n", {}, schema="deckhand/Passphrase/v1", substitutions=[taking("x", ".", ".")]
    ),
}


@every_row(SOUND)
def test_a_sound_document_is_accepted(entry: dict[str, Any]) -> None:
    documents, findings = parse_documents([entry], SCHEMAS)

    assert findings == ()
    assert len(documents) == 1


# What is refused, with its place

AT_SCHEMA = [
    None, 3, [], {}, True, "", "a/B", "a/B/v1/x", "a/B/1", "a/B/v", "a/B/v1.0", "a/B/v1\n", "/B/v1", "a//v1", "a1/B/v1",
    "a-b/C/v1", "a/B-c/v1", "a/B/V1", " a/B/v1", f"a/{'B' * 61}/v1", "a/Bü/v1", "a/B/v٣",
]  # fmt: skip


@every_row(product([plain, control], AT_SCHEMA))
def test_a_schema_is_two_words_and_a_version(make: Any, schema: object) -> None:
    assert faults({**make(), "schema": schema}) == ["/schema"]


@every_row([None, "text", 7, [], True])
def test_an_entry_that_is_no_mapping_is_refused_with_its_position(entry: object) -> None:
    documents, (finding,) = parse_documents([plain(), entry])

    assert len(documents) == 1
    assert finding.message.startswith("Document 2: ")


@every_row([None, [], "text", 3])
def test_metadata_must_be_a_mapping(metadata: object) -> None:
    assert faults({**plain(), "metadata": metadata}) == ["/metadata"]
    assert faults(without(plain(), "metadata")) == ["/metadata"]


LAYERING = "/metadata/layeringDefinition"
ACTIONS = {"parentSelector": {"a": "b"}, "actions": [{"method": "merge", "path": "."}]}

IN_METADATA = {
    **{
        f"name {name!r}"[:30]: (plain(name=name), "/metadata/name")
        for name in ("", None, 3, [], "n" * 65, "a\nb", "a\0b")
    },
    "no name": (without(plain(), "metadata", "name"), "/metadata/name"),
    **{
        f"kind {kind!r}": (plain(schema=kind), "/metadata/schema")
        for kind in ("metadata/Document/v2", "metadata/Document/v1.0", "metadata/Control/v1.0", None, [], {}, 3)
    },
    "no storage policy": (without(plain(), "metadata", "storagePolicy"), "/metadata/storagePolicy"),
    **{
        f"policy {policy!r}": (plain(storagePolicy=policy), "/metadata/storagePolicy")
        for policy in ("plain", None, [], {})
    },
    "labels null": (plain(labels=None), "/metadata/labels"),
    "replacement as text": (plain(replacement="yes"), "/metadata/replacement"),
    "another key that needs escaping": (plain(**{"a/b~c": 1}), "/metadata/a~1b~0c"),
    # layering
    "no layering": (without(plain(), "metadata", "layeringDefinition"), f"{LAYERING}/layer"),
    **{
        f"layering {value!r}": (plain(layeringDefinition=value), f"{LAYERING}/layer")
        for value in (None, "site", [], {}, {"layer": ""}, {"layer": 3}, {"layer": None})
    },
    **{f"abstract {value!r}": (layered(abstract=value), f"{LAYERING}/abstract") for value in ("no", 0, None)},
    "another key of the layering": (layered(other=1), f"{LAYERING}/other"),
    "actions without a selector": (layered(actions=ACTIONS["actions"]), LAYERING),
    "a selector without actions": (layered(parentSelector={"a": "b"}), LAYERING),
    **{
        f"by {value!r}": (layered(**{**ACTIONS, "parentSelector": value}), f"{LAYERING}/parentSelector")
        for value in ({}, None, "a=b", ["a"])
    },
    **{
        f"actions {value!r}": (layered(**{**ACTIONS, "actions": value}), f"{LAYERING}/actions")
        for value in ([], {}, None, "merge")
    },
    **{
        f"action {value!r}": (layered(**{**ACTIONS, "actions": [value]}), f"{LAYERING}/actions/0{place}")
        for value, place in (
            ("merge", ""),
            (None, ""),
            ({"path": "."}, "/method"),
            ({"method": "join", "path": "."}, "/method"),
            ({"method": [], "path": "."}, "/method"),
            ({"method": "merge"}, "/path"),
            ({"method": "merge", "path": None}, "/path"),
            ({"method": "merge", "path": 3}, "/path"),
            ({"method": "merge", "path": ".a["}, "/path"),
            ({"method": "merge", "path": ".a[?(@.b)]"}, "/path"),
            ({"method": "merge", "path": ".1a"}, "/path"),
            ({"method": "merge", "path": ".", "more": 1}, "/more"),
        )
    },
}


@every_row(IN_METADATA)
def test_metadata_of_the_wrong_shape_is_refused_with_its_place(entry: dict[str, Any], place: str) -> None:
    assert faults(entry) == [place]


SUBSTITUTIONS = "/metadata/substitutions"
SRC = {"schema": "a/B/v1", "name": "x", "path": "."}
DEST = {"path": "."}

IN_SUBSTITUTIONS = [
    (None, ""),
    ({}, "/src", "/dest"),
    ({"src": SRC}, "/dest"),
    ({"src": SRC, "dest": DEST, "more": 1}, "/more"),
    ({"src": SRC, "dest": []}, "/dest"),
    ({"src": SRC, "dest": "."}, "/dest"),
    ({"src": SRC, "dest": [DEST, "."]}, "/dest/1"),
    ({"src": {}, "dest": DEST}, "/src/schema", "/src/name", "/src/path"),
    ({"src": {**SRC, "path": ".a b"}, "dest": DEST}, "/src/path"),
    ({"src": {**SRC, "layer": "site"}, "dest": DEST}, "/src/layer"),
    ({"src": {**SRC, "pattern": "("}, "dest": DEST}, "/src/pattern"),
    ({"src": {**SRC, "pattern": "(a)", "match_group": 2}, "dest": DEST}, "/src/match_group"),
    ({"src": {**SRC, "pattern": "(a)", "match_group": -1}, "dest": DEST}, "/src/match_group"),
    ({"src": {**SRC, "pattern": "(a)", "match_group": True}, "dest": DEST}, "/src/match_group"),
    ({"src": {**SRC, "deepcopy": "yes"}, "dest": DEST}, "/src/deepcopy"),
    ({"src": SRC, "dest": {}}, "/dest/path"),
    ({"src": SRC, "dest": {"path": "a.b"}}, "/dest/path"),
    ({"src": SRC, "dest": [DEST, {"path": "a"}]}, "/dest/1/path"),
    ({"src": SRC, "dest": {**DEST, "more": 1}}, "/dest/more"),
    ({"src": SRC, "dest": {**DEST, "recurse": 1}}, "/dest/recurse"),
    ({"src": SRC, "dest": {**DEST, "recurse": {"depth": -2}}}, "/dest/recurse/depth"),
    ({"src": SRC, "dest": {**DEST, "recurse": {"depth": True}}}, "/dest/recurse/depth"),
    ({"src": SRC, "dest": {**DEST, "recurse": {"depth": 1, "more": 1}}}, "/dest/recurse/more"),
]


@every_row([(one, rest) for one, *rest in IN_SUBSTITUTIONS])
def test_a_substitution_of_the_wrong_shape_is_refused_with_its_place(substitution: Any, places: list[str]) -> None:
    good = {"src": SRC, "dest": DEST}

    assert sorted(set(faults(plain(substitutions=[good, substitution])))) == sorted(
        f"{SUBSTITUTIONS}/1{place}" for place in places
    )


@every_row([None, {}, "text", {"src": SRC, "dest": DEST}])
def test_substitutions_must_be_a_list(value: Any) -> None:
    assert faults(plain(substitutions=value)) == [SUBSTITUTIONS]


IN_CONTROL = {
    "no name": (control(name=""), "/metadata/name"),
    "labels that are no text": (control(labels={"a": 1}), "/metadata/labels"),
    "a layer too long to keep": (control(layeringDefinition={"layer": "l" * 65}), f"{LAYERING}/layer"),
    **{
        f"policy {data!r}": (control("deckhand/LayeringPolicy/v1", data), "/data/layerOrder")
        for data in (
            {},
            [CANARY],
            CANARY,
            {"layerOrder": []},
            {"layerOrder": CANARY},
            {"layerOrder": [3]},
            {"layerOrder": [""]},
            {"layerOrder": ["a", "a"]},
            {"layerOrder": ["l" * 65]},
            {"layerOrder": {"a": CANARY}},
        )
    },
    "policy: more": (control("deckhand/LayeringPolicy/v1", {"layerOrder": ["a"], "more": CANARY}), "/data/more"),
    **{
        f"data schema {data!r}": (control("deckhand/DataSchema/v1", data), "/data")
        for data in (["a"], CANARY, 3, {"type": "nonsense"}, {"properties": []}, {"$ref": "http://x.example/"})
    },
    **{
        f"validations {data!r}": (control("deckhand/ValidationPolicy/v1", data), f"/data/validations{place}")
        for data, place in (
            ({}, ""),
            ([CANARY], ""),
            ({"validations": CANARY}, ""),
            ({"validations": [CANARY]}, "/0"),
            ({"validations": [{}]}, "/0"),
            ({"validations": [{"name": CANARY}]}, "/0"),
            ({"validations": [{"name": "-validation"}]}, "/0"),
            ({"validations": [{"name": "a-validation"}, {"name": 3}]}, "/1"),
            ({"validations": [{"name": "a-validation", "more": CANARY}]}, "/0/more"),
        )
    },
}


@every_row(IN_CONTROL)
def test_a_control_document_of_the_wrong_shape_is_refused_with_its_place(entry: dict[str, Any], place: str) -> None:
    assert faults(entry) == [place]


@every_row([{"a": CANARY}, [CANARY], 7, None, True])
def test_data_of_a_secret_kind_must_be_text(data: Any) -> None:
    assert faults(document("deckhand/Passphrase/v1", "one", data)) == ["/data"]


def test_a_finding_says_which_document_is_meant_and_cuts_what_is_far_too_long_for_a_message() -> None:
    (finding,) = parse_documents([plain(name="n" * 500)])[1]

    assert "Document 1" in finding.message
    assert "a/B/v1" in finding.message
    assert len(finding.message) < 250


@every_row(
    {
        "text": "site",
        "list": ["site"],
        "layer of another type": {"layer": ["site"]},
        "null": None,
    },
)
def test_a_control_document_may_carry_any_layering_and_is_part_of_the_design(layering: object) -> None:
    documents, findings = parse_documents([control(layeringDefinition=layering)])

    assert findings == ()
    assert documents[0].layer == ""
    assert documents[0].is_concrete


# Which documents are the same


def test_two_documents_of_one_schema_layer_and_name_are_refused() -> None:
    twin = document("a/B/v1", "one", {"k": CANARY})

    _, (finding,) = parse_documents([twin, document("a/C/v1", "one", {}), twin])

    assert finding.name == "DuplicateDocument"
    assert "Documents 1 and 3" in finding.message
    assert [(ref.schema, ref.name, ref.layer) for ref in finding.documents] == [("a/B/v1", "one", "site")]
    assert CANARY not in str(finding)


def test_finding_a_document_needs_exactly_one_of_that_schema_and_name() -> None:
    documents, _ = parse_documents(
        [
            document("a/B/v1", "once", {}),
            document("a/B/v1", "twice", {}),
            document("a/B/v1", "twice", {}, layeringDefinition={"layer": "global"}),
        ]
    )

    assert find(documents, "a/B/v1", "once") is documents[0]
    assert find(documents, "a/B/v1", "twice") is None
    assert find(documents, "a/B/v1", "never") is None
    assert find(documents, "a/C/v1", "once") is None


def test_a_document_does_not_show_its_data_where_it_is_printed() -> None:
    (parsed,), _ = parse_documents([plain()])

    assert CANARY not in repr(parsed)
