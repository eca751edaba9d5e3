"""What the database holds of a secret: nothing that can be read, guessed or put elsewhere. And keys that change."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from shipyard_api.domain.documents import Change, Document, Revision, canonical
from shipyard_api.ports.documents import DocumentElsewhere, NoSecretKey, Overtaken, SecretsLocked
from shipyard_api.ports.encryption import Encryption
from shipyard_api.storage import tables as t
from shipyard_api.storage.design_contents import Rotation
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import connect
from tests.integration.storage.design_documents import KEYS, A, B, anything_goes, doc, encryption, policy, secret
from tests.integration.storage.rows import counts
from tests.waiting import PATIENCE, until

EMPTY, ONE = Revision(0), Revision(1)
CANARY = "yellow-bird-é-5f1e"
SPELLINGS = [
    CANARY.encode(),
    json.dumps(CANARY)[1:-1].encode(),
    b"yellow-bird",
    CANARY.encode().hex().encode(),
    base64.b64encode(CANARY.encode()),
]
FIRST, SECOND, THIRD = KEYS


def store(engine: sa.Engine, *keys: str) -> SqlDesigns:
    """The store as a process with these keys opens it, newest first; without any, secrets stay shut."""
    return SqlDesigns(engine, encryption(*keys) if keys else None, anything_goes)


def everything(engine: sa.Engine) -> list[bytes]:
    """Every value of every column of every table: as text, and bytes as they are and as what they may encode."""
    columns = sa.text(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
    )
    found: list[bytes] = []
    with engine.connect() as connection:
        for table, column, kind in connection.execute(columns).all():
            shown = f'"{column}"' if kind == "bytea" else f'"{column}"::text'
            for value in connection.execute(sa.text(f'SELECT {shown} FROM "{table}"')).scalars():
                if value is None:
                    continue
                raw = bytes(value) if kind == "bytea" else value.encode()
                found += [raw, base64.urlsafe_b64decode(raw + b"==")] if kind == "bytea" else [raw]
    return found


def encrypted_rows(engine: sa.Engine) -> dict[str, bytes]:
    contents = t.document_contents.c
    with engine.connect() as connection:
        rows = connection.execute(sa.select(contents.hash, contents.ciphertext).where(contents.ciphertext.is_not(None)))
        return {row.hash: bytes(row.ciphertext) for row in rows}


def replace_ciphertext(engine: sa.Engine, content: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(t.document_contents.update().where(t.document_contents.c.hash == content).values(**values))


def content_of(document: Document) -> bytes:
    return canonical([document.schema, document.metadata, document.data])


# --- at rest


def test_a_secret_is_nowhere_in_the_database(engine: sa.Engine) -> None:
    designs = store(engine, FIRST)
    secrets = [secret("flat", CANARY), secret("deep", {"list": [{"key": CANARY}], CANARY: 1})]
    with pytest.raises(Overtaken):
        designs.put(A, secrets, base=EMPTY, head=ONE)
    designs.put(A, [*secrets, doc("clear", "known")], base=EMPTY, head=EMPTY)
    with pytest.raises(DocumentElsewhere):
        designs.put(B, secrets, base=ONE, head=ONE)
    designs.rollback(ONE)

    values = everything(engine)
    assert any(b"known" in value for value in values)  # so that the search is one
    assert [value for value in values if any(spelling in value for spelling in SPELLINGS)] == []
    assert [one.document for one in designs.documents(ONE)][:2] == secrets


def test_the_search_would_find_it(engine: sa.Engine) -> None:
    store(engine, FIRST).put(A, [doc("clear", CANARY)], base=EMPTY, head=EMPTY)

    assert any(spelling in value for value in everything(engine) for spelling in SPELLINGS)


def test_a_hash_does_not_help_to_guess_a_secret(engine: sa.Engine) -> None:
    document = secret("password", "1234")
    store(engine, FIRST).put(A, [document], base=EMPTY, head=EMPTY)

    (found,) = encrypted_rows(engine)

    assert found != hashlib.sha256(content_of(document)).hexdigest()
    for key in (FIRST.encode(), base64.urlsafe_b64decode(FIRST)):
        assert found != hmac.new(key, content_of(document), hashlib.sha256).hexdigest()


def test_an_empty_secret_is_a_secret(engine: sa.Engine) -> None:
    empty = ["", {}, [], None]
    documents = [secret(f"s{number}", data) for number, data in enumerate(empty)]
    store(engine, FIRST).put(A, documents, base=EMPTY, head=EMPTY)

    assert len(encrypted_rows(engine)) == len(empty)
    read = [one.document for one in store(engine, FIRST).documents(ONE)]
    assert read == documents
    assert all(document.is_encrypted for document in read)


def test_a_cleartext_document_needs_no_key(engine: sa.Engine) -> None:
    assert store(engine).put(A, [doc("one")], base=EMPTY, head=EMPTY) == 1

    assert store(engine).documents(ONE) == store(engine, FIRST).documents(ONE)
    assert counts(engine)["store_keys"] == 0


def test_without_a_key_secrets_are_refused_and_all_of_them_named(engine: sa.Engine) -> None:
    documents = [secret("one"), doc("two"), secret("three")]

    with pytest.raises(NoSecretKey) as caught:
        store(engine).put(A, documents, base=EMPTY, head=EMPTY)

    assert [document.name for document in caught.value.documents] == ["one", "three"]
    assert set(counts(engine).values()) == {0}


# --- fingerprints


def test_without_a_key_a_fingerprint_is_a_plain_hash(engine: sa.Engine) -> None:
    assert store(engine).fingerprint(b"x") == hashlib.sha256(b"x").hexdigest()
    assert counts(engine)["store_keys"] == 0


def test_with_a_key_a_fingerprint_is_the_same_everywhere_and_for_ever(engine: sa.Engine) -> None:
    one = store(engine, FIRST).fingerprint(b"x")

    assert one == store(engine, FIRST).fingerprint(b"x") == store(engine, SECOND, FIRST).fingerprint(b"x")
    assert one != store(engine, FIRST).fingerprint(b"y")
    assert one != hashlib.sha256(b"x").hexdigest()
    assert len(bytes.fromhex(one)) == 32
    assert one == one.lower()


def test_those_who_need_a_key_at_the_same_time_get_the_same(engine: sa.Engine) -> None:
    stores = [store(engine, FIRST) for _ in range(8)]

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda one: one.fingerprint(b"x"), stores))

    assert len(found) == 1
    assert counts(engine)["store_keys"] == 1


def test_who_comes_second_takes_the_key_of_the_first(engine: sa.Engine) -> None:
    fingerprint = store(engine, FIRST).fingerprint(b"x")
    with engine.begin() as connection:
        key = connection.execute(sa.delete(t.store_keys).returning(t.store_keys)).one()
    waits = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )

    with ThreadPoolExecutor(1) as other, engine.connect() as first, engine.connect() as watching:
        first.execute(t.store_keys.insert().values(tuple(key)))
        second = other.submit(store(engine, FIRST).fingerprint, b"x")

        def second_waits() -> bool:
            watching.rollback()  # within a transaction the answer would stay the same
            return bool(watching.execute(waits).scalar_one())

        until(second_waits)
        first.commit()
        assert second.result(timeout=PATIENCE) == fingerprint


def test_a_refused_put_does_not_lose_the_key_that_it_made(engine: sa.Engine) -> None:
    designs = store(engine, FIRST)
    with pytest.raises(Overtaken):
        designs.put(A, [secret("one")], base=EMPTY, head=ONE)

    assert designs.fingerprint(b"x") == store(engine, FIRST).fingerprint(b"x")


# --- what cannot be opened


@pytest.mark.parametrize("keys", [(), (SECOND,), (SECOND, THIRD)], ids=["no key", "a wrong key", "two wrong keys"])
def test_without_the_right_key_secrets_stay_shut_and_the_rest_goes_on(engine: sa.Engine, keys: tuple[str, ...]) -> None:
    store(engine, FIRST).put(A, [policy("p"), secret("one", CANARY)], base=EMPTY, head=EMPTY)
    designs = store(engine, *keys)

    for call in (designs.documents, lambda revision: designs.documents(revision, A), designs.rendered):
        with pytest.raises(SecretsLocked, match=r"the data of a/B/v1 'one' is encrypted, and ") as caught:
            call(ONE)
        assert CANARY not in str(caught.value)
    if keys:
        with pytest.raises(SecretsLocked, match="the store's key for fingerprints is encrypted"):
            designs.fingerprint(b"x")
        with pytest.raises(SecretsLocked):
            designs.put(B, [secret("two")], base=ONE, head=ONE)
    assert designs.put(B, [doc("two")], base=ONE, head=ONE) == 2
    assert designs.rollback(ONE) == 3
    assert designs.differences(ONE, Revision(2)) == {A: Change.UNMODIFIED, B: Change.CREATED}
    assert designs.heads().head == 3
    assert len(designs.documents(Revision(2), B)) == 1
    assert len(store(engine, FIRST).documents(Revision(3))) == 2


def test_ciphertexts_of_other_places_of_elsewhere_or_with_a_flipped_bit_are_not_shown(engine: sa.Engine) -> None:
    """Such as the store's own key, or what somebody else encrypted with the same keys."""
    designs = store(engine, FIRST)
    designs.put(A, [secret("mine", "known to me"), secret("theirs", CANARY)], base=EMPTY, head=EMPTY)
    (one, mine), (_, theirs) = encrypted_rows(engine).items()
    with engine.connect() as connection:
        (key,) = connection.execute(sa.select(t.store_keys.c.ciphertext)).scalars()
    foreign = [b"{}", b"[]", b'"x"', b"1", b'{"of": "x", "data": 1}', b'{"data": 1}']
    flipped = [bytearray(base64.urlsafe_b64decode(mine)) for _ in range(4)]
    for raw, place in zip(flipped, (0, 9, 30, -1), strict=True):
        raw[place] ^= 1

    replace_ciphertext(engine, one, ciphertext=theirs)
    with pytest.raises(SecretsLocked, match="encrypted for another entry"):
        designs.documents(ONE)
    for ciphertext in [key, *map(encryption(FIRST).encrypt, foreign), *map(base64.urlsafe_b64encode, flipped)]:
        replace_ciphertext(engine, one, ciphertext=ciphertext)
        with pytest.raises(SecretsLocked):
            designs.documents(ONE)
    replace_ciphertext(engine, one, ciphertext=mine)
    assert len(designs.documents(ONE)) == 2


