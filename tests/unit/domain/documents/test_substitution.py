"""What documents take from each other, where it is put, and what cannot be done."""

from itertools import product
from typing import Any

import pytest

from tests.designs import data_of, in_layer, names_of, taking, wrong
from tests.unit.tables import every_row

SOURCE = {
    "text": "http://host:8080/x",
    "number": 8080,
    "real": 1.5,
    "yes": True,
    "no": False,
    "map": {"b": 1, "c": {"d": 2}},
    "list": [1, {"e": 3}],
    "zero": 0,
    "empty": "",
    "a.b/c": "odd",
    "slash": r"\1\g<0>\n",
}


def user(*substitutions: dict[str, Any], data: Any = None, **more: Any) -> dict[str, Any]:
    return in_layer("site", "user", data, substitutions=list(substitutions), **more)


def source(data: Any = None, name: str = "source", **more: Any) -> dict[str, Any]:
    return in_layer("site", name, SOURCE if data is None else data, **more)


@every_row([key for key in SOURCE if key not in ("null", "a.b/c")])
def test_a_value_of_any_type_is_put_as_it_is(key: str) -> None:
    taken = data_of(source(), user(taking("source", f".{key}", ".x")))["user"]["x"]

    assert taken == SOURCE[key]
    assert type(taken) is type(SOURCE[key])


WITHOUT_PATTERN = [
    pytest.param(".map", [".x"], {"x": {"z": 9}}, {"x": SOURCE["map"]}, id="a mapping replaces, it is not merged"),
    pytest.param(".number", [".a.b.c"], {}, {"a": {"b": {"c": 8080}}}, id="missing mappings are made"),
    pytest.param(".number", [".a[2].b"], {}, {"a": [{}, {}, {"b": 8080}]}, id="a missing list is made and filled up"),
    pytest.param(".number", [".a[2]"], {"a": [7]}, {"a": [7, {}, 8080]}, id="an existing list is filled up"),
    pytest.param(".number", [".a[-1]"], {"a": [7, 8]}, {"a": [7, 8080]}, id="the last element"),
    pytest.param(".number", [".'a.b'.\"c/d\""], {}, {"a.b": {"c/d": 8080}}, id="quotes around words are removed"),
    pytest.param(".number", [".x", "$.y", ".z[0]"], {}, {"x": 8080, "y": 8080, "z": [8080]}, id="several places"),
    pytest.param(
        ".number", [".l[*].p"], {"l": [{"p": 1}, {"p": 2}, {"q": 3}]}, {"l": [{"p": 8080}, {"p": 8080}, {"q": 3}]},
        id="a wildcard writes every match",
    ),
    pytest.param(".map", ["."], {"b": 0, "z": 9}, {"b": 1, "c": {"d": 2}, "z": 9}, id="a mapping over the root"),
    pytest.param(".map", ["$"], {"c": {"x": 1}}, {"b": 1, "c": {"d": 2}}, id="over the root only top keys count"),
    pytest.param(".text", ["."], {"z": 9}, SOURCE["text"], id="a text becomes the whole data"),
    pytest.param(".zero", ["."], "text", 0, id="0 becomes the whole data"),
    pytest.param(".", [".x"], {}, {"x": SOURCE}, id="the whole source"),
    pytest.param(".'a.b/c'", [".x"], {}, {"x": "odd"}, id="a source path in quotes"),
    pytest.param(".list[*]", [".x"], {}, {"x": 1}, id="a wildcard reads the first match"),
    pytest.param("..e", [".x"], {}, {"x": 3}, id="anywhere below"),
]  # fmt: skip


@every_row(WITHOUT_PATTERN)
def test_a_value_is_put_at_its_places(path: str, destinations: list[str], data: Any, result: Any) -> None:
    found = data_of(source(), user(taking("source", path, *destinations), data=data))["user"]

    assert found == result
    assert type(found) is type(result)


