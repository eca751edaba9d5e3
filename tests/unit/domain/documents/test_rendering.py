"""From documents to a design: what is in it, what is left out, and everything that stands in its way at once."""

from typing import Any

from shipyard_api.domain.documents import Collection, Revision, StoredDocument, parse_documents, render
from tests.designs import (
    KIND,
    POLICY,
    SCHEMAS,
    data_of,
    data_schema,
    in_layer,
    names_of,
    rendered,
    stored,
    taking,
    wrong,
)
from tests.unit.tables import every_row

PARENT = {"role": "parent"}
POSITIVE = data_schema(KIND, {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}})


# What a design holds


def test_abstract_and_replaced_documents_are_left_out() -> None:
    design = rendered(
        in_layer("global", "abstract", abstract=True),
        in_layer("global", "one", labels=PARENT),
        in_layer("site", "one", parent=PARENT, replacement=True),
        in_layer("site", "two"),
    )

    assert [(one.document.name, one.document.layer) for one in design.values()] == [("one", "site"), ("two", "site")]


def test_control_documents_pass_unchanged_but_for_validation_policies_which_are_never_shown() -> None:
    validation = {
        "schema": "deckhand/ValidationPolicy/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": "v"},
        "data": {"validations": []},
    }
    documents = stored(POLICY, POSITIVE, validation)
    design, findings = render(documents, SCHEMAS)

    assert findings == ()
    assert [one.document for one in design.documents] == [documents[1].document, documents[0].document]


def test_an_empty_revision_lacks_a_policy_and_a_policy_alone_is_a_design() -> None:
    assert [one.name for one in render([], SCHEMAS)[1]] == ["LayeringPolicyNotFound"]
    design, findings = render(stored(POLICY), SCHEMAS)
    assert findings == ()
    assert len(design.documents) == 1


def test_a_rendered_document_says_which_collection_holds_it_and_since_when() -> None:
    (policy, one), _ = parse_documents([POLICY, in_layer("site", "one")])
    held = [StoredDocument(policy, Collection("a"), Revision(1)), StoredDocument(one, Collection("b"), Revision(7))]

    design, _ = render(held, SCHEMAS)

    assert [(one.collection, one.since) for one in design.documents] == [("a", 1), ("b", 7)]


def test_documents_of_one_name_and_of_different_schemas_are_different() -> None:
    taker = in_layer("site", "user", substitutions=[taking("x", ".v", ".v", schema="test/Other/v1")])

    found = render(
        stored(POLICY, in_layer("site", "x", {"v": 1}), in_layer("site", "x", {"v": 2}, schema="test/Other/v1"), taker),
        SCHEMAS,
    )[0]
    assert [one.document.data for one in found.documents if one.document.name == "user"] == [{"v": 2}]


def test_a_document_may_take_from_a_control_document() -> None:
    taker = in_layer(
        "site", "u", substitutions=[taking("layering-policy", ".layerOrder[0]", ".x", schema=POLICY["schema"])]
    )

    assert data_of(taker) == {"u": {"x": "global"}}


# Circles


def circle(*names: str, **more: Any) -> list[dict[str, Any]]:
    following = [*names[1:], names[0]]
    return [
        in_layer("site", name, {"v": 1}, substitutions=[taking(after, ".v", ".v")], **more)
        for name, after in zip(names, following, strict=True)
    ]


@every_row(
    {
        "itself": (circle("a"), "'a' needs test/Kind/v1 'a'."),
        "two": (circle("a", "b"), "'a' needs test/Kind/v1 'b' needs test/Kind/v1 'a'."),
        "three": (circle("b", "c", "a"), "'a' needs test/Kind/v1 'b' needs test/Kind/v1 'c' needs test/Kind/v1 'a'."),
        "over a parent": (
            [
                in_layer("global", "p", {}, labels=PARENT, substitutions=[taking("c", ".v", ".v")]),
                in_layer("site", "c", {"v": 1}, parent=PARENT),
            ],
            "'c' needs test/Kind/v1 'p' needs test/Kind/v1 'c'.",
        ),
    },
)
def test_a_circle_is_told_with_its_path(entries: list[dict[str, Any]], path: str) -> None:
    (finding,) = wrong(*entries)

    assert finding.name == "SubstitutionDependencyCycle"
    assert path in finding.message
    assert sorted(ref.name for ref in finding.documents) == sorted(entry["metadata"]["name"] for entry in entries)