def test_a_secret_that_was_laid_open_or_a_clear_one_that_claims_to_be_none_is_not_shown(engine: sa.Engine) -> None:
    designs = store(engine, FIRST)
    designs.put(A, [secret("one", CANARY)], base=EMPTY, head=EMPTY)
    ((content, ciphertext),) = encrypted_rows(engine).items()

    replace_ciphertext(engine, content, ciphertext=None, data='"chosen by somebody else"')
    with pytest.raises(SecretsLocked, match="not stored as its storagePolicy says"):
        designs.documents(ONE)
    replace_ciphertext(engine, content, ciphertext=ciphertext, data=None, metadata='{"storagePolicy": "cleartext"}')
    with pytest.raises(SecretsLocked, match="not stored as its storagePolicy says"):
        designs.documents(ONE)


@pytest.mark.parametrize("values", [{"ciphertext": None, "data": None}, {"ciphertext": b"x", "data": "1"}], ids=str)
def test_a_content_is_clear_or_sealed_and_never_both(engine: sa.Engine, values: dict[str, Any]) -> None:
    store(engine, FIRST).put(A, [secret("one")], base=EMPTY, head=EMPTY)
    (content,) = encrypted_rows(engine)

    with pytest.raises(sa.exc.IntegrityError, match="document_contents_clear_or_sealed"):
        replace_ciphertext(engine, content, **values)