@every_row(product(["secret", 7, [1, 2], False, 0, ""], [".", "$", ".no.such.thing", ".a[7]", "..x"]))
def test_of_a_source_that_is_no_mapping_the_whole_is_taken_whatever_the_path(data: Any, path: str) -> None:
    assert data_of(source(data), user(taking("source", path, ".x")))["user"] == {"x": data}


def test_entries_run_in_order_and_see_what_came_before() -> None:
    entries = [
        taking("source", ".text", ".url"),
        taking("source", ".number", {"path": ".url", "pattern": "8080"}),
        taking("source", ".map", ".m"),
        taking("source", ".zero", ".m.b"),
    ]

    assert data_of(source(), user(*entries))["user"] == {"url": "http://host:8080/x", "m": {"b": 0, "c": {"d": 2}}}
    assert data_of(source(), user(*reversed(entries), data={"url": "8080"}))["user"]["m"] == SOURCE["map"]


# Patterns of the source


@every_row(
    {
        "the first match": ("[a-z]+", {}, "http"),
        "the whole match without a group": (r":(\d+)", {}, ":8080"),
        "a group": (r":(\d+)", {"match_group": 1}, "8080"),
        "no match: the whole value": ("nothing", {}, SOURCE["text"]),
        "it is searched, and the anchor holds": ("^host", {}, SOURCE["text"]),
    },
)
def test_a_pattern_picks_a_part_of_the_text(pattern: str, more: dict[str, Any], taken: str) -> None:
    data = data_of(source(), user(taking("source", ".text", ".x", pattern=pattern, **more)))

    assert data["user"] == {"x": taken}


@every_row(["number", "yes", "map", "list"])
def test_a_pattern_needs_a_text(key: str) -> None:
    (finding,) = wrong(source(), user(taking("source", f".{key}", ".x", pattern="1")))

    assert finding.name == "UnknownSubstitutionError"
    assert [ref.name for ref in finding.documents] == ["user", "source"]
    assert f"'.{key}'" in finding.message


# Patterns of the destination

INTO_TEXT = {
    "every match, a number plain": ("number", "u:PORT-PORT", "PORT", "u:8080-8080"),
    "true as Python writes it": ("yes", "is X", "X", "is True"),
    "no match: unchanged": ("number", "nothing here", "PORT", "nothing here"),
    "the value is taken literally": ("slash", "aXb", "X", r"a\1\g<0>\nb"),
    "groups and backslashes do not meet": ("slash", "aXXb", "(X)(X)", r"a\1\g<0>\nb"),
    "a regular expression": ("number", "a1b22", r"\d+", "a8080b8080"),
    "empty matches, as Python replaces them": ("zero", "abc", "x*", "0a0b0c0"),
    "no flags are set": ("zero", "X\nX", "^X$", "X\nX"),
}


@every_row(INTO_TEXT)
def test_a_value_is_written_into_a_text(key: str, before: str, pattern: str, after: str) -> None:
    entry = taking("source", f".{key}", {"path": ".t", "pattern": pattern})

    assert data_of(source(), user(entry, data={"t": before, "o": 1}))["user"] == {"t": after, "o": 1}


@every_row(
    {
        "path missing": ("number", {}, ".t"),
        "a number": ("number", {"t": 5}, ".t"),
        "null": ("number", {"t": None}, ".t"),
        "a list": ("number", {"t": ["X"]}, ".t"),
        "a wildcard that matches nothing": ("number", {"t": []}, ".t[*]"),
        "a mapping cannot be written": ("map", {"t": "X"}, ".t"),
    },
)
def test_what_cannot_be_written_into_a_text_is_told_with_both_documents_and_the_path(
    key: str, data: Any, path: str
) -> None:
    (finding,) = wrong(source(), user(taking("source", f".{key}", {"path": path, "pattern": "X"}), data=data))

    assert finding.name == "UnknownSubstitutionError"
    assert [ref.name for ref in finding.documents] == ["user", "source"]
    assert f"'{path}'" in finding.message
    assert f"'.{key}'" in finding.message