def test_every_circle_is_told_once_and_those_who_need_one_are_not_blamed() -> None:
    findings = wrong(
        *circle("a", "b"),
        *circle("x", "y", "z"),
        in_layer("site", "needs", substitutions=[taking("a", ".v", ".v"), taking("x", ".v", ".w")]),
        in_layer("site", "fine", {"n": 0}),
        POSITIVE,
    )

    assert names_of(findings) == [
        ("SubstitutionDependencyCycle", ["a", "b"]),
        ("SubstitutionDependencyCycle", ["x", "y", "z"]),
        ("D002", ["fine"]),
    ]


def test_a_long_circle_is_cut_in_the_message() -> None:
    (finding,) = wrong(*circle(*(f"n{i:03}" for i in range(300))))

    assert "'n000' needs" in finding.message
    assert finding.message.endswith("'n000'.")
    assert "more)" in finding.message
    assert len(finding.message) < 1000
    assert len(finding.documents) <= 20


# Everything at once, and nothing that only follows


def test_a_broken_document_hides_no_finding_of_others() -> None:
    findings = wrong(
        in_layer("rack", "layer"),
        in_layer("global", "p1", labels=PARENT),
        in_layer("global", "p2", labels=PARENT),
        in_layer("site", "parents", parent=PARENT),
        in_layer("site", "replaces", replacement=True),
        in_layer("site", "source", substitutions=[taking("nobody", ".", ".")]),
        in_layer("global", "base", {"a": 1}, labels={"n": "base"}),
        in_layer("site", "key", parent={"n": "base"}, actions=[("delete", ".b")]),
        in_layer("site", "value", substitutions=[taking("base", ".b", ".b")]),
        in_layer("site", "place", {"t": 1}, substitutions=[taking("base", ".a", ".t.x")]),
        *circle("c"),
        in_layer("site", "schema", {"n": 0}),
        POSITIVE,
    )

    assert sorted(names_of(findings)) == sorted(
        [
            ("InvalidDocumentLayer", ["layer"]),
            ("IndeterminateDocumentParent", ["parents"]),
            ("InvalidDocumentReplacement", ["replaces"]),
            ("SubstitutionSourceNotFound", ["source"]),
            ("SubstitutionDependencyCycle", ["c"]),
            ("MissingDocumentKey", ["key"]),
            ("SubstitutionSourceDataNotFound", ["value", "base"]),
            ("UnknownSubstitutionError", ["place", "base"]),
            ("D002", ["schema"]),
        ]
    )
    layering = "/metadata/layeringDefinition"
    assert {one.name: one.path for one in findings} == {
        "InvalidDocumentLayer": f"{layering}/layer",
        "IndeterminateDocumentParent": f"{layering}/parentSelector",
        "InvalidDocumentReplacement": "/metadata/replacement",
        "MissingDocumentKey": f"{layering}/actions/0",
        "SubstitutionDependencyCycle": "",
        "D002": "/n",
    } | dict.fromkeys(
        ("SubstitutionSourceNotFound", "SubstitutionSourceDataNotFound", "UnknownSubstitutionError"),
        "/metadata/substitutions/0",
    )


def test_nothing_is_said_of_documents_that_need_a_broken_one() -> None:
    findings = wrong(
        in_layer("site", "broken", substitutions=[taking("nobody", ".", ".")], labels=PARENT),
        in_layer("site", "user", {"n": 0}, substitutions=[taking("broken", ".x", ".y")]),
        in_layer("site", "users-user", {"n": 0}, substitutions=[taking("user", ".x", ".y")]),
        POSITIVE,
    )

    assert names_of(findings) == [("SubstitutionSourceNotFound", ["broken"])]


