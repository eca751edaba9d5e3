"""What every store of configdocs promises, asked of each one (ports/documents.py)."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.documents import (
    BAREMETAL_NODE,
    Change,
    Collection,
    Document,
    Revision,
    RevisionTag,
    canonical,
)
from shipyard_api.domain.documents.document import with_defaults
from shipyard_api.domain.findings import Finding, Level
from shipyard_api.ports.documents import (
    DesignStore,
    DocumentElsewhere,
    Overtaken,
    RenderingFailed,
    SecondLayeringPolicy,
    UnknownRevision,
)
from shipyard_api.storage.unit_of_work import connect
from tests.contract.design_stores import (
    STORES,
    THING,
    Home,
    Simulators,
    data_schema,
    policy,
    secret,
    substitution,
    thing,
    why_no_real_deckhand,
)
from tests.distributions import installed_example

CREATED, DELETED, MODIFIED, SAME = Change.CREATED, Change.DELETED, Change.MODIFIED, Change.UNMODIFIED
NONE = Revision(0)
UNKNOWN = [9_999, 2**31 - 1, 2**31, 2**63, 10**30, -1]
WORD = "kept-from-everyone"


@pytest.fixture(scope="module")
def simulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulators]:
    with ExitStack() as cleanup:
        yield Simulators(tmp_path_factory.mktemp("simulators"), cleanup)


@pytest.fixture(scope="module")
def engine(module_database_url: str) -> Iterator[sa.Engine]:
    engine = connect(module_database_url, pool_size=5)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def file_store_plugin() -> Iterator[None]:
    """The plug-in is looked for once: that reads what all distributions register."""
    with installed_example("file_design_store"):
        yield


@pytest.fixture(params=STORES)
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    with STORES[request.param](request) as home:
        yield home


def test_a_real_deckhand_is_among_the_stores() -> None:
    if why := why_no_real_deckhand():
        pytest.skip(why)
    assert "real-deckhand" in STORES


# The empty state


def test_an_empty_store_has_nothing(home: Home) -> None:
    assert (home.head, home.designs.heads().newest) == (NONE, {})
    assert home.designs.documents(NONE) == ()
    assert home.designs.differences(NONE, NONE) == {}
    assert list(home.designs.revisions(after=NONE, limit=10)) == []


# Loading


def test_the_first_load_makes_a_revision(home: Home) -> None:
    made = home.load("design", thing("a"))
    assert made > 0
    assert home.head == made
    assert home.contents(made) == {"design": {"a": {"of": "a"}}}


def test_revisions_grow(home: Home) -> None:
    made = [home.load("design", thing("a", {"x": number})) for number in range(3)]
    assert made == sorted(set(made))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(value, id=title)
        for title, value in {
            "nothing": {},
            "null": None,
            "a list": [1, [2, {"three": 4}], []],
            "a text": "text",
            "lines": "one\n  two\n\nthree\n",
            "texts that look like something else": ["1", "1.5", "true", "no", "null", "~", "2026-01-31", "0x1f", "1e3"],
            "more of those": ["=", "<<", "*a", "&a", "!a", "- a", "a: b", "# a", "", " ", "'", '"', "{}", "1:30:00"],
            "keys that look like something else": {"1": 1, "yes": 2, "null": 3, "": 4, "a b": 5, "2026-01-31": 6},
            "numbers": [0, -1, 2**53 + 1, 10**30, 1.5, -0.25, 1e-9, 1e300],
            "words of logic": [True, False, None],
            "letters of the world": {"größe": "ß ✓ 漢字 🚀", "tab": "a\tb", "end": "line\u2028end", "nel": "a\u0085b"},
            "the same thing twice": [{"a": ["b"]}, {"a": ["b"]}],
            "a long text": "x" * 5_000 + "\n" + "y z " * 500,
            "deep": [[[[[[[[[[[[[[[["deep"]]]]]]]]]]]]]]]],
        }.items()
    ],
)
def test_data_comes_back_as_it_was_loaded(home: Home, data: Any) -> None:
    loaded = replace(thing("a"), data=data)
    made = home.load("design", loaded)
    [found] = home.designs.documents(made)
    assert found.document == loaded
    assert canonical(found.document.data) == canonical(data)  # for Python, true is 1
    assert (found.collection, found.since) == ("design", made)


def test_metadata_comes_back_with_its_defaults(home: Home) -> None:
    labels = {"site": "x", "number": 1, "flag": True, "list": ["a"]}
    child = thing("a", labels=labels, parent={"k": "v"}, actions=[{"method": "merge", "path": "."}])
    made = home.load("design", policy(), child, data_schema(THING, {"type": "object"}))
    found = {one.document.name: one.document for one in home.designs.documents(made)}
    assert found["a"] == child
    assert found["a"].metadata["labels"] == labels
    assert found["layering-policy"] == policy()
    assert found[THING].metadata == with_defaults(data_schema(THING, {}).metadata)


def test_documents_come_by_collection_and_then_as_loaded(home: Home) -> None:
    home.load("m", thing("m2"), thing("m1"))
    home.load("z", thing("z3"), thing("z1"), thing("z2"))
    made = home.load("a", thing("a2"), thing("a1"))
    found = home.designs.documents(made)
    assert [one.document.name for one in found] == ["a2", "a1", "m2", "m1", "z3", "z1", "z2"]
    assert [one.collection for one in found] == ["a", "a", "m", "m", "z", "z", "z"]


def test_the_order_of_a_load_stays_with_documents_that_were_there_before(home: Home) -> None:
    if not home.keeps_order:
        pytest.skip("Deckhand lists documents in the order in which it first had them")
    home.load("a", thing("a1"), thing("a2"))
    made = home.load("a", thing("a3"), thing("a2"), thing("a0"), thing("a1"))
    assert [one.document.name for one in home.designs.documents(made)] == ["a3", "a2", "a0", "a1"]


def test_one_collection_can_be_asked_for(home: Home) -> None:
    home.load("a", thing("a1"))
    made = home.load("b", thing("b1"), thing("b2"))
    assert [one.document.name for one in home.designs.documents(made, Collection("b"))] == ["b1", "b2"]
    assert home.designs.documents(made, Collection("c")) == ()


def test_a_load_leaves_other_collections_as_they_are(home: Home) -> None:
    first = home.load("a", thing("a1"))
    home.load("b", thing("b1"))
    made = home.load("b", thing("b2"))
    assert home.contents(made) == {"a": {"a1": {"of": "a1"}}, "b": {"b2": {"of": "b2"}}}
    assert home.since(made) == {"a1": first, "b2": made}


def test_a_revision_never_changes(home: Home) -> None:
    first = home.load("a", thing("a1"), thing("a2"))
    before = home.designs.documents(first)
    home.load("a", thing("a1", {"x": 1}))
    home.load("a")
    assert home.designs.documents(first) == before


def test_a_collection_is_replaced_as_a_whole(home: Home) -> None:
    home.load("a", thing("a1"), thing("a2"))
    made = home.load("a", thing("a2"), thing("a3"))
    assert home.contents(made)["a"].keys() == {"a2", "a3"}


def test_unchanged_documents_of_a_changed_collection_keep_their_age(home: Home) -> None:
    first = home.load("a", thing("a1"), thing("a2"))
    made = home.load("a", thing("a1"), thing("a2", {"x": 1}), thing("a3"))
    assert home.since(made) == {"a1": first, "a2": made, "a3": made}


def test_a_document_that_was_away_is_as_young_as_its_return(home: Home) -> None:
    home.load("a", thing("a1"), thing("a2"))
    home.load("a", thing("a1"))
    made = home.load("a", thing("a1"), thing("a2"))
    assert home.since(made)["a2"] == made


def _shuffled(document: Document) -> Document:
    metadata = dict(reversed(list(document.metadata.items())))
    data = dict(reversed(list(document.data.items()))) if isinstance(document.data, dict) else document.data
    return replace(document, metadata=metadata, data=data)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([thing("a"), thing("b", [1])], [thing("a"), thing("b", [1])], id="the same documents"),
        pytest.param([thing("a"), thing("b")], [thing("b"), thing("a")], id="in another order"),
        pytest.param([thing("a", {"x": 1, "y": 2})], [_shuffled(thing("a", {"x": 1, "y": 2}))], id="keys in disorder"),
        pytest.param([policy(), thing("a")], [policy(), thing("a")], id="with a layering policy"),
        pytest.param([policy(), secret("s", WORD)], [policy(), secret("s", WORD)], id="a secret"),
        pytest.param([secret("s", "")], [secret("s", "")], id="an empty secret"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_a_load_without_a_difference_makes_no_revision(
    home: Home, before: list[Document], after: list[Document]
) -> None:
    if before:
        home.load("a", *before)
    home.load("b", thing("other"))
    head = home.head
    assert home.put("a", *after) is None
    assert home.head == head


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(thing("a", {"x": 1}), thing("a", {"x": 2}), id="a value"),
        pytest.param(thing("a", {"x": 1}), thing("a", {"x": True}), id="1 and true"),
        pytest.param(thing("a", {"x": 1}), thing("a", {"x": "1"}), id="1 and its text"),
        pytest.param(thing("a", {"x": None}), thing("a", {}), id="null and nothing"),
        pytest.param(thing("a", [1, 2]), thing("a", [2, 1]), id="the order of a list"),
        pytest.param(thing("a"), thing("a", labels={"k": "v"}), id="a label"),
        pytest.param(thing("a"), thing("a", layer="global"), id="the layer"),
        pytest.param(thing("a", "text"), thing("a", "text", storagePolicy="encrypted"), id="the storage policy"),
        pytest.param(secret("a", "one"), secret("a", "two"), id="a secret"),
    ],
)
def test_a_load_with_a_difference_makes_a_revision(home: Home, before: Document, after: Document) -> None:
    first = home.load("a", policy(), before)
    second = home.load("a", policy(), after)
    assert home.designs.differences(first, second) == {"a": MODIFIED}


def test_emptying_a_collection_removes_it(home: Home) -> None:
    home.load("a", thing("a1"))
    before = home.load("b", thing("b1"))
    made = home.load("a")
    assert home.contents(made) == {"b": {"b1": {"of": "b1"}}}
    assert home.designs.differences(before, made) == {"a": DELETED, "b": SAME}


def test_emptying_the_last_collection_leaves_an_empty_revision(home: Home) -> None:
    first = home.load("a", thing("a1"))
    made = home.load("a")
    assert made > first
    assert home.designs.documents(made) == ()


def test_emptying_what_is_empty_makes_no_revision(home: Home) -> None:
    assert home.put("a") is None
    home.load("a", thing("a1"))
    home.load("a")
    head = home.head
    assert home.put("a") is None
    assert home.put("unknown") is None
    assert home.head == head


# Loading on another base


def test_a_load_on_an_older_base_forgets_what_came_after_it(home: Home) -> None:
    base = home.load("a", thing("a1"))
    home.load("a", thing("a1", {"x": 1}), thing("a2"))
    home.load("b", thing("b1"))
    made = home.load("c", thing("c1"), base=base)
    assert home.contents(made) == {"a": {"a1": {"of": "a1"}}, "c": {"c1": {"of": "c1"}}}
    assert home.head == made


def test_a_load_on_nothing_forgets_everything(home: Home) -> None:
    home.load("a", thing("a1"))
    home.load("b", thing("b1"))
    made = home.load("c", thing("c1"), base=NONE)
    assert home.contents(made) == {"c": {"c1": {"of": "c1"}}}


def test_a_load_that_equals_its_older_base_makes_no_revision(home: Home) -> None:
    base = home.load("a", thing("a1"))
    head = home.load("b", thing("b1"))
    assert home.put("a", thing("a1"), base=base) is None
    assert home.head == head


def test_a_load_on_an_unknown_base_stores_nothing(home: Home) -> None:
    head = home.load("a", thing("a1"))
    for base in UNKNOWN:
        with pytest.raises(UnknownRevision) as caught:
            home.put("b", thing("b1"), base=Revision(base))
        assert caught.value.revision == base
    assert home.head == head


def test_who_was_overtaken_stores_nothing(home: Home) -> None:
    first = home.load("a", thing("a1"))
    head = home.load("b", thing("b1"))
    for base in (NONE, first, head):
        with pytest.raises(Overtaken):
            home.designs.put(Collection("c"), [thing("c1")], base=base, head=first)
    assert home.head == head


# Whose a document is


def test_a_document_belongs_to_one_collection(home: Home) -> None:
    home.load("a", thing("x"))
    head = home.load("third", thing("t"))  # Deckhand itself looks no further back than its newest revision
    with pytest.raises(DocumentElsewhere) as caught:
        home.put("b", thing("y"), thing("x", {"other": 1}))
    assert caught.value.document.name == "x"
    assert caught.value.collection == "a"
    assert home.head == head


def test_another_layer_makes_another_document(home: Home) -> None:
    home.load("a", thing("x", layer="site"))
    made = home.load("b", thing("x", layer="global"))
    assert {one.collection: one.document.layer for one in home.designs.documents(made)} == {"a": "site", "b": "global"}


def test_a_document_moves_in_two_loads(home: Home) -> None:
    home.load("a", thing("x"), thing("y"))
    home.load("a", thing("y"))
    made = home.load("b", thing("x"))
    assert home.contents(made).keys() == {"a", "b"}


def test_ownership_is_that_of_the_base(home: Home) -> None:
    base = home.load("a", thing("x"))
    home.load("a", thing("y"))
    with pytest.raises(DocumentElsewhere):
        home.put("b", thing("x"), base=base)
    made = home.load("b", thing("y"), base=base)
    assert home.contents(made) == {"a": {"x": {"of": "x"}}, "b": {"y": {"of": "y"}}}


def test_a_second_layering_policy_is_one_too_many(home: Home) -> None:
    home.load("a", policy(name="first"))
    head = home.load("third", thing("t"))
    with pytest.raises(SecondLayeringPolicy) as caught:
        home.put("b", policy(name="second"))
    assert (caught.value.document.name, caught.value.existing) == ("second", "first")
    assert home.head == head


def test_two_layering_policies_in_one_load_are_one_too_many(home: Home) -> None:
    with pytest.raises(SecondLayeringPolicy) as caught:
        home.put("a", policy(name="first"), policy(name="second"))
    assert (caught.value.document.name, caught.value.existing) == ("second", "first")
    assert home.head == NONE


def test_the_layering_policy_in_another_collection_belongs_there(home: Home) -> None:
    home.load("a", policy())
    with pytest.raises(DocumentElsewhere):
        home.put("b", policy())


@pytest.mark.parametrize("others", [[], [thing("x")]], ids=["alone", "among others"])
def test_a_collection_may_give_its_layering_policy_another_name(home: Home, others: list[Document]) -> None:
    home.load("a", policy(name="first"), *others)
    made = home.load("a", policy(name="second"), *others)
    assert home.contents(made)["a"].keys() == {"second", *(one.name for one in others)}
    home.load("a", *others) if others else home.load("a")
    assert "third" in home.contents(home.load("a", policy(name="third")))["a"]


# Comparing


def test_differences_are_told_in_both_directions(home: Home) -> None:
    home.load("kept", thing("k"))
    home.load("changed", thing("c"))
    first = home.load("removed", thing("r"))
    home.load("changed", thing("c", {"x": 1}))
    home.load("removed")
    second = home.load("added", thing("n"))
    there = {"added": CREATED, "changed": MODIFIED, "kept": SAME, "removed": DELETED}
    back = {"added": DELETED, "changed": MODIFIED, "kept": SAME, "removed": CREATED}
    assert list(home.designs.differences(first, second).items()) == list(there.items())
    assert list(home.designs.differences(second, first).items()) == list(back.items())


def test_differences_with_nothing(home: Home) -> None:
    home.load("a", thing("x"))
    made = home.load("b", thing("y"))
    assert home.designs.differences(NONE, made) == {"a": CREATED, "b": CREATED}
    assert home.designs.differences(made, NONE) == {"a": DELETED, "b": DELETED}


def test_a_revision_does_not_differ_from_itself(home: Home) -> None:
    home.load("a", thing("x"))
    made = home.load("b", thing("y"))
    assert home.designs.differences(made, made) == {"a": SAME, "b": SAME}


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([thing("x", {"v": 1})], id="data"),
        pytest.param([thing("x", labels={"v": "1"})], id="metadata"),
        pytest.param([thing("x"), thing("y")], id="one more"),
        pytest.param([thing("y")], id="another name"),
    ],
)
def test_a_collection_with_another_document_is_modified(home: Home, after: list[Document]) -> None:
    first = home.load("a", thing("x"))
    assert home.designs.differences(first, home.load("a", *after)) == {"a": MODIFIED}


def test_what_came_back_is_unmodified(home: Home) -> None:
    first = home.load("a", thing("x"))
    home.load("a")
    assert home.designs.differences(first, home.load("a", thing("x"))) == {"a": SAME}


# Going back


def _history(home: Home) -> list[Revision]:
    """Make revisions whose documents were changed, moved, removed and brought back before and after them."""
    return [
        home.load("a", policy(), thing("x", {"v": 1}), thing("y", {"v": 1})),
        home.load("b", thing("z", {"v": 1}), thing("w")),
        home.load("a", policy(), thing("x", {"v": 2})),
        home.load("c", thing("q")),
        home.load("b", thing("z", {"v": 2})),
        home.load("c", thing("y", {"v": 3}), thing("q")),
        home.load("a", policy(), thing("w", {"v": 4})),
        home.load("b"),
        home.load("d", thing("x", {"v": 5})),
    ]


@pytest.mark.parametrize("which", range(9))
def test_going_back_brings_back_exactly_what_was_there(home: Home, which: int) -> None:
    target, head = (made := _history(home))[which], made[-1]
    made_now = home.designs.rollback(target)
    assert made_now > head
    assert home.head == made_now
    assert home.contents(made_now) == home.contents(target)
    changes = home.designs.differences(target, made_now)
    assert set(changes.values()) == {SAME}
    assert changes.keys() == home.contents(target).keys()


def test_going_back_to_nothing_makes_an_empty_revision(home: Home) -> None:
    head = _history(home)[-1]
    made = home.designs.rollback(NONE)
    assert made > head
    assert home.designs.documents(made) == ()


def test_going_back_to_the_newest_makes_a_revision_all_the_same(home: Home) -> None:
    head = home.load("a", thing("x"))
    made = home.designs.rollback(head)
    assert made > head
    assert home.designs.differences(head, made) == {"a": SAME}


def test_going_back_twice_makes_two_revisions(home: Home) -> None:
    first = home.load("a", thing("x"))
    home.load("a", thing("y"))
    made = [home.designs.rollback(first) for _ in range(2)]
    assert made[0] < made[1]
    assert home.contents(made[1]) == home.contents(first)


def test_going_back_carries_no_tags(home: Home) -> None:
    first = home.load("a", thing("x"))
    home.designs.tag(first, "committed", {})
    made = home.designs.rollback(first)
    assert home.designs.revision(made).tags == {}
    assert home.designs.revision(first).tags == {"committed": {}}


def test_going_back_brings_secrets_back(home: Home) -> None:
    reader = thing("reader", substitutions=[substitution(secret("s", ""), ".secret")])
    home.load("a", policy(), secret("s", "the first"), reader)
    home.load("a", policy(), secret("s", WORD), reader)
    target = home.load("b", thing("z", {"v": 2}))  # Deckhand remembers only what this one wrote, and the first of a
    home.load("a", policy(), secret("s", "the last"), reader)
    made = home.designs.rollback(target)
    assert home.design(made)["s"] == WORD
    assert home.design(made)["reader"]["secret"] == WORD


def test_work_goes_on_after_going_back(home: Home) -> None:
    target = _history(home)[4]
    made = home.designs.rollback(target)
    after = home.load("e", thing("new"))
    assert home.contents(after) == home.contents(target) | {"e": {"new": {"of": "new"}}}
    assert home.designs.differences(made, after)["e"] is CREATED


@pytest.mark.parametrize("revision", UNKNOWN)
def test_there_is_no_going_back_to_the_unknown(home: Home, revision: int) -> None:
    head = home.load("a", thing("x"))
    with pytest.raises(UnknownRevision):
        home.designs.rollback(Revision(revision))
    assert home.head == head


# Tags


def test_a_tag_is_set_with_its_data(home: Home) -> None:
    made = home.load("a", thing("x"))
    data = {"action": "01ABC", "nodes": ["n1", {"n": 2}], "flag": True, "none": None}
    home.designs.tag(made, "site-action-success", data)
    home.designs.tag(made, "empty", {})
    assert home.designs.revision(made).tags == {"site-action-success": data, "empty": {}}


def test_a_tag_set_again_has_the_newer_data(home: Home) -> None:
    made = home.load("a", thing("x"))
    for data in ({"x": 1}, {"x": 1}, {"y": 2}, {}, {"z": 3}):
        home.designs.tag(made, "committed", data)
        assert home.designs.revision(made).tags == {"committed": data}


@pytest.mark.parametrize("tag", ["committed", "a b", "a?b#c%d", "ß", "x" * 64], ids=lambda tag: tag[:12])
def test_a_tag_may_have_an_odd_name(home: Home, tag: str) -> None:
    made = home.load("a", thing("x"))
    home.designs.tag(made, tag, {"n": 1})
    assert home.designs.revision(made).tags == {tag: {"n": 1}}


def test_tags_change_no_contents(home: Home) -> None:
    made = home.load("a", thing("x"))
    home.designs.tag(made, "committed", {})
    assert home.head == made
    assert home.since(made) == {"x": made}


def test_heads_are_the_newest_of_each_tag(home: Home) -> None:
    first, second, third, head = (home.load("a", thing("x", {"v": number})) for number in range(4))
    home.designs.tag(third, "committed", {})
    home.designs.tag(first, "committed", {})
    home.designs.tag(second, "site-action-failure", {})
    home.designs.tag(head, "of somebody else", {})
    heads = home.designs.heads()
    assert heads.head == head
    assert heads.newest == {RevisionTag.COMMITTED: third, RevisionTag.SITE_ACTION_FAILURE: second}
    either = heads.with_any(RevisionTag.SITE_ACTION_SUCCESS, RevisionTag.SITE_ACTION_FAILURE)
    assert either == second
    assert heads.with_any(RevisionTag.SITE_ACTION_SUCCESS) is None


# Lists of revisions


def test_revisions_come_in_pages(home: Home) -> None:
    made = [home.load("a", thing("x", {"v": number})) for number in range(5)]
    found: list[Revision] = []
    while page := home.designs.revisions(after=found[-1] if found else NONE, limit=2):
        assert len(page) <= 2
        found += [one.revision for one in page]
    assert found == made
    assert list(home.designs.revisions(after=Revision(10**30), limit=2)) == []


def test_revisions_are_told_with_time_and_tags(home: Home) -> None:
    before = datetime.now(UTC) - timedelta(minutes=5)
    first, second = home.load("a", thing("x")), home.load("a", thing("y"))
    home.designs.tag(second, "committed", {"by": "alice"})
    records = home.designs.revisions(after=NONE, limit=10)
    assert [(one.revision, one.tags) for one in records] == [(first, {}), (second, {"committed": {"by": "alice"}})]
    assert before < records[0].created_at <= records[1].created_at < datetime.now(UTC) + timedelta(minutes=5)
    assert home.designs.revision(second) == records[1]


def test_revisions_can_be_asked_for_by_tags(home: Home) -> None:
    made = [home.load("a", thing("x", {"v": number})) for number in range(5)]
    for number, tags in enumerate(["one", "two", "one two", "", "a,b"]):
        for tag in tags.split():
            home.designs.tag(made[number], tag, {})

    def found(*tags: str, after: Revision = NONE, limit: int = 10) -> list[int]:
        return [made.index(one.revision) for one in home.designs.revisions(tags=tags, after=after, limit=limit)]

    assert found("one") == [0, 2]
    assert found("one", "two") == [0, 1, 2]
    assert found("one", "two", limit=2) == [0, 1]
    assert found("one", "two", after=made[0]) == [1, 2]
    assert found("a,b") == [4]
    assert found("a") == found("none") == []


# What there is not

ASKED: dict[str, Callable[[DesignStore, Revision], object]] = {
    "documents": lambda designs, revision: designs.documents(revision),
    "documents of one collection": lambda designs, revision: designs.documents(revision, Collection("a")),
    "rendered": lambda designs, revision: designs.rendered(revision),
    "revision": lambda designs, revision: designs.revision(revision),
    "differences, new": lambda designs, revision: designs.differences(NONE, revision),
    "differences, base": lambda designs, revision: designs.differences(revision, NONE),
    "findings": lambda designs, revision: designs.findings(revision),
    "tag": lambda designs, revision: designs.tag(revision, "committed", {}),
}
NOT_OF_NOTHING = ["rendered", "revision", "findings", "tag"]


@pytest.mark.parametrize("asked", ASKED)
def test_an_unknown_revision_is_said_to_be_unknown(home: Home, asked: str) -> None:
    home.load("a", thing("x"))
    for revision in [*UNKNOWN, *([0] if asked in NOT_OF_NOTHING else [])]:
        with pytest.raises(UnknownRevision) as caught:
            ASKED[asked](home.designs, Revision(revision))
        assert caught.value.revision == revision


def test_the_unknown_one_of_two_is_named(home: Home) -> None:
    made = home.load("a", thing("x"))
    for pair in ((made, Revision(99)), (Revision(99), made)):
        with pytest.raises(UnknownRevision) as caught:
            home.designs.differences(*pair)
        assert caught.value.revision == 99


# Rendering

MERGE = [{"method": "merge", "path": "."}]
PARENT = thing("parent", {"a": {"b": 1, "c": 2}, "l": [1, 2]}, layer="global", abstract=True, labels={"p": "1"})
POLICY = policy("global", "type", "site")


def child(name: str, data: Any, *, actions: Any = None, **metadata: Any) -> Document:
    return thing(name, data, parent={"p": "1"}, actions=actions or MERGE, **metadata)


def test_a_design_comes_by_schema_and_name_with_what_steers_it(home: Home) -> None:
    made = home.load("z", POLICY, thing("b"), thing("a"), thing("c", schema=BAREMETAL_NODE))
    rendering = home.designs.rendered(made)
    assert [one.document.key for one in rendering.documents] == [
        ("deckhand/LayeringPolicy/v1", "layering-policy"),
        (BAREMETAL_NODE, "c"),
        (THING, "a"),
        (THING, "b"),
    ]


def test_a_rendered_document_tells_where_it_is_from(home: Home) -> None:
    first = home.load("a", POLICY, thing("x", labels={"k": "v"}))
    made = home.load("b", thing("y"))
    found = {one.document.name: one for one in home.designs.rendered(made).documents}
    assert found["x"].document == thing("x", labels={"k": "v"})
    assert (found["x"].collection, found["x"].since) == ("a", first)
    assert (found["y"].collection, found["y"].since) == ("b", made)
    assert not any(one.secret for one in found.values())


def test_children_take_from_their_parents(home: Home) -> None:
    made = home.load(
        "a",
        POLICY,
        PARENT,
        child("merged", {"a": {"c": 3, "d": 4}, "l": [3]}),
        child("replaced", {"a": {"d": 4}}, actions=[{"method": "replace", "path": ".a"}]),
        child("deleted", {"x": 1}, actions=[{"method": "delete", "path": ".a.b"}]),
        child("in turn", {"n": 1}, actions=[{"method": "delete", "path": "."}, {"method": "merge", "path": "."}]),
    )
    assert home.design(made) == {
        "merged": {"a": {"b": 1, "c": 3, "d": 4}, "l": [3]},
        "replaced": {"a": {"d": 4}, "l": [1, 2]},
        "deleted": {"a": {"c": 2}, "l": [1, 2]},
        "in turn": {"n": 1},
    }


def test_values_are_substituted(home: Home) -> None:
    source = thing("source", {"ip": "10.0.0.1", "port": 80, "list": [{"x": "first"}]})
    pattern = {"path": ".url", "pattern": "HOST"}
    reader = thing(
        "reader",
        {"url": "http://HOST/HOST", "kept": 1},
        substitutions=[
            substitution(source, pattern, path=".ip"),
            substitution(source, ".new.port", path=".port"),
            substitution(source, ".items[0]", path=".list[0].x"),
        ],
    )
    made = home.load("a", POLICY, source, reader)
    assert home.design(made)["reader"] == {
        "url": "http://10.0.0.1/10.0.0.1",
        "kept": 1,
        "new": {"port": 80},
        "items": ["first"],
    }


def test_a_replacement_stands_in_for_its_parent(home: Home) -> None:
    parent = thing("x", {"v": 1, "w": 1}, layer="global", labels={"p": "1"})
    made = home.load(
        "a",
        POLICY,
        parent,
        child("x", {"v": 2}, replacement=True, layer="type"),
        child("y", {"own": 1}),
        thing("reader", {}, substitutions=[substitution(parent, ".v", path=".v")]),
    )
    design = home.design(made)
    assert design == {"x": {"v": 2, "w": 1}, "y": {"v": 2, "w": 1, "own": 1}, "reader": {"v": 2}}
    [found] = [one for one in home.designs.rendered(made).documents if one.document.name == "x"]
    assert found.document.layer == "type"


def test_collections_make_one_design(home: Home) -> None:
    home.load("z", PARENT)
    home.load("p", POLICY)
    made = home.load("a", child("x", {"own": 1}))
    assert home.design(made) == {"x": {**PARENT.data, "own": 1}}


def test_an_old_revision_still_renders_as_it_did(home: Home) -> None:
    first = home.load("a", POLICY, PARENT, child("x", {"own": 1}))
    home.load("a", POLICY, thing("other"))
    assert home.design(first) == {"x": {**PARENT.data, "own": 1}}


def test_data_that_meets_its_schema_is_fine(home: Home) -> None:
    rule = {"type": "object", "required": ["own", "a"]}
    made = home.load("a", POLICY, data_schema(THING, rule), PARENT, child("x", {"own": 1}))
    assert home.design(made)["x"]["own"] == 1


def test_a_revision_is_held_to_its_own_data_schemas(home: Home) -> None:
    if not home.own_schemas:
        pytest.skip("Deckhand holds every revision to the data schemas of the newest")
    first = home.load("a", POLICY, thing("x", {"v": 1}))
    home.load("schemas", data_schema(THING, {"required": ["w"]}))
    assert home.design(first) == {"x": {"v": 1}}


# Designs that are none


def _failed(home: Home, revision: Revision) -> list[Finding]:
    with pytest.raises(RenderingFailed) as caught:
        home.designs.rendered(revision)
    findings = list(caught.value.findings)
    assert caught.value.revision == revision
    assert findings
    assert all(one.level is Level.ERROR and one.message and one.name for one in findings)
    return findings


def test_every_break_of_a_data_schema_is_told(home: Home) -> None:
    rule = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["host"]}
    made = home.load(
        "a",
        POLICY,
        data_schema(THING, rule),
        thing("good", {"host": "h", "port": 1}),
        thing("bad", {"host": "h", "port": "eighty"}),
        thing("worse", {"port": "ninety"}),
    )
    found = _failed(home, made)
    assert {one.name for one in found} == {"D002"}
    named = sorted(document.name for one in found for document in one.documents)
    assert named == ["bad", "worse", "worse"]
    assert {document.layer for one in found for document in one.documents} == {"site"}
    assert {document.schema for one in found for document in one.documents} == {THING}


BROKEN: dict[str, tuple[list[Document], str]] = {
    "a source that is not there": (
        [thing("reader", {}, substitutions=[substitution(thing("nowhere"), ".x")])],
        "nowhere",
    ),
    "a value that is not there": (
        [thing("source", {}), thing("reader", {}, substitutions=[substitution(thing("source"), ".x", path=".y")])],
        "source",
    ),
    "an abstract source": (
        [
            thing("ghost", abstract=True),
            thing("reader", {}, substitutions=[substitution(thing("ghost"), ".x", path=".of")]),
        ],
        "ghost",
    ),
    "a layer that is not there": ([thing("x", layer="moon")], "moon"),
    "a parent of another kind": (
        [replace(PARENT, schema="example/Other/v1"), child("x", {})],
        "x",
    ),
    "two parents": ([PARENT, replace(thing("twin", layer="global", labels={"p": "1"})), child("x", {})], "x"),
    "a key that is not there": ([PARENT, child("x", {}, actions=[{"method": "merge", "path": ".none"}])], "none"),
    "a replacement of nothing": ([thing("x", replacement=True)], "x"),
    "two of one name": ([thing("x", layer="global"), thing("x", layer="site")], "x"),
    "a circle": (
        [
            thing("x", {"v": 1}, substitutions=[substitution(thing("y"), ".w", path=".v")]),
            thing("y", {"v": 1}, substitutions=[substitution(thing("x"), ".w", path=".v")]),
        ],
        "",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_documents_that_make_no_design_are_told_with_their_names(home: Home, case: str) -> None:
    documents, named = BROKEN[case]
    made = home.load("a", POLICY, *documents)
    found = _failed(home, made)
    assert any(named in repr((one.message, one.documents)) for one in found)


def test_without_a_layering_policy_there_is_no_design(home: Home) -> None:
    _failed(home, home.load("a", thing("x")))


def test_a_broken_design_can_still_be_read_and_mended(home: Home) -> None:
    made = home.load("a", POLICY, thing("reader", {"v": 1}, substitutions=[substitution(thing("nowhere"), ".x")]))
    _failed(home, made)
    assert {one.document.name for one in home.designs.documents(made)} == {"layering-policy", "reader"}
    assert home.design(home.load("a", POLICY, thing("reader", {"v": 1}))) == {"reader": {"v": 1}}


# Secrets


def test_secrets_are_shown_in_the_design_and_marked_with_what_took_them(home: Home) -> None:
    word = secret("word", WORD)
    made = home.load(
        "a",
        POLICY,
        word,
        thing("reader", {"v": 1}, substitutions=[substitution(word, ".word")]),
        thing("second", {}, substitutions=[substitution(thing("reader"), ".word", path=".word")]),
        thing(
            "parent", {}, layer="global", abstract=True, labels={"p": "1"}, substitutions=[substitution(word, ".word")]
        ),
        child("heir", {"own": 1}),
        thing("plain", {"v": 1}),
        thing("clean", {}, substitutions=[substitution(thing("plain"), ".v", path=".v")]),
    )
    rendering = home.designs.rendered(made)
    data = {one.document.name: one.document.data for one in rendering.documents}
    assert data["word"] == WORD
    assert data["reader"] == {"v": 1, "word": WORD}
    assert data["second"] == {"word": WORD}
    assert data["heir"] == {"own": 1, "word": WORD}
    assert {one.document.name for one in rendering.documents if one.secret} == {"word", "reader", "second", "heir"}


def test_a_secret_may_be_more_than_a_text(home: Home) -> None:
    data = {"users": [{"name": "root", "word": WORD}]}
    made = home.load("a", POLICY, thing("x", data, storagePolicy="encrypted"))
    assert home.design(made) == {"x": data}
    [raw] = [one.document for one in home.designs.documents(made) if one.document.name == "x"]
    assert raw.is_encrypted


def test_the_reason_why_there_is_no_design_quotes_no_secret(home: Home) -> None:
    rule = {"type": "object", "properties": {"n": {"type": "integer"}, "word": {"enum": ["public"]}}}
    word = secret("word", WORD)
    made = home.load(
        "a",
        POLICY,
        data_schema(THING, rule),
        word,
        thing("own", {"word": WORD}, storagePolicy="encrypted"),
        thing("reader", {"n": "x"}, substitutions=[substitution(word, ".word")]),
        thing("second", {}, substitutions=[substitution(thing("reader"), ".word", path=".word")]),
    )
    found = _failed(home, made)
    assert {document.name for one in found for document in one.documents} >= {"own", "reader"}
    assert WORD not in repr(found)


# The rest


def test_nothing_was_reported_about_a_new_revision(home: Home) -> None:
    assert home.designs.findings(home.load("a", thing("x"))) == ()


def test_fingerprints_are_the_same_for_the_same_text_only(home: Home) -> None:
    prints = [home.designs.fingerprint(text) for text in (b"one", b"one", b"two", b"")]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in prints)


def test_a_store_has_a_name(home: Home) -> None:
    assert home.designs.name
