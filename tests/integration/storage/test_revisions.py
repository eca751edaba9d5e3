"""Configdocs in Postgres: revisions, who owns a document, contents that are stored once, tags."""

from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.configdocs import Collection, Document, Revision, RevisionTag, parse_documents
from shipyard_api.ports.store import DocumentElsewhere, LockHeld
from shipyard_api.storage import tables as t
from shipyard_api.storage.unit_of_work import SqlStore
from tests.factories import document
from tests.integration.storage.rows import broken_off, counts

A, B, C = Collection("a"), Collection("b"), Collection("c")
EMPTY = Revision(0)


def doc(name: str, data: Any = None, **metadata: Any) -> Document:
    (parsed,), findings = parse_documents([document("a/B/v1", name, {} if data is None else data, **metadata)])
    assert findings == ()
    return parsed


def put(store: SqlStore, base: int, collection: Collection, *documents: Document) -> Revision | None:
    with store.begin() as tx:
        tx.revisions.lock()
        return tx.revisions.put(Revision(base), collection, documents)


def names(store: SqlStore, revision: int, collection: Collection | None = None) -> list[str]:
    with store.begin() as tx:
        return [one.name for one in tx.revisions.documents(Revision(revision), collection)]


def test_before_the_first_there_is_revision_0(store: SqlStore) -> None:
    with store.begin() as tx:
        assert tx.revisions.head() == 0
        assert tx.revisions.exists(EMPTY)
        assert not tx.revisions.exists(Revision(1))
        assert tx.revisions.documents(EMPTY) == ()
        assert tx.revisions.contents(EMPTY) == {}
        assert tx.revisions.newest_tagged(set(RevisionTag)) is None


def test_revisions_are_numbered_without_gaps(store: SqlStore) -> None:
    assert put(store, 0, A, doc("one")) == 1
    assert put(store, 1, A, doc("one")) is None
    with pytest.raises(DocumentElsewhere):
        put(store, 1, B, doc("one"))
    assert put(store, 1, B, doc("two")) == 2


def test_a_document_is_kept_as_it_was_written(store: SqlStore) -> None:
    data = {"z": [1, 2.5, True, None, 10**300, "é𝄞\u2028\x7f\r\n"], "a": {"": {}}, "1": -0.0}
    written = doc("one", data, labels={"k": "v"})
    put(store, 0, A, written)

    with store.begin() as tx:
        (read,) = tx.revisions.documents(Revision(1))

    assert read == written
    assert list(read.data) == ["z", "a", "1"]
    assert list(read.metadata) == list(written.metadata)


@pytest.mark.parametrize("data", [None, [], "", 0, False, "text", [[[]]]], ids=repr)
def test_data_may_be_any_value(store: SqlStore, data: Any) -> None:
    (written,), _ = parse_documents([document("a/B/v1", "one", data)])
    put(store, 0, A, written)

    with store.begin() as tx:
        (read,) = tx.revisions.documents(Revision(1))
    assert read.data == data
    assert type(read.data) is type(data)


def test_a_put_replaces_its_collection_and_keeps_the_others(store: SqlStore) -> None:
    put(store, 0, A, doc("one"), doc("two"))
    put(store, 1, B, doc("three"))
    put(store, 2, A, doc("four"), doc("two"))

    assert [names(store, revision) for revision in (1, 2, 3)] == [
        ["one", "two"],
        ["one", "two", "three"],
        ["four", "two", "three"],
    ]
    assert names(store, 3, A) == ["four", "two"]
    assert names(store, 3, C) == []


def test_a_put_may_build_on_an_older_revision(store: SqlStore) -> None:
    put(store, 0, A, doc("one"))
    put(store, 1, B, doc("two"))

    assert put(store, 1, C, doc("two")) == 3  # in revision 1 nobody owns it

    assert names(store, 3) == ["one", "two"]
    with store.begin() as tx:
        assert set(tx.revisions.contents(Revision(3))) == {A, C}


def test_an_emptied_collection_holds_nothing(store: SqlStore) -> None:
    put(store, 0, A, doc("one"))

    assert put(store, 1, A) == 2
    assert put(store, 2, A) is None
    assert put(store, 2, B) is None

    with store.begin() as tx:
        assert tx.revisions.contents(Revision(2)) == {}
        assert tx.revisions.exists(Revision(2))


def test_the_order_of_documents_and_keys_changes_nothing(store: SqlStore) -> None:
    put(store, 0, A, doc("one", {"a": 1, "b": {"c": 2, "d": 3}}), doc("two"))

    assert put(store, 1, A, doc("two"), doc("one", {"b": {"d": 3, "c": 2}, "a": 1})) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({"a": 1}, {"a": 2}, id="a value"),
        pytest.param({"a": 1}, {"a": "1"}, id="a number and its text"),
        pytest.param({"a": 1}, {"a": True}, id="one and true"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, id="the order of a list"),
        pytest.param({}, None, id="empty and null"),
        pytest.param({"a": None}, {}, id="null and absent"),
    ],
)
def test_what_is_a_change(store: SqlStore, before: Any, after: Any) -> None:
    first, _ = parse_documents([document("a/B/v1", "one", before)])
    second, _ = parse_documents([document("a/B/v1", "one", after)])
    put(store, 0, A, *first)

    assert put(store, 1, A, *second) == 2