def test_all_faults_of_one_document_are_told() -> None:
    findings = wrong(
        in_layer("global", "p", {"a": 1}, labels=PARENT),
        in_layer("site", "c", {"x": 1}, parent=PARENT, actions=[("delete", ".b"), ("merge", ".y"), ("merge", ".x")]),
        in_layer(
            "site", "s", substitutions=[taking("p", ".b", ".b"), taking("p", ".c", ".c"), taking("p", ".a", ".a")]
        ),
    )

    assert names_of(findings) == [
        ("MissingDocumentKey", ["c"]),
        ("MissingDocumentKey", ["c"]),
        ("SubstitutionSourceDataNotFound", ["s", "p"]),
        ("SubstitutionSourceDataNotFound", ["s", "p"]),
    ]


# Data schemas


def test_data_that_breaks_a_schema_is_told_with_the_place_the_rule_and_the_schema() -> None:
    (finding,) = wrong(POSITIVE, in_layer("site", "one", {"n": 0}))

    assert finding.name == "D002"
    assert finding.path == "/n"
    assert [(ref.schema, ref.name, ref.layer) for ref in finding.documents] == [(KIND, "one", "site")]
    assert KIND in finding.diagnostic
    assert "/properties/n/minimum" in finding.diagnostic


def test_data_is_checked_as_rendered_not_as_written() -> None:
    assert data_of(
        POSITIVE,
        in_layer("global", "p", {"n": 1}, labels=PARENT),
        in_layer("site", "c", {"n": -5}, parent=PARENT, actions=[("delete", ".n")]),
        in_layer("site", "s", {"n": -5}, substitutions=[taking("p", ".n", ".n")]),
    )
    assert wrong(
        POSITIVE,
        in_layer("global", "p", {"n": 1, "m": "x"}, labels=PARENT),
        in_layer("site", "c", {"n": -5}, parent=PARENT),
    )


def test_abstract_and_replaced_documents_are_exempt() -> None:
    assert data_of(
        POSITIVE,
        in_layer("global", "p", {"n": 0}, labels=PARENT, abstract=True),
        in_layer("global", "one", {"n": 0}, labels={"n": "1"}),
        in_layer("site", "one", {"n": 1}, parent={"n": "1"}, replacement=True),
    ) == {"one": {"n": 1}}


@every_row(["test/Kind/v2", "test/Other/v1", "a/Kind/v1"])
def test_the_schema_holds_for_exactly_its_kind_and_version(schema: str) -> None:
    assert data_of(POSITIVE, in_layer("site", "one", {"n": 0}, schema=schema)) == {"one": {"n": 0}}


def test_all_schemas_of_a_kind_must_hold() -> None:
    other = data_schema(KIND, {"required": ["m"]})
    other["metadata"]["layeringDefinition"] = {"layer": "site"}

    findings = wrong(POSITIVE, other, in_layer("site", "one", {"n": 0}))

    assert sorted(one.path for one in findings) == ["", "/n"]


@every_row(["deckhand/Passphrase/v1", "deckhand/CertificateAuthorityKey/v1"])
def test_a_built_in_schema_wins_over_one_of_the_same_name(schema: str) -> None:
    stricter = data_schema(schema, {"type": "integer"})

    assert data_of(stricter, in_layer("site", "one", "text", schema=schema)) == {"one": "text"}


def test_a_secret_that_is_rendered_into_something_else_than_text_is_told_without_its_data() -> None:
    (finding,) = wrong(
        in_layer("site", "source", {"CANARY": "CANARY"}),
        in_layer(
            "site", "one", "old", schema="deckhand/Passphrase/v1", storagePolicy="encrypted",
            substitutions=[taking("source", ".", ".")],
        ),
    )  # fmt: skip

    assert names_of([finding]) == [("D002", ["one"])]
    assert "CANARY" not in str(finding)


