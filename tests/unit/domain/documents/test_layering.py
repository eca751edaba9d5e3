"""Who is whose parent, what a child makes of its parent's data, and who stands in for whom."""

from typing import Any

import pytest

from shipyard_api.domain.documents import render
from tests.designs import POLICY, SCHEMAS, data_of, in_layer, names_of, rendered, stored, taking, wrong
from tests.factories import document, layering_policy
from tests.unit.tables import every_row

PARENT = {"role": "parent"}


METHODS = [
    # merge
    pytest.param({"a": {"x": 1, "y": {"z": 1}}}, {"a": {"y": {"w": 2}}}, [("merge", ".")],
                 {"a": {"x": 1, "y": {"z": 1, "w": 2}}}, id="merge goes down mappings"),
    pytest.param({"l": [1, 2, 3]}, {"l": [9]}, [("merge", ".")], {"l": [9]}, id="merge replaces a list whole"),
    pytest.param({"s": 1, "t": 2}, {"s": None}, [("merge", ".")], {"s": None, "t": 2}, id="a null inside replaces"),
    pytest.param({"s": 3}, {"s": {"a": 1}}, [("merge", ".s")], {"s": {"a": 1}}, id="merge of a mapping over a scalar"),
    pytest.param(..., {"a": 1}, [("merge", ".")], {"a": 1}, id="merge over a parent that is null"),
    # replace
    pytest.param({"a": {"x": 1}, "b": 2}, {"a": {"y": 1}}, [("replace", ".a")], {"a": {"y": 1}, "b": 2},
                 id="replace does not go down"),
    *(
        pytest.param({"a": 1}, {"a": value}, [(method, ".a")], {"a": value}, id=f"{method}: {value!r} is a value")
        for method in ("merge", "replace")
        for value in (False, 0, "", [], {})
    ),
    # delete
    pytest.param({"a": {"x": 1, "y": 1}}, {}, [("delete", ".a.y")], {"a": {"x": 1}},
                 id="delete at the path, not an equal neighbour"),
    pytest.param({"a": 1}, {}, [("delete", ".")], {}, id="delete of the root empties"),
    pytest.param({"a": False, "b": 0, "c": ""}, {}, [("delete", ".a"), ("delete", ".b"), ("delete", ".c")], {},
                 id="false, 0 and the empty text can be deleted"),
    pytest.param({"l": [1, 2, 3], "m": 1}, {}, [("delete", ".l[*]")], {"l": [], "m": 1}, id="delete of every element"),
    pytest.param({"a": 1, "b": 2}, {"a": 9}, [("delete", ".a")], {"b": 2}, id="the child plays no part in delete"),
    # order and reach
    pytest.param({"a": {"x": 1}}, {"a": {"y": 2}}, [("delete", ".a"), ("merge", ".a")], {"a": {"y": 2}},
                 id="actions in order: delete, then merge"),
    pytest.param({"a": {"x": 1}}, {"a": {"y": 2}}, [("merge", ".a"), ("delete", ".a.x")], {"a": {"y": 2}},
                 id="actions in order: merge, then delete"),
    pytest.param({"a": 1}, {"a": 2, "b": 3}, [("replace", ".a")], {"a": 2}, id="what no action names is not taken"),
    pytest.param({"l": [{"x": 1}, {"x": 2}]}, {"l": [{"x": 7}, {"x": 8}]}, [("replace", ".l[*].x")],
                 {"l": [{"x": 7}, {"x": 7}]}, id="every match is written, with the first match of the child"),
    pytest.param({}, {"l": [0, 0, {"k": 5}]}, [("replace", ".l[2].k")], {"l": [{}, {}, {"k": 5}]},
                 id="a list is made and filled up with empty mappings"),
    # paths
    *(
        pytest.param({"a": 1, "b": 1}, {"a": 2}, [("replace", path)], {"a": 2, "b": 1}, id=f"path {path}")
        for path in (".a", "a", "$.a", ".data.a", "$.data.a", "data.a", ".'a'", "['a']", "$['a']", ".data['a']")
    ),
    *(
        pytest.param({"a": 1}, {"b": 2}, [("replace", path)], {"b": 2}, id=f"root {path}")
        for path in (".", "$", ".data", "$.data", "data")
    ),
]  # fmt: skip