def test_metadata_is_part_of_the_content(store: SqlStore) -> None:
    put(store, 0, A, doc("one"))

    assert put(store, 1, A, doc("one", labels={"x": "y"})) == 2


def test_equal_contents_are_stored_once(store: SqlStore, engine: sa.Engine) -> None:
    put(store, 0, A, doc("one"), doc("two", {"x": 1}))
    put(store, 1, A, doc("one"), doc("two", {"x": 2}))
    put(store, 2, A, doc("one"), doc("two", {"x": 1}))
    put(store, 3, B, doc("three"))

    found = counts(engine)
    assert (found["revisions"], found["revision_documents"]) == (4, 2 + 2 + 2 + 3)
    assert found["document_contents"] == 4
    with store.begin() as tx:
        contents = [tx.revisions.contents(Revision(number)) for number in (1, 2, 3)]
    assert contents[0] == contents[2] != contents[1]


def test_a_document_belongs_to_one_collection_whatever_it_says(store: SqlStore, engine: sa.Engine) -> None:
    put(store, 0, A, doc("one"))
    before = counts(engine)

    with pytest.raises(DocumentElsewhere) as caught:
        put(store, 1, B, doc("two"), doc("one", {"x": 1}))

    assert (caught.value.collection, caught.value.document.name) == (A, "one")
    assert str(caught.value) == "a/B/v1 'one' belongs to collection 'a'"
    assert counts(engine) == before


def test_the_same_name_in_another_layer_is_another_document(store: SqlStore) -> None:
    put(store, 0, A, doc("one"))

    assert put(store, 1, B, doc("one", layeringDefinition={"abstract": True, "layer": "global"})) == 2
    assert names(store, 2) == ["one", "one"]


def test_a_number_that_no_revision_can_have_is_none(store: SqlStore) -> None:
    with store.begin() as tx:
        assert not any(tx.revisions.exists(Revision(number)) for number in (-1, 2**31, 2**63, 10**30))


def test_tags_by_revision(store: SqlStore) -> None:
    for number in range(4):
        put(store, number, A, doc(f"d{number}"))
    with store.begin() as tx:
        for revision, tag in (
            (1, RevisionTag.COMMITTED),
            (3, RevisionTag.COMMITTED),
            (1, RevisionTag.SITE_ACTION_SUCCESS),
            (2, RevisionTag.SITE_ACTION_FAILURE),
        ):
            tx.revisions.tag(Revision(revision), tag, {})

    with store.begin() as tx:
        assert tx.revisions.tagged(RevisionTag.COMMITTED) == [1, 3]
        assert tx.revisions.newest_tagged({RevisionTag.COMMITTED}) == 3
        assert tx.revisions.newest_tagged({RevisionTag.SITE_ACTION_SUCCESS}) == 1
        assert tx.revisions.newest_tagged({RevisionTag.SITE_ACTION_SUCCESS, RevisionTag.SITE_ACTION_FAILURE}) == 2


def test_setting_a_tag_again_updates_its_data(store: SqlStore, engine: sa.Engine) -> None:
    put(store, 0, A, doc("one"))
    for data in ({"dag_id": "x"}, {"dag_id": "y"}):
        with store.begin() as tx:
            tx.revisions.tag(Revision(1), RevisionTag.COMMITTED, data)

    with engine.connect() as connection:
        (row,) = connection.execute(sa.select(t.revision_tags))
    assert row.data == {"dag_id": "y"}


def test_a_tag_needs_its_revision(store: SqlStore) -> None:
    with pytest.raises(sa.exc.IntegrityError), store.begin() as tx:
        tx.revisions.tag(Revision(7), RevisionTag.COMMITTED, {})


def test_the_lock_keeps_writers_out_until_the_transaction_ends(store: SqlStore) -> None:
    with store.begin() as tx:
        tx.revisions.lock()
        tx.revisions.lock()  # it is ours already
        with pytest.raises(LockHeld), store.begin() as other:
            other.revisions.lock()
        with store.begin() as reader:
            assert reader.revisions.head() == 0
    with broken_off(store) as tx:
        tx.revisions.lock()
    with store.begin() as tx:
        tx.revisions.lock()


def test_a_transaction_that_fails_leaves_nothing(store: SqlStore, engine: sa.Engine) -> None:
    before = counts(engine)

    with broken_off(store) as tx:
        tx.revisions.put(EMPTY, A, [doc("one")])

    assert counts(engine) == before
    assert put(store, 0, A, doc("one")) == 1  # and uses no number