QUOTING = data_schema(
    KIND,
    {
        "additionalProperties": False,
        "properties": {
            "t": {"type": "integer"},
            "e": {"enum": [1]},
            "p": {"pattern": "^x$"},
            "l": {"uniqueItems": True, "maxItems": 1},
            "o": {"not": {}},
            "m": {"additionalProperties": False},
        },
    },
)
CANARY = "CANARY-4711"
INTO = (".t", ".e", ".p", ".l[0]", ".l[1]", ".o.k", ".m.z")
QUOTED = {
    "t": CANARY, "e": CANARY, "p": CANARY, "l": [CANARY, CANARY], "o": {"k": CANARY}, "m": {"z": CANARY},
}  # fmt: skip


@every_row(
    {
        "encrypted": [in_layer("site", "one", {**QUOTED, CANARY: 1}, storagePolicy="encrypted")],
        "took a secret": [
            in_layer("site", "s", CANARY, schema="deckhand/Passphrase/v1", storagePolicy="encrypted"),
            in_layer(
                "site",
                "one",
                {"m": {}, "l": []},
                substitutions=[taking("s", ".", *INTO, schema="deckhand/Passphrase/v1")],
            ),
        ],
        "has substitutions, none of them secret": [
            in_layer("site", "source", {"v": CANARY}, schema="test/Free/v1"),
            in_layer("site", "one", QUOTED, substitutions=[taking("source", ".v", ".t", schema="test/Free/v1")]),
        ],
        "child of a secret": [
            in_layer("global", "p", {**QUOTED, CANARY: 1}, labels=PARENT, storagePolicy="encrypted", abstract=True),
            in_layer("site", "one", parent=PARENT),
        ],
    },
)
def test_data_that_is_secret_or_was_put_together_is_never_quoted(entries: list[dict[str, Any]]) -> None:
    findings = wrong(QUOTING, *entries)

    assert len(findings) >= 6
    assert {one.documents[0].name for one in findings} == {"one"}
    assert CANARY not in str(findings)


def test_a_schema_that_is_none_is_a_finding_about_it_when_nobody_looked_before() -> None:
    entries = [POLICY, data_schema(KIND, {"type": "nonsense"}), in_layer("site", "a"), in_layer("site", "b")]
    documents, findings = parse_documents(entries)
    assert findings == ()

    design, findings = render([StoredDocument(one, Collection("c"), Revision(1)) for one in documents], SCHEMAS)

    assert design is None
    assert names_of(findings) == [("D002", [KIND])]


def test_more_faults_of_one_document_than_anybody_reads_are_cut() -> None:
    schema = data_schema(KIND, {"additionalProperties": {"type": "integer"}})

    findings = wrong(schema, in_layer("site", "one", {f"k{i}": "x" for i in range(1000)}))

    assert 50 < len(findings) <= 200


def test_a_secret_document_that_cannot_be_checked_says_why() -> None:
    schema = data_schema(KIND, {"properties": {"v": {"anyOf": [{"$ref": "#"}] * 2}}})
    value: Any = 1
    for _ in range(30):
        value = {"v": value}

    (finding,) = wrong(schema, in_layer("site", "one", value, storagePolicy="encrypted"))

    assert finding.name == "D002"
    assert "steps for this document; at most 2,000,000" in finding.message


def test_checking_is_given_up_when_its_time_is_over() -> None:
    documents, _ = parse_documents([POLICY, data_schema(KIND, {}), in_layer("site", "a"), in_layer("site", "b")])
    stored = [StoredDocument(one, Collection("c"), Revision(1)) for one in documents]

    design, findings = render(stored, SCHEMAS, lambda: True)

    assert design is None
    assert names_of(findings) == [("DesignTooSlow", ["a"])]