# --- keys that change


SOME = [secret(f"s{number}", number) for number in range(5)]


def test_keys_are_changed_without_anybody_noticing(engine: sa.Engine) -> None:
    store(engine, FIRST).put(A, [*SOME, doc("clear")], base=EMPTY, head=EMPTY)
    fingerprint, before = store(engine, FIRST).fingerprint(b"x"), encrypted_rows(engine)

    assert store(engine, SECOND, FIRST).rotate(batch=2) == Rotation(
        reencrypted=6, newest=0, undecryptable=0, examples=()
    )
    assert store(engine, SECOND, FIRST).rotate(batch=2) == Rotation(
        reencrypted=0, newest=6, undecryptable=0, examples=()
    )
    assert store(engine, THIRD, SECOND, FIRST).rotate() == Rotation(
        reencrypted=6, newest=0, undecryptable=0, examples=()
    )

    designs = store(engine, THIRD)
    assert [one.document for one in designs.documents(ONE)] == [*SOME, doc("clear")]
    assert designs.fingerprint(b"x") == fingerprint
    assert designs.put(A, [*SOME, doc("clear")], base=ONE, head=ONE) is None
    after = encrypted_rows(engine)
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    for old in (FIRST, SECOND):
        with pytest.raises(SecretsLocked):
            store(engine, old).documents(ONE)