TREE = {"t": "X", "l": ["X", {"t": "aX", "n": 5}], "m": {"t": "X", "m": {"t": "X"}}, "n": 1}


@every_row(
    [
        (0, TREE),
        (1, {**TREE, "t": "0"}),
        (2, {**TREE, "t": "0", "l": ["0", {"t": "aX", "n": 5}], "m": {"t": "0", "m": {"t": "X"}}}),
        (-1, {"t": "0", "l": ["0", {"t": "a0", "n": 5}], "m": {"t": "0", "m": {"t": "0"}}, "n": 1}),
        (99, {"t": "0", "l": ["0", {"t": "a0", "n": 5}], "m": {"t": "0", "m": {"t": "0"}}, "n": 1}),
    ],
)
def test_recursion_goes_as_many_levels_down_as_it_says(depth: int, result: Any) -> None:
    entry = taking("source", ".zero", {"path": ".", "pattern": "X", "recurse": {"depth": depth}})

    assert data_of(source(), user(entry, data=TREE))["user"] == result


def test_recursion_touches_only_texts_that_hold_the_pattern_letter_by_letter() -> None:
    entry = taking("source", ".zero", {"path": ".l", "pattern": "a.c", "recurse": {"depth": -1}})

    found = data_of(source(), user(entry, data={"l": ["abc", "a.c", "abc a.c"]}))["user"]

    assert found == {"l": ["abc", "0", "0 0"]}


# Which document is meant, and when there is none


@every_row(["global", "type", "site"])
def test_layers_do_not_matter_for_sources(layer: str) -> None:
    taker = in_layer("global", "user", substitutions=[taking("source", ".v", ".x")])

    assert data_of(in_layer(layer, "source", {"v": 1}), taker)["user"] == {"x": 1}


@every_row(
    {
        "nobody": ([], "no such document"),
        "another kind": ([source(schema="test/Other/v1")], "no such document"),
        "another version": ([source(schema="test/Kind/v2")], "no such document"),
        "abstract": ([source(abstract=True)], "abstract"),
    },
)
def test_a_source_that_is_not_there_is_reported_once_with_all_who_want_it(
    entries: list[dict[str, Any]], why: str
) -> None:
    other = in_layer("site", "other", substitutions=[taking("source", ".text", ".z")])
    findings = wrong(*entries, user(taking("source", ".text", ".x"), taking("source", ".number", ".y")), other)

    (finding,) = findings
    assert finding.name == "SubstitutionSourceNotFound"
    assert why in finding.message
    assert "'source'" in finding.message
    assert [(one.name, one.path) for one in finding.documents] == [
        ("other", "/metadata/substitutions/0"),
        ("user", "/metadata/substitutions/0"),
        ("user", "/metadata/substitutions/1"),
    ]
    assert finding.path == "/metadata/substitutions/0"
    assert finding.diagnostic == (
        "wanted 3 times: at /metadata/substitutions/0 of test/Kind/v1 'other', "
        "/metadata/substitutions/0 of test/Kind/v1 'user', /metadata/substitutions/1 of test/Kind/v1 'user'"
    )


@every_row([".nothing", ".null", ".map.x", ".list[7]", ".text.x", ".nothing[*]"])
def test_nothing_and_null_at_the_source_are_errors_that_name_both_documents(path: str) -> None:
    (finding,) = wrong(source(), user(taking("source", path, ".x")))

    assert names_of([finding]) == [("SubstitutionSourceDataNotFound", ["user", "source"])]
    assert f"'{path}'" in finding.message