@every_row(METHODS)
def test_actions(parent: Any, child: Any, actions: list[tuple[str, str]], result: Any) -> None:
    data = data_of(
        in_layer("global", "parent", parent, labels=PARENT),
        in_layer("site", "child", child, parent=PARENT, actions=actions),
    )

    assert data["child"] == result
    assert type(data["child"]) is type(result)
    assert data["parent"] == (None if parent is ... else parent)


@every_row(
    {
        "merge: missing in the child": ({"a": 1}, {}, ("merge", ".a")),
        "merge: the child is null": ({"a": 1}, ..., ("merge", ".")),
        "replace: missing in the child": ({"a": 1}, {}, ("replace", ".a")),
        "delete: missing in the parent": ({}, {"a": 1}, ("delete", ".a")),
        "delete: the list is too short": ({"l": [1]}, {"l": [1, 2]}, ("delete", ".l[1]")),
        "a wildcard that matches nothing": ({"l": []}, {"l": [1]}, ("replace", ".l[*]")),
        "no mapping to go on from": ({"a": "text"}, {"a": {"b": 1}}, ("merge", ".a.b")),
    },
)
def test_an_action_that_finds_nothing_is_told_with_the_document_and_the_path(
    parent: Any, child: Any, action: tuple[str, str]
) -> None:
    (finding,) = wrong(
        in_layer("global", "parent", parent, labels=PARENT),
        in_layer("site", "child", child, parent=PARENT, actions=[action]),
    )

    assert finding.name == "MissingDocumentKey"
    assert [(ref.name, ref.layer) for ref in finding.documents] == [("child", "site")]
    assert f"'{action[0]}' at '{action[1]}'" in finding.message


def test_only_data_is_inherited() -> None:
    child = rendered(
        in_layer("global", "parent", {"a": 1}, labels={**PARENT, "zone": "x"}),
        in_layer("site", "child", parent=PARENT, labels={"own": "yes"}),
    )["child"]

    assert child.document.metadata["labels"] == {"own": "yes"}
    assert child.document.layer == "site"


def test_a_chain_over_all_layers_is_made_from_the_outside() -> None:
    data = data_of(
        in_layer("site", "d", {"d": 4, "o": "d"}, parent={"n": "c"}),
        in_layer("type", "c", {"c": 3, "o": "c"}, parent={"n": "b"}, labels={"n": "c"}),
        in_layer("region", "b", {"b": 2, "o": "b"}, parent={"n": "a"}, labels={"n": "b"}, abstract=True),
        in_layer("global", "a", {"a": 1, "o": "a"}, labels={"n": "a"}, abstract=True),
    )

    assert data == {"c": {"a": 1, "b": 2, "c": 3, "o": "c"}, "d": {"a": 1, "b": 2, "c": 3, "d": 4, "o": "d"}}


def test_the_parent_in_the_nearest_outer_layer_is_taken() -> None:
    data = data_of(
        in_layer("global", "far", {"from": "far"}, labels=PARENT),
        in_layer("type", "near", {"from": "near"}, labels=PARENT),
        in_layer("region", "between", {"from": "between"}, labels=PARENT),
        in_layer("site", "child", parent=PARENT),
    )

    assert data["child"] == {"from": "near"}


def test_every_label_of_the_selector_must_fit_and_others_do_not_matter() -> None:
    data = data_of(
        in_layer("global", "half", {"from": "half"}, labels={"a": "1"}),
        in_layer("region", "whole", {"from": "whole"}, labels={"a": "1", "b": "2", "c": "3"}),
        in_layer("type", "other", {"from": "other"}, labels={"a": "1", "b": "3"}),
        in_layer("site", "child", parent={"a": "1", "b": "2"}),
    )

    assert data["child"] == {"from": "whole"}


@every_row(
    [(1, "1"), ("1", 1), (True, 1), (1, True), ("true", True), (None, "null"), ([1], ["1"]), ({"a": 1}, {"a": True})],
)
def test_labels_of_different_types_are_different(label: Any, wanted: Any) -> None:
    data = data_of(
        in_layer("global", "parent", {"a": 1}, labels={"k": label}),
        in_layer("site", "child", {"b": 2}, parent={"k": wanted}),
    )

    assert data["child"] == {"b": 2}


@every_row([1, "1", True, None, 1.5, [1, {"a": 2}], {"a": [1]}])
def test_labels_of_any_type_can_be_selected_by(label: Any) -> None:
    data = data_of(
        in_layer("global", "parent", {"a": 1}, labels={"k": label}),
        in_layer("site", "child", {"b": 2}, parent={"k": label}),
    )

    assert data["child"] == {"a": 1, "b": 2}