def test_with_a_key_more_old_and_new_secrets_stand_side_by_side(engine: sa.Engine) -> None:
    store(engine, FIRST).put(A, SOME[:2], base=EMPTY, head=EMPTY)
    store(engine, SECOND, FIRST).put(B, SOME[2:], base=ONE, head=ONE)

    designs = store(engine, SECOND, FIRST)
    assert [one.document for one in designs.documents(Revision(2))] == SOME
    assert designs.rotate() == Rotation(3, 3, 0, ())


@dataclass
class BreaksDown:
    """Encryption that breaks after a number of calls."""

    inner: Encryption
    left: int

    def encrypt(self, clear: bytes) -> bytes:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return self.inner.encrypt(clear)

    def decrypt(self, ciphertext: bytes) -> bytes:
        return self.inner.decrypt(ciphertext)

    def is_newest(self, ciphertext: bytes) -> bool:
        return self.inner.is_newest(ciphertext)


@pytest.mark.parametrize(("left", "kept"), [(0, 0), (2, 1), (5, 5)])
def test_a_change_of_keys_that_is_broken_off_goes_on_where_it_was(engine: sa.Engine, left: int, kept: int) -> None:
    """The store's key comes first, then two contents at a time."""
    store(engine, FIRST).put(A, SOME, base=EMPTY, head=EMPTY)
    with pytest.raises(KeyboardInterrupt):
        SqlDesigns(engine, BreaksDown(encryption(SECOND, FIRST), left), anything_goes).rotate(batch=2)

    assert [one.document for one in store(engine, SECOND, FIRST).documents(ONE)] == SOME
    assert store(engine, SECOND, FIRST).rotate(batch=2) == Rotation(6 - kept, kept, 0, ())
    assert [one.document for one in store(engine, SECOND).documents(ONE)] == SOME


class Slow(BreaksDown):
    """Encryption that takes its time."""

    def encrypt(self, clear: bytes) -> bytes:
        time.sleep(0.4)
        return super().encrypt(clear)


def test_a_change_of_keys_may_take_its_time(engine: sa.Engine, storage_url: str) -> None:
    """More than a session of the service may be idle in a transaction."""
    store(engine, FIRST).put(A, SOME[:1], base=EMPTY, head=EMPTY)
    limited = connect(f"{storage_url}?options=-c%20idle_in_transaction_session_timeout%3D200")
    report = SqlDesigns(limited, Slow(encryption(SECOND, FIRST), 9), anything_goes).rotate()
    limited.dispose()

    assert report.reencrypted == 2


