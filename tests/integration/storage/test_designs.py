"""The embedded store: revisions, who owns a document, since when it has been as it is, tags, differences."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shipyard_api.domain.documents import Change, Collection, Document, Identity, Revision, RevisionTag
from shipyard_api.ports.documents import (
    DocumentElsewhere,
    NoSecretKey,
    Overtaken,
    RenderingFailed,
    SecondLayeringPolicy,
    UnknownRevision,
)
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from tests.integration.storage.design_documents import A, B, C, anything_goes, doc, encryption, policy, secret
from tests.integration.storage.rows import counts, empty

EMPTY = Revision(0)
# What no revision is: never made, negative, and beyond what the column holds.
UNKNOWN = [7, -1, 2**31 - 1, 2**31, 2**63, 10**30]


@pytest.fixture
def designs(engine: sa.Engine) -> SqlDesigns:
    return SqlDesigns(engine, encryption(), anything_goes)


def put(
    designs: SqlDesigns, base: int, collection: Collection, *documents: Document, head: int | None = None
) -> Revision | None:
    newest = designs.heads().head if head is None else Revision(head)
    return designs.put(collection, documents, base=Revision(base), head=newest)


def names(designs: SqlDesigns, revision: int, collection: Collection | None = None) -> list[str]:
    return [one.document.name for one in designs.documents(Revision(revision), collection)]


def since(designs: SqlDesigns, revision: int) -> dict[str, int]:
    return {one.document.name: one.since for one in designs.documents(Revision(revision))}


def numbers(designs: SqlDesigns, *tags: str, after: int = 0, limit: int = 100) -> list[int]:
    return [one.revision for one in designs.revisions(tags=tags, after=Revision(after), limit=limit)]


@contextmanager
def statements(engine: sa.Engine) -> Iterator[list[tuple[str, Any]]]:
    """The statements that are sent within the block, with their parameters."""
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        sent.append((statement, parameters))

    sa.event.listen(engine, "before_cursor_execute", note)
    yield sent
    sa.event.remove(engine, "before_cursor_execute", note)


# --- revisions


def test_before_the_first_there_is_revision_0(designs: SqlDesigns) -> None:
    heads = designs.heads()

    assert (heads.head, heads.newest) == (0, {})
    assert designs.documents(EMPTY) == designs.documents(EMPTY, A) == ()
    assert designs.differences(EMPTY, EMPTY) == {}
    assert numbers(designs) == []


def test_revisions_are_numbered_without_gaps_whatever_is_refused(designs: SqlDesigns, engine: sa.Engine) -> None:
    locked_out = SqlDesigns(engine, None, anything_goes)
    assert put(designs, 0, A, doc("one"), policy("first")) == 1
    before = counts(engine)

    assert put(designs, 1, A, policy("first"), doc("one")) is None
    with pytest.raises(DocumentElsewhere):
        put(designs, 1, B, doc("two"), doc("one"))
    with pytest.raises(SecondLayeringPolicy):
        put(designs, 1, B, policy("second"))
    with pytest.raises(Overtaken):
        put(designs, 1, B, doc("two"), head=0)
    with pytest.raises(UnknownRevision):
        put(designs, 2, B, doc("two"))
    with pytest.raises(NoSecretKey):
        put(locked_out, 1, B, secret("two"))
    with pytest.raises(UnknownRevision):
        designs.rollback(Revision(2))

    assert counts(engine) == before
    assert put(designs, 1, B, doc("two")) == 2


def test_a_put_by_somebody_who_has_not_seen_the_newest_is_overtaken(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"))
    put(designs, 1, A, doc("two"))

    for seen in (0, 1, 3, -1, 2**40):
        with pytest.raises(Overtaken):
            put(designs, 1, A, doc("three"), head=seen)
        with pytest.raises(Overtaken):  # also where nothing would change
            put(designs, 2, A, doc("two"), head=seen)

    assert designs.heads().head == 2


def test_a_document_is_kept_as_it_was_written(designs: SqlDesigns) -> None:
    data = {"z": [1, 2.5, True, None, 10**300, "é𝄞\u2028\x7f\x00\r\n"], "a": {"": {}}, "1": -0.0}
    written = [doc("one", data, labels={"k": "v"}), secret("two", data, labels={"k": "v"})]
    put(designs, 0, A, *written)

    read = [one.document for one in designs.documents(Revision(1))]

    assert read == written
    assert {one.collection for one in designs.documents(Revision(1))} == {A}
    for was, now in zip(written, read, strict=True):
        assert list(now.data) == ["z", "a", "1"]
        assert list(now.metadata) == list(was.metadata)


def test_data_may_be_any_value(designs: SqlDesigns) -> None:
    values = dict(enumerate([None, [], "", 0, False, "text", [[[]]], {}]))
    kinds = {"doc": doc, "secret": secret}
    written = {f"{kind}-{number}": make for number in values for kind, make in kinds.items()}
    put(designs, 0, A, *(make(name, values[int(name[-1])]) for name, make in written.items()))

    for read in designs.documents(Revision(1)):
        name, data = read.document.name, read.document.data
        assert (data, type(data)) == (values[int(name[-1])], type(values[int(name[-1])])), name
        assert read.document.is_encrypted is name.startswith("secret")


def test_many_contents_are_sent_in_parts(
    designs: SqlDesigns, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends a transaction that keeps it waiting, as the preparation of all contents at once would."""
    monkeypatch.setattr("shipyard_api.storage.design_contents._BATCH", 2)
    with statements(engine) as sent:
        put(designs, 0, A, *(doc(f"n{number}", {"x": number}) for number in range(4)))

    assert [len(values) for text, values in sent if "INTO document_contents" in text] == [2, 2]
    assert len(names(designs, 1)) == 4