def test_a_document_whose_selector_fits_nobody_stays_as_written() -> None:
    data = data_of(in_layer("site", "child", {"b": 2}, parent=PARENT, actions=[("delete", ".nowhere")]))

    assert data == {"child": {"b": 2}}


def test_a_document_is_not_its_own_parent() -> None:
    assert data_of(in_layer("site", "one", {"b": 2}, parent=PARENT, labels=PARENT)) == {"one": {"b": 2}}


@every_row(
    {
        "another kind": ([in_layer("global", "p", schema="test/Other/v1", labels=PARENT)], ["p"]),
        "the same layer": ([in_layer("type", "p", labels=PARENT)], ["p"]),
        "beside a good one": ([in_layer("global", "good", labels=PARENT), in_layer("site", "p", labels=PARENT)], ["p"]),
    },
)
def test_labels_that_lead_to_an_unfit_document_are_an_error(others: list[dict[str, Any]], named: list[str]) -> None:
    (finding,) = wrong(*others, in_layer("type", "child", parent=PARENT))

    assert finding.name == "InvalidDocumentParent"
    assert [ref.name for ref in finding.documents] == ["child"]
    for name in named:
        assert f"'{name}'" in finding.message
    assert "'good'" not in finding.message


@every_row(["region", "global"])
def test_two_that_fit_in_one_layer_are_an_error(layer: str) -> None:
    (finding,) = wrong(
        in_layer(layer, "one", labels=PARENT),
        in_layer(layer, "two", labels=PARENT),
        in_layer("region", "near", labels={} if layer == "region" else PARENT),
        in_layer("type", "child", parent=PARENT),
    )

    assert finding.name == "IndeterminateDocumentParent"
    assert [ref.name for ref in finding.documents] == ["child"]
    assert "'one'" in finding.message
    assert "'two'" in finding.message


def test_a_layer_that_the_policy_does_not_name_is_an_error_and_the_message_names_those_it_does() -> None:
    (finding,) = wrong(in_layer("rack", "one"), in_layer("site", "two"))

    assert names_of([finding]) == [("InvalidDocumentLayer", ["one"])]
    assert "'rack'" in finding.message
    assert "global, region, type, site" in finding.message


def test_without_a_policy_nothing_is_said_of_documents_that_have_not_met_their_parents() -> None:
    findings = wrong(
        in_layer("global", "parent", {"a": 1}, labels=PARENT),
        in_layer("site", "child", parent=PARENT),
        in_layer("site", "user", substitutions=[taking("child", ".a", ".b")]),
        in_layer("site", "lost", substitutions=[taking("nobody", ".", ".b")]),
        policy=None,
    )

    assert names_of(findings) == [("LayeringPolicyNotFound", []), ("SubstitutionSourceNotFound", ["lost"])]


def test_two_policies_are_an_error_that_names_both() -> None:
    (finding,) = wrong(layering_policy("site", name="other"), in_layer("site", "one"))

    assert finding.name == "SingletonDocumentConflict"
    assert "'layering-policy'" in finding.message
    assert "'other'" in finding.message


@every_row([None, [], {"layerOrder": "site"}, {"layerOrder": [1]}])
def test_a_policy_that_got_in_broken_is_a_finding_about_it(data: object) -> None:
    # A document that calls itself an ordinary one is not checked as a policy when it is loaded.
    (finding,) = wrong(document("deckhand/LayeringPolicy/v1", "p", data), in_layer("site", "one"), policy=None)

    assert names_of([finding]) == [("D001", ["p"])]


def test_control_documents_are_nobodys_parents() -> None:
    policy = {**POLICY, "metadata": {**POLICY["metadata"], "labels": PARENT}}

    design, findings = render(stored(policy, in_layer("site", "c", {"b": 1}, parent=PARENT)), SCHEMAS)

    assert findings == ()
    assert {"b": 1} in [one.document.data for one in design.documents]


# Replacement (B8)


def replaced(**more: Any) -> list[dict[str, Any]]:
    return [
        in_layer("global", "one", {"a": 1, "b": 1}, labels=PARENT),
        in_layer("site", "one", {"b": 2}, parent=PARENT, replacement=True, **more),
    ]


def test_a_replacement_stands_in_for_its_parent() -> None:
    result = rendered(*replaced())

    assert list(result) == ["one"]
    assert result["one"].document.layer == "site"
    assert result["one"].document.data == {"a": 1, "b": 2}