def test_what_cannot_be_opened_is_counted_and_left_alone(engine: sa.Engine) -> None:
    store(engine, FIRST).put(A, SOME, base=EMPTY, head=EMPTY)
    before = encrypted_rows(engine)

    report = store(engine, SECOND).rotate(batch=2)

    assert report == Rotation(0, 0, 6, ("fingerprints", *sorted(before)))
    assert encrypted_rows(engine) == before
    assert [one.document for one in store(engine, FIRST).documents(ONE)] == SOME


def test_one_that_cannot_be_opened_does_not_keep_the_others_from_it(engine: sa.Engine) -> None:
    store(engine, FIRST).put(A, SOME, base=EMPTY, head=EMPTY)
    one, other, *_ = sorted(encrypted_rows(engine))
    replace_ciphertext(engine, one, ciphertext=b"nonsense")
    replace_ciphertext(engine, other, ciphertext=encrypted_rows(engine)[max(encrypted_rows(engine))])

    assert store(engine, SECOND, FIRST).rotate(batch=1) == Rotation(4, 0, 2, (one, other))


def test_no_more_than_twenty_are_named(engine: sa.Engine) -> None:
    assert store(engine, FIRST).rotate() == Rotation(0, 0, 0, ())  # an empty store
    documents = [secret(f"s{number:02}") for number in range(30)]
    store(engine, FIRST).put(A, documents, base=EMPTY, head=EMPTY)

    report = store(engine, SECOND).rotate()

    assert (report.undecryptable, len(report.examples)) == (31, 20)
    with pytest.raises(NoSecretKey):
        store(engine).rotate()


def test_keys_are_changed_while_somebody_refers_to_the_contents(engine: sa.Engine) -> None:
    """As a put does that has not ended: it must wait for nothing, and nothing for it."""
    store(engine, FIRST).put(A, SOME, base=EMPTY, head=EMPTY)
    rows = t.revision_documents
    # In this order: were it to wait, the connection would be closed before the thread is waited for.
    with ThreadPoolExecutor(1) as other, engine.connect() as connection:
        connection.execute(t.revisions.insert().values(id=2))
        columns = [column for column in rows.c if column.name != "revision"]
        copied = sa.select(sa.literal(2), *columns).where(rows.c.revision == 1)
        connection.execute(rows.insert().from_select(["revision", *(column.name for column in columns)], copied))
        assert other.submit(store(engine, SECOND, FIRST).rotate).result(timeout=PATIENCE).reencrypted == 6
        connection.commit()

    assert [one.document for one in store(engine, SECOND).documents(Revision(2))] == SOME


def test_keys_are_changed_beside_a_service_and_by_two_at_once(engine: sa.Engine) -> None:
    both = (SECOND, FIRST)
    store(engine, FIRST).put(A, SOME, base=EMPTY, head=EMPTY)

    def serve() -> None:
        designs = store(engine, *both)
        for number in range(1, 21):
            documents = [secret(f"more{number}-{other}", [number, other]) for other in range(5)]
            designs.put(B, documents, base=Revision(number), head=Revision(number))
            assert [one.document for one in designs.documents(Revision(number + 1))] == [*SOME, *documents]

    def rotate() -> list[Rotation]:
        return [store(engine, *both).rotate(batch=3) for _ in range(5)]

    work: list[Callable[[], Any]] = [serve, rotate, rotate]
    with ThreadPoolExecutor(3) as threads:
        served, *rotated = [threads.submit(one) for one in work]
        served.result(timeout=PATIENCE)
        reports = [report for one in rotated for report in one.result(timeout=PATIENCE)]

    assert sum(report.reencrypted for report in reports) == 6  # each once, whoever was first
    assert store(engine, SECOND).rotate() == Rotation(0, 5 + 100 + 1, 0, ())
