"""Rendering does what the contract says for any design, in any order, and never writes into what it was given."""

import json
import re
from copy import deepcopy
from typing import Any

import jsonpath_ng
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from shipyard_api.domain.documents import (
    Collection,
    Document,
    Rendering,
    Revision,
    StoredDocument,
    canonical,
    compare_documents,
    parse_documents,
    render,
    secret_keys,
)
from shipyard_api.domain.documents.comparison import ValueChange, value_changes
from shipyard_api.domain.documents.paths import (
    MISSING,
    Every,
    Fields,
    Path,
    PathError,
    parse_action_path,
    parse_path,
    places,
    read,
)
from shipyard_api.domain.documents.patterns import PatternError, check_pattern, replace_all, search
from shipyard_api.domain.findings import Finding
from shipyard_simulators.deckhand import rendering
from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.errors import DeckhandError
from shipyard_simulators.deckhand.rows import Row
from tests.designs import KIND, LAYERS, POLICY, SCHEMAS, in_layer

# Few words and few shapes, so that documents meet each other's data more often than not.
WORDS = ["a", "b", "c"]
scalars = st.sampled_from([None, True, False, 0, 7, 1.5, "", "X", "aXbX", "plain"])
values = st.recursive(
    scalars,
    lambda inner: st.dictionaries(st.sampled_from(WORDS), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(st.sampled_from(WORDS), values, min_size=1, max_size=3)
contents = st.one_of(mappings, mappings, mappings, values)
paths = st.lists(st.sampled_from([".a", ".b", ".c", ".a", ".b", "[0]", "[1]", "[-1]", "[*]"]), max_size=3).map(
    lambda steps: "".join(steps) if steps and steps[0].startswith(".") else "." + "".join(steps)
)
short_paths = st.sampled_from([".", ".a", ".b", ".c", ".a.b"])
places_to_put = st.one_of(short_paths, short_paths, paths)

actions = st.lists(
    st.builds(
        lambda method, path: (method, path),
        st.sampled_from(["merge", "merge", "replace", "delete"]),
        st.one_of(st.just("."), places_to_put),
    ),
    min_size=1,
    max_size=3,
)
destinations = st.one_of(
    places_to_put.map(lambda path: {"path": path}),
    st.fixed_dictionaries(
        {"path": places_to_put, "pattern": st.sampled_from(["X", "b.", "aX"])},
        optional={"recurse": st.fixed_dictionaries({"depth": st.integers(-1, 2)})},
    ),
)
kinds = st.sampled_from([KIND, KIND, KIND, KIND, "test/Other/v1"])
names = st.sampled_from([f"n{number}" for number in range(6)])
substitutions = st.fixed_dictionaries(
    {
        "src": st.fixed_dictionaries(
            {"schema": kinds, "name": names, "path": places_to_put},
            optional={"pattern": st.sampled_from(["X", "(a)(X)?", "nothing"]), "match_group": st.just(0)},
        ),
        "dest": destinations | st.lists(destinations, min_size=1, max_size=2),
    }
)
label_values = st.sampled_from(["v", "v", "w", 1, True])
labels = st.fixed_dictionaries({}, optional={"k": label_values, "l": label_values})
selectors = st.one_of(st.fixed_dictionaries({"k": label_values}), st.fixed_dictionaries({"l": label_values}))


@st.composite
def entries(draw: Any) -> list[dict[str, Any]]:
    """Designs of a few documents; most have distinct names, some have the name of their parent."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for number in range(draw(st.integers(1, 6))):
        schema = draw(kinds)
        layer = draw(st.sampled_from([*LAYERS * 6, "rack"]))
        name = f"n{number}"
        more: dict[str, Any] = {"labels": draw(labels)}
        if found and draw(st.integers(0, 5)) == 0:
            parent = draw(st.sampled_from(list(found.values())))
            schema, name = parent["schema"], parent["metadata"]["name"]
            more["replacement"] = draw(st.integers(0, 4)) > 0
        if draw(st.booleans()):
            more["parent"] = draw(selectors)
            more["actions"] = draw(actions)
        if draw(st.booleans()):
            more["substitutions"] = draw(st.lists(substitutions, min_size=1, max_size=3))
        if draw(st.integers(0, 4)) == 0:
            more["storagePolicy"] = "encrypted"
        data = draw(contents)
        entry = in_layer(layer, name, schema=schema, abstract=draw(st.integers(0, 3)) == 0, **more)
        found[schema, layer, name] = {**entry, "data": data}
    return list(found.values())


def rendered(given_entries: list[dict[str, Any]]) -> tuple[Rendering | None, tuple[Finding, ...]]:
    return render(stored(given_entries), SCHEMAS)


def stored(given_entries: list[dict[str, Any]]) -> list[StoredDocument]:
    documents, findings = parse_documents([deepcopy(POLICY), *given_entries])
    assert findings == ()
    return [StoredDocument(one, Collection("c"), Revision(1)) for one in documents]


def simulated(design: list[dict[str, Any]]) -> dict[tuple[str, str, str], str] | str:
    """Render with the simulator of Deckhand, without its defects: data as text by identity, or its first error."""
    policy = deepcopy(POLICY)
    policy["metadata"].setdefault("layeringDefinition", {})
    rows = [
        Row(number, "c", 1, 1, entry["schema"], entry["metadata"], entry["data"], entry["data"])
        for number, entry in enumerate([policy, *deepcopy(design)])
    ]
    try:
        made = rendering.render(rows, rows[0], Behaviour())
    except DeckhandError as error:
        return error.error_type
    return {one.row.identity: json.dumps(one.data, sort_keys=True) for one in made if not one.row.control}


@settings(max_examples=settings.default.max_examples * 3 // 2)
@given(entries(), st.randoms(use_true_random=False))
def test_designs_in_any_order_render_as_in_the_simulator_which_shares_no_code_with_us(
    design: list[dict[str, Any]], dice: Any
) -> None:
    theirs = simulated(design)
    held = stored(design)
    before = deepcopy(held)
    made, findings = render(held, SCHEMAS)

    if made is None:
        # It stops at its first error, which may follow from one that we report.
        assert {theirs, "SubstitutionSourceNotFound"} & {one.name for one in findings}
    else:
        assert findings == ()
        assert theirs == {
            one.document.identity: json.dumps(one.document.data, sort_keys=True)
            for one in made.documents
            if not one.document.is_control
        }
    assert held == before
    assert [canonical(one.document.data) for one in held] == [canonical(one.document.data) for one in before]
    shuffled = list(design)
    dice.shuffle(shuffled)
    assert rendered(shuffled) == (made, findings)


def spoil(value: Any) -> None:
    """Write into every mapping and list of a value."""
    for inner in list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []:
        spoil(inner)
    if isinstance(value, dict):
        value["spoilt"] = True
    elif isinstance(value, list):
        value.append("spoilt")


# Only one design in nine can be rendered, so each example costs nine.
@settings(max_examples=settings.default.max_examples // 5)
@given(entries(), st.integers(0, 9))
def test_a_rendering_is_only_for_reading_and_a_new_one_owes_nothing_to_those_before(
    design: list[dict[str, Any]], chosen: int
) -> None:
    """The contract of copy on write: rendered documents share what they have in common, with each other and with the
    documents they were made from, so nobody writes into them; a reader who must takes a deep copy first.
    """
    made, _ = rendered(deepcopy(design))
    assume(made is not None)
    assert made is not None
    kept = deepcopy(made)

    copied = deepcopy(made.documents[chosen % len(made.documents)])
    spoil(copied.document.data)
    assert made == kept, "a deep copy shares nothing"

    spoil(made.documents[chosen % len(made.documents)].document.data)
    assert rendered(deepcopy(design))[0] == kept, "nothing is kept between two renderings"


@settings(max_examples=settings.default.max_examples // 2)
@given(entries(), st.integers(0, 9))
def test_one_more_encrypted_document_makes_no_other_one_open(design: list[dict[str, Any]], chosen: int) -> None:
    def secrets(given_entries: list[dict[str, Any]]) -> frozenset[tuple[str, str]]:
        return secret_keys([one.document for one in stored(given_entries)])

    before = secrets(design)
    entry = design[chosen % len(design)]
    entry["metadata"]["storagePolicy"] = "encrypted"

    assert before | {(entry["schema"], entry["metadata"]["name"])} <= secrets(design)


# Comparison

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1) | st.text("ab/~", max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4),
    max_leaves=12,
)


def applied(value: Any, changes: list[ValueChange]) -> Any:
    """Return the value after the changes, applied one after the other as somebody who reads them would."""
    holder = {"root": deepcopy(value)}
    for change in changes:
        place: Any = holder
        *way, last = ("root", *change.place)
        for step in way:
            place = place[step]
        if change.kind in ("dictionary_item_removed", "iterable_item_removed"):
            assert canonical(place[last]) == canonical(change.old)
            del place[last]
        elif change.kind == "iterable_item_added":
            assert last == len(place)
            place.append(deepcopy(change.new))
        else:
            assert (change.kind == "dictionary_item_added") == (last not in place if isinstance(place, dict) else False)
            if change.kind != "dictionary_item_added":
                assert canonical(place[last]) == canonical(change.old)
            place[last] = deepcopy(change.new)
    return holder["root"]


@given(anything, anything)
@example({"a": 1}, {"a": True})
@example([1, [2, 3], 4], [[2], 1])
@example(0.0, -0.0)
def test_the_changes_between_two_values_lead_from_one_to_the_other(old: Any, new: Any) -> None:
    changes = list(value_changes(old, new))

    assert canonical(applied(old, changes)) == canonical(new)
    assert (changes == []) == (canonical(old) == canonical(new))
    assert {change.kind for change in changes} <= {
        "values_changed",
        "type_changes",
        "dictionary_item_added",
        "dictionary_item_removed",
        "iterable_item_added",
        "iterable_item_removed",
    }


@settings(max_examples=settings.default.max_examples // 2)
@given(entries(), entries())
def test_equal_designs_do_not_differ_and_others_do(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    def held(given_entries: list[dict[str, Any]]) -> list[tuple[Collection, Document]]:
        return [(one.collection, one.document) for one in stored(given_entries)]

    def texts(given_entries: list[dict[str, Any]]) -> set[bytes]:
        return {canonical([one.schema, one.metadata, one.data]) for _, one in held(given_entries)}

    assert compare_documents(held(first), held(deepcopy(first)[::-1])) == ()
    found = compare_documents(held(first), held(second))
    assert (found == ()) == (texts(first) == texts(second))
    assert all(list(one.values()) for one in found if one.before and one.after)


# Paths

keys = st.sampled_from(["a", "b", "c-d", "e_f", "@g", "0", "12", "x.y", "p/q", "r s", "t:u", ""])
trees = st.recursive(
    st.sampled_from([None, 0, 1, "text"]),
    lambda inner: st.dictionaries(keys, inner, max_size=4) | st.lists(inner, max_size=4),
    max_leaves=12,
)
plain_keys = st.sampled_from(["a", "b", "c-d", "e_f", "@g", "0", "12"])
steps = st.one_of(
    plain_keys.map(lambda key: f".{key}"),
    keys.filter(bool).map(lambda key: f"['{key}']"),
    keys.filter(bool).map(lambda key: f".'{key}'"),
    keys.filter(bool).map(lambda key: f'."{key}"'),
    st.integers(-3, 3).map(lambda number: f"[{number}]"),
    st.integers(0, 3).map(lambda number: f".[{number}]"),
    st.sampled_from(["[*]", ".*", "[0:2]", "[1:]", "[:1]", "[0,1]"]),
    plain_keys.filter(lambda key: not key.isdigit()).map(lambda key: f"..{key}"),
)


def theirs(text: str, value: Any) -> list[Any]:
    return [one.value for one in jsonpath_ng.parse(text).find(value)]


def fits(path: Path, value: Any) -> bool:
    """Say whether ``[*]`` meets no mappings and ``*`` no lists. To jsonpath-ng, and only to it, they are the same."""
    for position, step in enumerate(path.steps):
        if isinstance(step, Every | Fields):
            for place in places(Path("", path.steps[:position]), value):
                inner: Any = value
                for one in place:
                    inner = inner[one]
                if isinstance(inner, dict if isinstance(step, Every) else list):
                    return False
    return True


@given(st.lists(steps, max_size=4), trees)
@example([".a", "[0]"], {"a": {"0": 1}})
@example(["..a"], {"b": {"a": 1}, "a": {"a": 2}})
def test_paths_read_what_the_usual_library_reads(written: list[str], tree: Any) -> None:
    text = "$" + "".join(written)
    path = parse_path(text) if text.count("..") <= 2 else None
    assume(path is not None and fits(path, tree))
    assert path is not None

    found = theirs(text, tree)
    ours = read(path, tree)

    if found:
        assert json.dumps(ours) == json.dumps(found[0])
    else:
        assert ours is MISSING
    assert len(places(path, tree)) == len(set(places(path, tree))) <= max(len(found), 1)


@pytest.mark.parametrize(("text", "value"), [("$[*]", {"a": 1}), ("$.*", [1])])
def test_every_element_is_of_a_list_and_every_value_of_a_mapping_to_us_alone(text: str, value: Any) -> None:
    assert theirs(text, value) == [1]
    assert read(parse_path(text), value) is MISSING


@pytest.mark.parametrize("text", [".a . b", ".a.b[ 0 ]", ".a,b"])
def test_spellings_that_the_usual_library_reads_and_nobody_uses_are_refused(text: str) -> None:
    theirs(f"${text}", {})
    with pytest.raises(PathError):
        parse_path(text)


@given(st.text(st.sampled_from(".$[]'\"\\*,:-0123aA @_é\n?()data"), max_size=12) | st.text(max_size=8), trees)
def test_any_text_is_a_path_or_a_path_error_and_reading_never_breaks(text: str, tree: Any) -> None:
    for parse in (parse_path, parse_action_path):
        try:
            path = parse(text)
        except PathError:
            continue
        found = places(path, tree)
        value = read(path, tree)
        assert (value is MISSING) == (not found)
        assert path.steps == parse(text).steps


@given(st.text(st.sampled_from("()[]{}|*+?\\^$.,:<>=!&~-aP0123VRLpgN#x \n"), max_size=14))
@example(r"\L<a>")
@example("(?V1)[[a]--b]")
@example("(?(DEFINE)a)")
def test_any_text_is_a_pattern_or_a_pattern_error(text: str) -> None:
    try:
        groups = check_pattern(text)
    except PatternError:
        return
    assert groups >= 0


@given(st.text("ab.*+?()|[]^$", max_size=6), st.text("ab.", max_size=8))
def test_patterns_find_what_pythons_own_find(pattern: str, text: str) -> None:
    try:
        own = re.compile(pattern)
    except (re.error, FutureWarning):
        assume(False)
    try:
        check_pattern(pattern)
    except PatternError:
        assume(False)
    found = own.search(text)

    assert search(pattern, 0, text) == (found.group() if found else None)
    assert replace_all(pattern, r"<\1>", text) == own.sub(lambda _: r"<\1>", text)