@every_row(
    {
        "a text is no mapping": ({"t": "text"}, ".t.x"),
        "a mapping is no list": ({"t": {}}, ".t[0]"),
        "from the end of nothing": ({"t": []}, ".t[-1]"),
        "a wildcard that matches nothing": ({"t": []}, ".t[*]"),
        "data that is a text": ("text", ".x"),
    },
)
def test_places_that_cannot_be_made_are_told_with_both_documents_and_both_paths(data: Any, path: str) -> None:
    (finding,) = wrong(source(), user(taking("source", ".text", path), data=data))

    assert names_of([finding]) == [("UnknownSubstitutionError", ["user", "source"])]
    assert f"'{path}'" in finding.message
    assert "'.text'" in finding.message


def test_no_finding_quotes_what_was_taken_or_what_it_was_put_beside() -> None:
    canary = "CANARY-value"
    kept = in_layer("site", "source", {"s": canary, "m": {canary: canary}}, storagePolicy="encrypted")
    findings = wrong(
        kept,
        user(
            taking("source", ".s", ".t.x"),
            taking("source", ".m", {"path": ".t", "pattern": "X"}),
            taking("source", ".m", ".n", pattern="X"),
            taking("source", ".s", ".n[*]"),
            taking("source", ".none", ".n"),
            taking("source", ".s", {"path": ".n", "pattern": "X"}),
            data={"t": f"X {canary}", "n": 5},
        ),
    )

    assert len(findings) == 6
    assert canary not in str(findings)


# The order of things, and who shares what with whom


@every_row([{}, {"deepcopy": True}, {"deepcopy": False}])
def test_writing_into_what_was_taken_changes_neither_the_source_nor_its_other_users(deepcopy: dict[str, bool]) -> None:
    data = data_of(
        in_layer("site", "source", {"m": {"deep": {"port": 1}, "l": [{"p": 1}]}}),
        in_layer("site", "port", {"v": 2}),
        in_layer("site", "before", substitutions=[taking("source", ".m", ".m", **deepcopy)]),
        user(
            taking("source", ".m", ".m", ".n", **deepcopy),
            taking("port", ".v", ".m.deep.port"),
            taking("port", ".v", ".m.l[0].p"),
            taking("port", ".v", ".n.l[1]"),
        ),
        in_layer("site", "zafter", substitutions=[taking("source", ".m", ".m", **deepcopy)]),
    )

    clean = {"deep": {"port": 1}, "l": [{"p": 1}]}
    assert data["source"]["m"] == data["before"]["m"] == data["zafter"]["m"] == clean
    assert data["user"]["m"] == {"deep": {"port": 2}, "l": [{"p": 2}]}
    assert data["user"]["n"] == {"deep": {"port": 1}, "l": [{"p": 1}, 2]}


def test_one_value_written_to_every_match_is_not_shared_between_them() -> None:
    data = data_of(
        source(),
        user(
            taking("source", ".map", ".l[*].m"),
            taking("source", ".zero", ".l[0].m.c.d"),
            data={"l": [{"m": 1}, {"m": 2}]},
        ),
    )

    assert [one["m"]["c"]["d"] for one in data["user"]["l"]] == [0, 2]


def test_a_child_inherits_what_its_abstract_parent_took() -> None:
    data = data_of(
        source(),
        in_layer(
            "global", "parent", abstract=True, labels={"p": "p"}, substitutions=[taking("source", ".number", ".x.port")]
        ),
        in_layer("site", "child", {"x": {"y": 1}}, parent={"p": "p"}),
    )

    assert data["child"] == {"x": {"port": 8080, "y": 1}}


@every_row(
    {
        "merge overrides": (("merge", "."), {"port": 1}, {"port": 1}),
        "delete takes out": (("delete", ".port"), {}, {}),
    },
)
def test_a_child_may_override_or_take_out_what_its_parent_received(
    action: tuple[str, str], own: dict[str, Any], result: dict[str, Any]
) -> None:
    data = data_of(
        source(),
        in_layer("global", "parent", labels={"p": "p"}, substitutions=[taking("source", ".number", ".port")]),
        in_layer("site", "child", own, parent={"p": "p"}, actions=[action]),
    )

    assert data["child"] == result