@every_row(["region", "type", "site"])
def test_other_children_of_a_replaced_parent_start_from_the_replacement_whichever_layer_they_are_in(layer: str) -> None:
    data = data_of(*replaced(), in_layer(layer, "child", {"c": 3}, parent=PARENT))

    assert data == {"one": {"a": 1, "b": 2}, "child": {"a": 1, "b": 2, "c": 3}}


def test_who_takes_from_a_replaced_document_takes_from_the_replacement() -> None:
    data = data_of(*replaced(), in_layer("global", "user", substitutions=[taking("one", ".b", ".x")]))

    assert data["user"] == {"x": 2}


def test_an_abstract_replacement_leaves_nothing_to_see_or_to_take() -> None:
    parent, replacement = replaced()
    replacement["metadata"]["layeringDefinition"]["abstract"] = True

    assert data_of(parent, replacement, in_layer("type", "child", parent=PARENT)) == {"child": {"a": 1, "b": 2}}
    (finding,) = wrong(parent, replacement, in_layer("site", "user", substitutions=[taking("one", ".a", ".x")]))
    assert finding.name == "SubstitutionSourceNotFound"
    assert "abstract" in finding.message


@every_row(
    {
        "without a selector": ([in_layer("site", "one", replacement=True)], ["one"]),
        "of another name": (
            [in_layer("global", "p", labels=PARENT), in_layer("site", "one", replacement=True, parent=PARENT)],
            ["one"],
        ),
        "a child of the same name that is no replacement": (
            [in_layer("global", "one", labels=PARENT), in_layer("site", "one", parent=PARENT)],
            ["one", "one"],
        ),
        "a replacement of a replacement": (
            [
                in_layer("global", "one", labels=PARENT),
                in_layer("region", "one", labels={"n": "2"}, parent=PARENT, replacement=True),
                in_layer("site", "one", parent={"n": "2"}, replacement=True),
            ],
            ["one"],
        ),
        "two replacements of one document": (
            [
                in_layer("global", "one", labels=PARENT),
                in_layer("region", "one", parent=PARENT, replacement=True),
                in_layer("site", "one", parent=PARENT, replacement=True),
            ],
            ["one", "one", "one"],
        ),
        "a third beside a document and its stand-in": ([*replaced(), in_layer("type", "one")], ["one", "one", "one"]),
    },
)
def test_replacements_that_are_none(entries: list[dict[str, Any]], about: list[str]) -> None:
    (finding,) = wrong(*entries)

    assert names_of([finding]) == [("InvalidDocumentReplacement", about)]


def test_where_a_replacement_is_wrong_nothing_is_said_of_those_that_would_need_it() -> None:
    findings = wrong(
        in_layer("global", "one", {"a": 1}, labels=PARENT),
        in_layer("site", "one", {"b": 2}, parent={"no": "body"}, replacement=True),
        in_layer("site", "user", substitutions=[taking("one", ".b", ".x")]),
        in_layer("site", "child", {}, parent=PARENT, actions=[("delete", ".b")]),
    )

    assert names_of(findings) == [("InvalidDocumentReplacement", ["one"])]


def test_of_two_documents_of_one_name_neither_is_taken_from_nor_blamed_for_what_follows() -> None:
    twins = [
        in_layer(layer, "one", substitutions=[taking("one", ".a", ".a"), taking("one", ".nothing", ".b")])
        for layer in ("global", "site")
    ]
    findings = wrong(*twins, in_layer("site", "user", substitutions=[taking("one", ".nothing", ".x")]))

    assert names_of(findings) == [("InvalidDocumentReplacement", ["one", "one"])]


def test_a_replacement_that_takes_from_its_own_name_needs_itself() -> None:
    (finding,) = wrong(*replaced(substitutions=[taking("one", ".a", ".c")]))

    assert finding.name == "SubstitutionDependencyCycle"


def test_the_children_of_a_child_start_from_the_child_as_it_was_made() -> None:
    data = data_of(
        in_layer("global", "a", {"x": "HOST:1"}, labels={"n": "a"}),
        in_layer(
            "type", "b", parent={"n": "a"}, labels={"n": "b"},
            substitutions=[taking("host", ".name", {"path": ".x", "pattern": "HOST"})],
        ),
        in_layer("site", "c", {"y": 1}, parent={"n": "b"}),
        in_layer("site", "host", {"name": "n1"}),
    )  # fmt: skip

    assert data["c"] == {"x": "n1:1", "y": 1}
    assert data["a"] == {"x": "HOST:1"}
