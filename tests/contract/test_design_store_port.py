"""What every store of configdocs promises, asked of each one (ports/documents.py)."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from msgspec.structs import replace

from shipyard_api.domain.documents import BAREMETAL_NODE, Change, Collection, Document, Revision, RevisionTag, canonical
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


# Loading

DATA: dict[str, Any] = {
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
}


def test_documents_come_back_as_they_were_first_loaded(home: Home) -> None:
    assert (home.head, home.designs.heads().newest) == (NONE, {})
    assert home.designs.documents(NONE) == ()
    assert home.designs.differences(NONE, NONE) == {}
    assert list(home.designs.revisions(after=NONE, limit=10)) == []
    assert home.put("design") is None

    labels = {"site": "x", "number": 1, "flag": True, "list": ["a"]}
    child = thing("child", labels=labels, parent={"k": "v"}, actions=[{"method": "merge", "path": "."}])
    loaded = [replace(thing(name), data=data) for name, data in DATA.items()]
    made = home.load("design", policy(), child, data_schema(THING, {"type": "object"}), *loaded)

    assert (home.head, made > 0) == (made, True)
    found = home.designs.documents(made)
    assert {(one.collection, one.since) for one in found} == {("design", made)}
    by_name = {one.document.name: one.document for one in found}
    for document in loaded:
        assert by_name[document.name] == document
        assert canonical(by_name[document.name].data) == canonical(document.data)  # for Python, true is 1
    assert by_name["child"] == child
    assert by_name["child"].metadata["labels"] == labels
    assert by_name["layering-policy"] == policy()
    assert by_name[THING].metadata == with_defaults(data_schema(THING, {}).metadata)
    assert home.designs.findings(made) == ()  # nothing was reported about it


def test_documents_come_by_collection_and_then_as_loaded(home: Home) -> None:
    home.load("m", thing("m2"), thing("m1"))
    home.load("z", thing("z3"), thing("z1"), thing("z2"))
    made = home.load("a", thing("a2"), thing("a1"))
    found = home.designs.documents(made)
    assert [one.document.name for one in found] == ["a2", "a1", "m2", "m1", "z3", "z1", "z2"]
    assert [one.collection for one in found] == ["a", "a", "m", "m", "z", "z", "z"]
    assert home.designs.documents(made, Collection("z")) == found[4:]
    assert home.designs.documents(made, Collection("c")) == ()
    if home.keeps_order:  # Deckhand lists documents in the order in which it first had them
        made = home.load("a", thing("a3"), thing("a2"), thing("a0"), thing("a1"))
        assert [one.document.name for one in home.designs.documents(made)][:4] == ["a3", "a2", "a0", "a1"]


def test_a_load_replaces_its_collection_and_nothing_else(home: Home) -> None:
    first = home.load("a", thing("a1"), thing("a2"))
    before = home.designs.documents(first)
    second = home.load("b", thing("b1"))
    third = home.load("a", thing("a1"), thing("a2", {"x": 1}), thing("a3"))
    assert home.contents(third) == {
        "a": {"a1": {"of": "a1"}, "a2": {"x": 1}, "a3": {"of": "a3"}},
        "b": {"b1": {"of": "b1"}},
    }
    assert home.since(third) == {"a1": first, "a2": third, "a3": third, "b1": second}
    fourth = home.load("a", thing("a3"))
    fifth = home.load("a", thing("a1"), thing("a3"))  # who was away is as young as its return
    assert home.since(fifth) == {"a1": fifth, "a3": third, "b1": second}
    emptied = home.load("a")
    assert home.contents(emptied) == {"b": {"b1": {"of": "b1"}}}
    assert home.designs.differences(fifth, emptied) == {"a": DELETED, "b": SAME}
    assert home.put("a") is None
    assert home.put("unknown") is None
    last = home.load("b")
    assert home.designs.documents(last) == ()
    assert first < second < third < fourth < fifth < emptied < last == home.head
    assert home.designs.documents(first) == before


def _shuffled(document: Document) -> Document:
    metadata = dict(reversed(list(document.metadata.items())))
    data = dict(reversed(list(document.data.items()))) if isinstance(document.data, dict) else document.data
    return replace(document, metadata=metadata, data=data)


def test_a_load_without_a_difference_makes_no_revision(home: Home) -> None:
    documents = [policy(), thing("a", {"x": 1, "y": 2}), thing("b", [1]), secret("s", WORD), secret("empty", "")]
    home.load("a", *documents)
    head = home.load("b", thing("other"))
    assert home.put("a", *documents) is None
    assert home.put("a", *reversed(documents)) is None
    assert home.put("a", *map(_shuffled, documents)) is None
    assert home.head == head


DIFFERENT: list[tuple[Document, Document]] = [
    (thing("a value", {"x": 1}), thing("a value", {"x": 2})),
    (thing("1 and true", {"x": 1}), thing("1 and true", {"x": True})),
    (thing("1 and its text", {"x": 1}), thing("1 and its text", {"x": "1"})),
    (thing("null and nothing", {"x": None}), thing("null and nothing", {})),
    (thing("the order of a list", [1, 2]), thing("the order of a list", [2, 1])),
    (thing("a label"), thing("a label", labels={"k": "v"})),
    (thing("the layer"), thing("the layer", layer="global")),
    (thing("the storage policy", "text"), thing("the storage policy", "text", storagePolicy="encrypted")),
    (secret("a secret", "one"), secret("a secret", "two")),
]


def test_whatever_differs_makes_a_revision_and_modifies_its_collection(home: Home) -> None:
    before, after = zip(*DIFFERENT, strict=True)
    first = home.load("a", policy(), *before)
    second = home.load("a", policy(), *after)
    assert home.since(second) == {"layering-policy": first, **{one.name: second for one in after}}
    assert home.designs.differences(first, second) == {"a": MODIFIED}
    more = home.load("a", policy(), *after, thing("one more"))
    assert home.designs.differences(second, more) == {"a": MODIFIED}
    other = home.load("a", policy(), *after, thing("another name"))
    assert home.designs.differences(more, other) == {"a": MODIFIED}
    away = home.load("a")
    back = home.load("a", policy(), *after, thing("another name"))
    assert home.designs.differences(other, away) == {"a": DELETED}
    assert home.designs.differences(other, back) == {"a": SAME}


# Loading on another base


def test_a_load_on_an_older_base_forgets_what_came_after_it(home: Home) -> None:
    base = home.load("a", thing("a1"))
    home.load("a", thing("a1", {"x": 1}), thing("a2"))
    head = home.load("b", thing("b1"))
    assert home.put("a", thing("a1"), base=base) is None  # it equals its base
    for unknown in UNKNOWN:
        with pytest.raises(UnknownRevision) as caught:
            home.put("b", thing("b1"), base=Revision(unknown))
        assert caught.value.revision == unknown
    for overtaken in (NONE, base, head):
        with pytest.raises(Overtaken):
            home.designs.put(Collection("c"), [thing("c1")], base=overtaken, head=base)
    assert home.head == head

    made = home.load("c", thing("c1"), base=base)
    assert home.contents(made) == {"a": {"a1": {"of": "a1"}}, "c": {"c1": {"of": "c1"}}}
    assert home.head == made
    made = home.load("c", thing("c1"), base=NONE)
    assert home.contents(made) == {"c": {"c1": {"of": "c1"}}}


# Whose a document is


def test_a_document_belongs_to_one_collection_of_the_base(home: Home) -> None:
    base = home.load("a", thing("x"), policy())
    head = home.load("third", thing("t"))  # Deckhand itself looks no further back than its newest revision
    with pytest.raises(DocumentElsewhere) as caught:
        home.put("b", thing("y"), thing("x", {"other": 1}))
    assert (caught.value.document.name, caught.value.collection) == ("x", "a")
    with pytest.raises(DocumentElsewhere):
        home.put("b", policy())
    assert home.head == head
    home.load("b", thing("x", layer="global"))  # another layer makes another document

    made = home.load("a", thing("y"))
    assert {one.collection: one.document.layer for one in home.designs.documents(made, Collection("b"))} == {
        "b": "global"
    }
    with pytest.raises(DocumentElsewhere):
        home.put("b", thing("x"), base=base)
    made = home.load("b", thing("x"))  # it moved in two loads
    assert home.contents(made)["b"] == {"x": {"of": "x"}}
    made = home.load("b", thing("y"), base=base)
    assert home.contents(made)["b"] == {"y": {"of": "y"}}


def test_a_second_layering_policy_is_one_too_many(home: Home) -> None:
    with pytest.raises(SecondLayeringPolicy) as caught:
        home.put("a", policy(name="first"), policy(name="second"))
    assert (caught.value.document.name, caught.value.existing) == ("second", "first")
    assert home.head == NONE
    home.load("a", policy(name="first"))
    head = home.load("third", thing("t"))
    with pytest.raises(SecondLayeringPolicy) as caught:
        home.put("b", policy(name="second"))
    assert (caught.value.document.name, caught.value.existing) == ("second", "first")
    assert home.head == head


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
    collections = ("added", "changed", "kept")
    assert home.designs.differences(NONE, second) == dict.fromkeys(collections, CREATED)
    assert home.designs.differences(second, NONE) == dict.fromkeys(collections, DELETED)
    assert home.designs.differences(second, second) == dict.fromkeys(collections, SAME)


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


def test_going_back_brings_back_exactly_what_was_there(home: Home) -> None:
    made = _history(home)
    home.designs.tag(made[4], "committed", {})
    for target in (*made[:8], made[-1], made[4], NONE, made[4]):
        head, contents = home.head, home.contents(target)
        made_now = home.designs.rollback(target)
        assert home.head == made_now > head
        assert home.contents(made_now) == contents
        assert home.designs.differences(target, made_now) == dict.fromkeys(contents, SAME)
        assert home.designs.revision(made_now).tags == {}
    assert home.designs.revision(made[4]).tags == {"committed": {}}
    for unknown in UNKNOWN:
        with pytest.raises(UnknownRevision):
            home.designs.rollback(Revision(unknown))
    assert home.head == made_now
    after = home.load("e", thing("new"))  # work goes on
    assert home.contents(after) == home.contents(made[4]) | {"e": {"new": {"of": "new"}}}
    assert home.designs.differences(made_now, after)["e"] is CREATED


def test_going_back_brings_secrets_back(home: Home) -> None:
    reader = thing("reader", substitutions=[substitution(secret("s", ""), ".secret")])
    home.load("a", policy(), secret("s", "the first"), reader)
    home.load("a", policy(), secret("s", WORD), reader)
    target = home.load("b", thing("z", {"v": 2}))  # Deckhand remembers only what this one wrote, and the first of a
    home.load("a", policy(), secret("s", "the last"), reader)
    made = home.designs.rollback(target)
    assert home.design(made)["s"] == WORD
    assert home.design(made)["reader"]["secret"] == WORD


# Tags and lists of revisions


def test_a_tag_has_its_newest_data_and_changes_no_contents(home: Home) -> None:
    before = datetime.now(UTC) - timedelta(minutes=5)
    first, made = home.load("a", thing("x")), home.load("a", thing("y"))
    data = {"action": "01ABC", "nodes": ["n1", {"n": 2}], "flag": True, "none": None}
    tags: dict[str, Any] = {"site-action-success": data, "empty": {}}
    tags |= {tag: {"n": 1} for tag in ("a b", "a?b#c%d", "ß", "x" * 64)}
    for tag, value in tags.items():
        home.designs.tag(made, tag, value)
    for value in ({"x": 1}, {"x": 1}, {"y": 2}, {}, {"z": 3}):
        home.designs.tag(made, "committed", value)
        assert home.designs.revision(made).tags == {**tags, "committed": value}
    assert home.head == made
    assert home.since(made) == {"y": made}
    records = home.designs.revisions(after=NONE, limit=10)
    assert [(one.revision, one.tags) for one in records] == [(first, {}), (made, {**tags, "committed": {"z": 3}})]
    assert before < records[0].created_at <= records[1].created_at < datetime.now(UTC) + timedelta(minutes=5)
    assert home.designs.revision(made) == records[1]


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


def test_revisions_come_in_pages_and_by_tags(home: Home) -> None:
    made = [home.load("a", thing("x", {"v": number})) for number in range(5)]
    pages: list[Revision] = []
    while page := home.designs.revisions(after=pages[-1] if pages else NONE, limit=2):
        assert len(page) <= 2
        pages += [one.revision for one in page]
    assert pages == made
    assert list(home.designs.revisions(after=Revision(10**30), limit=2)) == []
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


def test_an_unknown_revision_is_said_to_be_unknown(home: Home) -> None:
    made = home.load("a", thing("x"))
    for asked, ask in ASKED.items():
        for revision in [*UNKNOWN, *([0] if asked in NOT_OF_NOTHING else [])]:
            with pytest.raises(UnknownRevision) as caught:
                ask(home.designs, Revision(revision))
            assert caught.value.revision == revision, asked
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


def test_a_design_comes_by_schema_and_name_and_tells_where_it_is_from(home: Home) -> None:
    first = home.load("z", POLICY, thing("b", labels={"k": "v"}), thing("c", schema=BAREMETAL_NODE))
    made = home.load("a", thing("a"))
    rendering = home.designs.rendered(made)
    assert [(one.document.key, one.collection, one.since) for one in rendering.documents] == [
        (("deckhand/LayeringPolicy/v1", "layering-policy"), "z", first),
        ((BAREMETAL_NODE, "c"), "z", first),
        ((THING, "a"), "a", made),
        ((THING, "b"), "z", first),
    ]
    assert rendering.documents[-1].document == thing("b", labels={"k": "v"})
    assert not any(one.secret for one in rendering.documents)


def test_children_take_from_their_parents_and_values_are_substituted(home: Home) -> None:
    source = thing("source", {"ip": "10.0.0.1", "port": 80, "list": [{"x": "first"}]})
    replaced = thing("x", {"v": 1, "w": 1}, layer="global", labels={"q": "1"})
    taken = [
        substitution(source, {"path": ".url", "pattern": "HOST"}, path=".ip"),
        substitution(source, ".new.port", path=".port"),
        substitution(source, ".items[0]", path=".list[0].x"),
        substitution(replaced, ".v", path=".v"),
    ]
    made = home.load(
        "a",
        POLICY,
        PARENT,
        child("merged", {"a": {"c": 3, "d": 4}, "l": [3]}),
        child("replaced", {"a": {"d": 4}}, actions=[{"method": "replace", "path": ".a"}]),
        child("deleted", {"x": 1}, actions=[{"method": "delete", "path": ".a.b"}]),
        child("in turn", {"n": 1}, actions=[{"method": "delete", "path": "."}, {"method": "merge", "path": "."}]),
        source,
        thing("reader", {"url": "http://HOST/HOST", "kept": 1}, substitutions=taken),
        replaced,
        thing("x", {"v": 2}, layer="type", replacement=True, parent={"q": "1"}, actions=MERGE),
        thing("y", {"own": 1}, parent={"q": "1"}, actions=MERGE),
    )
    assert home.design(made) == {
        "merged": {"a": {"b": 1, "c": 3, "d": 4}, "l": [3]},
        "replaced": {"a": {"d": 4}, "l": [1, 2]},
        "deleted": {"a": {"c": 2}, "l": [1, 2]},
        "in turn": {"n": 1},
        "source": source.data,
        "reader": {"url": "http://10.0.0.1/10.0.0.1", "kept": 1, "new": {"port": 80}, "items": ["first"], "v": 2},
        "x": {"v": 2, "w": 1},
        "y": {"v": 2, "w": 1, "own": 1},
    }
    [found] = [one for one in home.designs.rendered(made).documents if one.document.name == "x"]
    assert found.document.layer == "type"


def test_collections_make_one_design_of_each_revision(home: Home) -> None:
    home.load("z", PARENT)
    home.load("p", POLICY)
    first = home.load("a", child("x", {"own": 1}))
    home.load("z", thing("other"))
    home.load("a", data_schema(THING, {"type": "object", "required": ["own", "a"]}), child("x", {"own": 1}))
    assert home.design(first) == {"x": {**PARENT.data, "own": 1}}
    made = home.load("z", PARENT)
    assert home.design(made) == {"x": {**PARENT.data, "own": 1}}  # it meets its schema
    if home.own_schemas:  # Deckhand holds every revision to the data schemas of the newest
        home.load("schemas", data_schema("example/Other/v1", {"required": ["w"]}))
        home.load("a", data_schema(THING, {"required": ["w"]}))
        assert home.design(first) == {"x": {**PARENT.data, "own": 1}}


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
    "a layer that is not there": ([thing("x", layer="moon")], "moon"),
    "two parents": ([PARENT, replace(thing("twin", layer="global", labels={"p": "1"})), child("x", {})], "x"),
    "a replacement of nothing": ([thing("x", replacement=True)], "x"),
    "a circle": (
        [
            thing("x", {"v": 1}, substitutions=[substitution(thing("y"), ".w", path=".v")]),
            thing("y", {"v": 1}, substitutions=[substitution(thing("x"), ".w", path=".v")]),
        ],
        "",
    ),
}


def test_documents_that_make_no_design_are_told_with_their_names_and_can_be_mended(home: Home) -> None:
    _failed(home, home.load("a", thing("x")))  # without a layering policy
    for case, (documents, named) in BROKEN.items():
        made = home.load("a", POLICY, *documents)
        found = _failed(home, made)
        assert any(named in repr((one.message, one.documents)) for one in found), case
        assert {one.document.name for one in home.designs.documents(made)} >= {one.name for one in documents}
    assert home.design(home.load("a", POLICY, thing("reader", {"v": 1}))) == {"reader": {"v": 1}}


# Secrets


def test_secrets_are_shown_in_the_design_and_marked_with_what_took_them(home: Home) -> None:
    word, tree = secret("word", WORD), {"users": [{"name": "root", "word": WORD}]}
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
        thing("tree", tree, storagePolicy="encrypted"),
        thing("plain", {"v": 1}),
        thing("clean", {}, substitutions=[substitution(thing("plain"), ".v", path=".v")]),
    )
    rendering = home.designs.rendered(made)
    data = {one.document.name: one.document.data for one in rendering.documents}
    assert data["word"] == WORD
    assert data["reader"] == {"v": 1, "word": WORD}
    assert data["second"] == {"word": WORD}
    assert data["heir"] == {"own": 1, "word": WORD}
    assert {one.document.name for one in rendering.documents if one.secret} == {
        *("word", "tree", "reader", "second", "heir")
    }
    assert data["tree"] == tree
    assert {one.document.name for one in home.designs.documents(made) if one.document.is_encrypted} == {"word", "tree"}


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


def test_a_store_has_a_name_and_fingerprints_that_are_the_same_for_the_same_text_only(home: Home) -> None:
    assert home.designs.name
    prints = [home.designs.fingerprint(text) for text in (b"one", b"one", b"two", b"")]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in prints)