def test_documents_share_nothing(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one", {"x": []}), doc("two", {"x": []}))

    one, two = (stored.document for stored in designs.documents(Revision(1)))
    one.data["x"].append(1)

    assert two.data == {"x": []}
    assert designs.documents(Revision(1))[0].document.data == {"x": []}


def test_documents_come_by_the_names_of_their_collections_and_then_as_loaded(designs: SqlDesigns) -> None:
    collections = ["b-c", "b", "B", "a_", "é", "b c", "10", "9"]
    for number, collection in enumerate(collections):
        put(designs, number, Collection(collection), *(doc(f"{letter}{number}") for letter in "zya"))

    found = designs.documents(Revision(len(collections)))

    assert [one.collection for one in found[::3]] == sorted(collections)
    assert [one.document.name[0] for one in found] == list("zya") * len(collections)
    assert list(designs.differences(EMPTY, Revision(len(collections)))) == sorted(collections)


def test_the_order_of_documents_and_keys_changes_nothing(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one", {"a": 1, "b": {"c": 2, "d": 3}}), doc("two"), secret("three", {"a": 1, "b": 2}))

    again = [secret("three", {"b": 2, "a": 1}), doc("two"), doc("one", {"b": {"d": 3, "c": 2}, "a": 1})]
    assert put(designs, 1, A, *again) is None


CHANGES = {
    "a value": ({"a": 1}, {"a": 2}),
    "a number and its text": ({"a": 1}, {"a": "1"}),
    "one and true": ({"a": 1}, {"a": True}),
    "the order of a list": ({"a": [1, 2]}, {"a": [2, 1]}),
    "empty and null": ({}, None),
    "null and absent": ({"a": None}, {}),
}


@pytest.mark.parametrize("kind", [doc, secret])
def test_what_is_a_change(designs: SqlDesigns, kind: Callable[..., Document]) -> None:
    head = 0
    for name, (before, after) in CHANGES.items():
        put(designs, head, A, kind(name, before))
        head += 2
        assert put(designs, head - 1, A, kind(name, after)) == head, name


def test_metadata_is_part_of_the_content(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"))

    assert put(designs, 1, A, doc("one", labels={"x": "y"})) == 2
    assert put(designs, 2, A, secret("one", labels={"x": "y"})) == 3


def test_equal_contents_are_stored_once(designs: SqlDesigns, engine: sa.Engine) -> None:
    put(designs, 0, A, doc("one"), doc("two", {"x": 1}), secret("s"))
    put(designs, 1, A, doc("one"), doc("two", {"x": 2}), secret("s"))
    put(designs, 2, A, doc("one"), doc("two", {"x": 1}), secret("s", "another"))
    put(designs, 3, B, doc("three"))
    put(designs, 4, A, secret("s"))

    found = counts(engine)
    assert (found["revisions"], found["revision_documents"]) == (5, 3 + 3 + 3 + 4 + 2)
    assert found["document_contents"] == len({"one", "two 1", "two 2", "three", "s", "another s"})


# --- owners


def test_a_document_belongs_to_one_collection_whatever_it_says(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"))

    with pytest.raises(DocumentElsewhere) as caught:
        put(designs, 1, B, doc("two"), doc("one", {"x": 1}))

    assert (caught.value.collection, caught.value.document.name) == (A, "one")
    assert str(caught.value) == "a/B/v1 'one' belongs to collection 'a'"


def test_the_same_name_in_another_layer_is_another_document(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"))

    assert put(designs, 1, B, doc("one", layer="global")) == 2
    assert names(designs, 2) == ["one", "one"]


def test_there_is_one_layering_policy(designs: SqlDesigns) -> None:
    put(designs, 0, A, policy("first"), doc("one"))

    with pytest.raises(SecondLayeringPolicy) as caught:
        put(designs, 1, B, policy("second"))
    assert (caught.value.document.name, caught.value.existing) == ("second", "first")
    with pytest.raises(DocumentElsewhere):
        put(designs, 1, B, policy("first", "other"))
    with pytest.raises(SecondLayeringPolicy) as caught:
        put(designs, 1, A, policy("first"), policy("second"))
    assert (caught.value.document.name, caught.value.existing) == ("second", "first")

    assert put(designs, 1, A, policy("second")) == 2  # in the place of the first
    assert put(designs, 2, A, doc("one")) == 3
    assert put(designs, 3, B, policy("third")) == 4


# --- since when


def test_what_does_not_change_has_been_there_all_the_time(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"), doc("two"), secret("s"))
    put(designs, 1, A, doc("one"), doc("two", 2), secret("s"))
    put(designs, 2, B, doc("three"))
    put(designs, 3, A, secret("s"), doc("two", 2), doc("one"), doc("four"))

    assert since(designs, 4) == {"one": 1, "two": 2, "s": 1, "three": 3, "four": 4}
    assert since(designs, 1) == {"one": 1, "two": 1, "s": 1}


# --- rollback


def test_a_rollback_shows_exactly_what_its_target_shows(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"), secret("two"))
    put(designs, 1, B, doc("three"))
    put(designs, 2, A, doc("one", 2), secret("two", 2))
    put(designs, 3, B)
    put(designs, 4, C, doc("four"))

    assert designs.rollback(Revision(2)) == 6

    assert designs.differences(Revision(2), Revision(6)) == {A: Change.UNMODIFIED, B: Change.UNMODIFIED}
    was, now = designs.documents(Revision(2)), designs.documents(Revision(6))
    assert [(one.document, one.collection) for one in now] == [(one.document, one.collection) for one in was]


def test_after_a_rollback_what_the_newest_held_too_has_been_there_all_the_time(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("kept"), doc("changed"), doc("deleted"), doc("deleted and made again"))
    put(designs, 1, A, doc("kept"), doc("changed", 2))
    put(designs, 2, A, doc("kept"), doc("changed", 2), doc("deleted and made again"))

    designs.rollback(Revision(1))

    assert since(designs, 4) == {"kept": 1, "changed": 4, "deleted": 4, "deleted and made again": 3}


def test_a_rollback_does_not_carry_tags_over(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"))
    designs.tag(Revision(1), "committed", {})

    designs.rollback(Revision(1))

    assert [one.tags for one in designs.revisions(after=EMPTY, limit=9)] == [{"committed": {}}, {}]


# --- differences


def test_differences_by_collection(designs: SqlDesigns) -> None:
    put(designs, 0, A, doc("one"))
    put(designs, 1, B, doc("two"), doc("three"))
    put(designs, 2, A, doc("one", 2))
    put(designs, 3, B)
    put(designs, 4, C, doc("four"))
    steady, made, other, gone = Change.UNMODIFIED, Change.CREATED, Change.MODIFIED, Change.DELETED

    def between(base: int, new: int) -> dict[Collection, Change]:
        return dict(designs.differences(Revision(base), Revision(new)))

    assert between(0, 2) == {A: made, B: made}
    assert between(2, 0) == {A: gone, B: gone}
    assert between(1, 2) == {A: steady, B: made}
    assert between(2, 1) == {A: steady, B: gone}
    assert between(2, 3) == {A: other, B: steady}
    assert between(1, 5) == {A: other, C: made}
    assert between(5, 2) == {A: other, B: made, C: gone}
    assert between(2, 2) == {A: steady, B: steady}


# --- tags and lists


def test_heads(designs: SqlDesigns) -> None:
    for number in range(5):
        put(designs, number, A, doc(f"d{number}"))
    for revision, tag in ((1, "committed"), (3, "committed"), (1, "site-action-success"), (2, "site-action-failure")):
        designs.tag(Revision(revision), tag, {})
    designs.tag(Revision(5), "something else", {})

    heads = designs.heads()

    assert heads.head == 5
    assert heads.newest == {
        RevisionTag.COMMITTED: 3,
        RevisionTag.SITE_ACTION_SUCCESS: 1,
        RevisionTag.SITE_ACTION_FAILURE: 2,
    }


def test_setting_a_tag_again_updates_its_data(designs: SqlDesigns, engine: sa.Engine) -> None:
    put(designs, 0, A, doc("one"))
    for data in ({"dag_id": "x"}, {"dag_id": "y"}):
        designs.tag(Revision(1), "committed", data)

    assert designs.revision(Revision(1)).tags == {"committed": {"dag_id": "y"}}
    assert counts(engine)["revision_tags"] == 1


def test_the_list_goes_page_by_page(designs: SqlDesigns) -> None:
    for number in range(7):
        put(designs, number, A, doc(f"d{number}"))

    assert numbers(designs, limit=3) == [1, 2, 3]
    assert numbers(designs, after=3, limit=3) == [4, 5, 6]
    assert numbers(designs, after=6, limit=3) == [7]
    assert numbers(designs, after=7) == numbers(designs, after=10**30) == numbers(designs, limit=0) == []
    assert numbers(designs, after=-5, limit=10**30) == [1, 2, 3, 4, 5, 6, 7]
    moments = [one.created_at for one in designs.revisions(after=EMPTY, limit=9)]
    assert moments == sorted(moments)
    assert all(moment.utcoffset() is not None for moment in moments)


def test_the_list_by_tags(designs: SqlDesigns) -> None:
    for number in range(6):
        put(designs, number, A, doc(f"d{number}"))
    for revision, tag in ((1, "x"), (2, "y"), (2, "x"), (4, "a,b"), (5, "y")):
        designs.tag(Revision(revision), tag, {"n": revision})

    assert numbers(designs, "x") == [1, 2]
    assert numbers(designs, "x", "y") == [1, 2, 5]
    assert numbers(designs, "x", "y", after=1, limit=1) == [2]
    assert numbers(designs, "a,b") == [4]
    assert numbers(designs, "nowhere", "") == []
    assert [one.tags for one in designs.revisions(tags=["y"], after=EMPTY, limit=9)] == [
        {"x": {"n": 2}, "y": {"n": 2}},
        {"y": {"n": 5}},
    ]


def test_what_no_revision_is(designs: SqlDesigns, engine: sa.Engine) -> None:
    put(designs, 0, A, doc("one"))
    before = counts(engine)
    one = Revision(1)
    calls: list[Callable[[Revision], object]] = [
        designs.revision,
        designs.documents,
        lambda unknown: designs.documents(unknown, A),
        designs.rendered,
        lambda unknown: designs.differences(unknown, one),
        lambda unknown: designs.differences(one, unknown),
        lambda unknown: designs.differences(unknown, unknown),
        designs.findings,
        designs.rollback,
        lambda unknown: designs.tag(unknown, "x", {}),
        lambda unknown: designs.put(B, [doc("two")], base=unknown, head=one),
    ]

    for number in UNKNOWN:
        for call in calls:
            with pytest.raises(UnknownRevision) as caught:
                call(Revision(number))
            assert caught.value.revision == number
    assert counts(engine) == before


def test_revision_0_has_documents_and_differences_and_nothing_else(designs: SqlDesigns) -> None:
    calls: list[Callable[[], object]] = [
        lambda: designs.revision(EMPTY),
        lambda: designs.rendered(EMPTY),
        lambda: designs.findings(EMPTY),
        lambda: designs.tag(EMPTY, "x", {}),
    ]
    for call in calls:
        with pytest.raises(UnknownRevision):
            call()


# --- the design


def test_what_the_documents_make(designs: SqlDesigns) -> None:
    parent = doc("parent", {"a": 1, "b": 1}, layer="global", labels={"is": "parent"})
    layering = {
        "layer": "site",
        "parentSelector": {"is": "parent"},
        "actions": [{"method": "merge", "path": "."}],
    }
    put(designs, 0, A, policy("policy"), parent)
    put(designs, 1, B, doc("child", {"b": 2}, layeringDefinition=layering), secret("password", "hush"))

    made = {one.document.name: one for one in designs.rendered(Revision(2)).documents}

    assert made["child"].document.data == {"a": 1, "b": 2}
    assert (made["child"].collection, made["child"].since) == (B, 2)
    assert (made["parent"].collection, made["parent"].since) == (A, 1)
    assert (made["password"].document.data, made["password"].secret) == ("hush", True)


def test_documents_that_make_no_design(designs: SqlDesigns) -> None:
    put(designs, 0, A, policy("policy", "global"), doc("one", layer="nowhere"))

    with pytest.raises(RenderingFailed) as caught:
        designs.rendered(Revision(1))

    assert caught.value.revision == 1
    assert caught.value.findings


# --- what it costs


def test_no_call_sends_more_statements_as_history_grows(designs: SqlDesigns, engine: sa.Engine) -> None:
    def costs() -> dict[str, int]:
        head = designs.heads().head
        calls: dict[str, Callable[[], object]] = {
            "heads": designs.heads,
            "list": lambda: designs.revisions(tags=["x", "y"], after=EMPTY, limit=1000),
            "documents": lambda: designs.documents(head),
            "differences": lambda: designs.differences(Revision(1), head),
            "put": lambda: designs.put(B, [doc(f"b{head}"), secret(f"s{head}")], base=head, head=head),
            "rollback": lambda: designs.rollback(head),
        }
        found = {}
        for name, call in calls.items():
            with statements(engine) as sent:
                call()
            found[name] = len(sent)
        return found

    put(designs, 0, A, *(doc(f"d{number}") for number in range(30)))
    designs.tag(Revision(1), "x", {})
    designs.fingerprint(b"")  # the first one makes a key
    first = costs()
    for number in range(25):
        head = designs.heads().head
        put(designs, head, A, *(doc(f"d{other}", number) for other in range(30)))
        designs.tag(head, "x", {})

    assert costs() == first
    assert (first["heads"], first["list"], first["documents"]) == (1, 1, 1)
    assert first["put"] <= 8


def test_the_newest_of_a_tag_is_looked_up_whatever_the_history(designs: SqlDesigns, engine: sa.Engine) -> None:
    with engine.begin() as connection:
        for statement in (
            "INSERT INTO revisions (id) SELECT generate_series(1, 20000)",
            "INSERT INTO revision_tags (revision, tag, data) SELECT id, 'committed', '{}' FROM revisions",
            "ANALYZE revisions",
            "ANALYZE revision_tags",
        ):
            connection.execute(sa.text(statement))

    with statements(engine) as sent:
        assert designs.heads().newest == {RevisionTag.COMMITTED: 20000}

    ((query, parameters),) = sent
    with engine.connect() as connection:
        plan = "\n".join(connection.exec_driver_sql(f"EXPLAIN {query}", parameters).scalars())
    assert "Seq Scan" not in plan
    assert "revision_tags_tag_revision_index" in plan


# --- a database out of reach


def test_a_database_out_of_reach_is_an_outage() -> None:
    designs = SqlDesigns(connect("postgresql://me@127.0.0.1:1/x", pool_size=1), encryption(), anything_goes)
    one = Revision(1)
    calls: list[Callable[[], object]] = [
        designs.heads,
        lambda: designs.put(A, [doc("one")], base=EMPTY, head=EMPTY),
        lambda: designs.put(A, [secret("one")], base=EMPTY, head=EMPTY),
        lambda: designs.revisions(after=EMPTY, limit=1),
        lambda: designs.revision(one),
        lambda: designs.documents(one),
        lambda: designs.rendered(one),
        lambda: designs.differences(EMPTY, one),
        lambda: designs.findings(one),
        lambda: designs.rollback(EMPTY),
        lambda: designs.tag(one, "x", {}),
        lambda: designs.fingerprint(b"x"),
        designs.rotate,
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable):
            call()


# --- against a model


@dataclass
class Model:
    """The rules of revisions in plain words of Python: each revision maps a document to what it is there."""

    states: list[dict[Identity, tuple[Collection, int, Document, int]]] = field(default_factory=lambda: [{}])

    def taken(self, collection: Collection, documents: list[Document], base: int) -> list[tuple[Document, Collection]]:
        held = self.states[base]
        owned = [(one, held[one.identity][0]) for one in documents if one.identity in held]
        return [(document, owner) for document, owner in owned if owner != collection]

    def put(self, collection: Collection, documents: list[Document], base: int) -> int | None:
        before = self.states[base]
        mine = {identity: held[2] for identity, held in before.items() if held[0] == collection}
        if mine == {document.identity: document for document in documents}:
            return None
        number = len(self.states)
        after = {identity: held for identity, held in before.items() if held[0] != collection}
        for position, document in enumerate(documents):
            unchanged = mine.get(document.identity) == document
            first = before[document.identity][3] if unchanged else number
            after[document.identity] = (collection, position, document, first)
        self.states.append(after)
        return number

    def rollback(self, target: int) -> int:
        newest, number = self.states[-1], len(self.states)
        self.states.append(
            {
                identity: (collection, position, document, newest[identity][3] if unbroken else number)
                for identity, (collection, position, document, _) in self.states[target].items()
                for unbroken in [identity in newest and newest[identity][2] == document]
            }
        )
        return number

    def documents(self, revision: int) -> list[tuple[Collection, Document, int]]:
        held = sorted(self.states[revision].values(), key=lambda one: (one[0], one[1]))
        return [(collection, document, first) for collection, _, document, first in held]

    def differences(self, base: int, new: int) -> dict[Collection, Change]:
        def contents(revision: int, collection: Collection) -> dict[Identity, Document]:
            held = self.states[revision].items()
            return {identity: one[2] for identity, one in held if one[0] == collection}

        found = {}
        for collection in (A, B, C):
            before, after = contents(base, collection), contents(new, collection)
            if before and after:
                found[collection] = Change.UNMODIFIED if before == after else Change.MODIFIED
            elif before or after:
                found[collection] = Change.CREATED if after else Change.DELETED
        return found


some_documents = st.lists(
    st.builds(
        lambda kind, name, data: kind(name, data),
        st.sampled_from([doc, doc, secret]),
        st.sampled_from("pqrs"),
        st.sampled_from([1, 2]),
    ),
    max_size=4,
    unique_by=lambda document: document.identity,
)
# How far back the base or the target lies: most often it is the newest revision.
back = st.sampled_from([0, 0, 0, 1, 2, 5])
changes = st.lists(
    st.tuples(st.just("put"), st.sampled_from([A, B, C]), some_documents, back) | st.tuples(st.just("rollback"), back),
    max_size=12,
)


@settings(
    max_examples=int(os.environ.get("SHIPYARD_EXAMPLES", "25")),
    derandomize="SHIPYARD_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(changes)
def test_whatever_is_put_and_rolled_back_the_rules_hold(engine: sa.Engine, changes: list[tuple[Any, ...]]) -> None:
    empty(engine)
    designs, model = SqlDesigns(engine, encryption(), anything_goes), Model()
    for what, *how in changes:
        head = len(model.states) - 1
        if what == "rollback":
            target = max(head - how[0], 0)
            made = model.rollback(target)
            assert designs.rollback(Revision(target)) == made
            assert set(designs.differences(Revision(target), Revision(made)).values()) <= {Change.UNMODIFIED}
            continue
        collection, documents, distance = how
        base = max(head - distance, 0)
        taken = model.taken(collection, documents, base)
        if taken:
            with pytest.raises(DocumentElsewhere) as caught:
                put(designs, base, collection, *documents, head=head)
            assert (caught.value.document, caught.value.collection) == taken[0]
        else:
            expected = model.put(collection, documents, base)
            assert put(designs, base, collection, *documents, head=head) == expected

    newest = len(model.states) - 1
    assert numbers(designs) == list(range(1, newest + 1))
    for number in range(newest + 1):
        found = designs.documents(Revision(number))
        assert [(one.collection, one.document, one.since) for one in found] == model.documents(number)
        for base, new in ((number, newest), (newest, number), (0, number)):
            assert designs.differences(Revision(base), Revision(new)) == model.differences(base, new)
