"""Contents of documents: each stored once, under its hash, and encrypted where it is secret.

An encrypted content names the hash that it belongs to. So a writer to the database cannot swap one secret
for another.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.documents import Document, Identity, canonical
from shipyard_api.ports.documents import NoSecretKey, SecretsLocked
from shipyard_api.ports.encryption import DecryptionFailed, Encryption
from shipyard_api.storage import tables as t
from shipyard_api.storage.addresses import NO_IDLE_LIMIT
from shipyard_api.storage.connections import outages

_FINGERPRINTS = "fingerprints"
_EXAMPLES = 20
# Rows of one statement: between two, the server waits for us, and ends a transaction that keeps it waiting too long.
_BATCH = 1000


class Rotation(Struct, frozen=True):
    """Result of a key rotation. ``undecryptable``: entries that no configured key decrypts.

    ``examples``: the first undecryptable entries, as content hashes or names of the store's own keys.
    """

    reencrypted: int
    newest: int
    undecryptable: int
    examples: tuple[str, ...]


class DesignContents:
    """Contents of documents in the database, and the store's own keys.

    The fingerprint key never changes, whatever keys are configured: hashes of secrets depend on it.
    """

    def __init__(self, engine: sa.Engine, encryption: Encryption | None) -> None:
        self._engine = engine
        self._encryption = encryption
        self._fingerprint_key: bytes | None = None

    def hashes(self, documents: Iterable[Document]) -> dict[Identity, str]:
        """Return the content hash of each document; raises NoSecretKey, SecretsLocked and StoreUnavailable.

        Call it outside of a transaction: it may store a key, which must survive a rollback.
        """
        documents = tuple(documents)
        encrypted = [document for document in documents if document.is_encrypted]
        if encrypted and self._encryption is None:
            raise NoSecretKey(encrypted)
        return {document.identity: self._hash(document) for document in documents}

    def insert(self, connection: sa.Connection, documents: Iterable[Document], hashes: Mapping[Identity, str]) -> None:
        """Store the contents that are not stored yet."""
        rows = (self._row(document, hashes[document.identity]) for document in documents)
        while batch := list(islice(rows, _BATCH)):
            connection.execute(insert(t.document_contents).on_conflict_do_nothing(), batch)

    def decrypted(self, ciphertext: bytes, of: str, *, label: str) -> Any:
        """Return the content encrypted for this hash; raises SecretsLocked, with the label in its text."""
        if self._encryption is None:
            raise SecretsLocked(f"{label} is encrypted, and no key is configured")
        try:
            return _decrypted(self._encryption, ciphertext, of)
        except DecryptionFailed as error:
            raise SecretsLocked(f"{label} is encrypted, and cannot be decrypted: {error}") from error

    def fingerprint(self, text: bytes) -> str:
        """Return the fingerprint that readers see instead of a secret; raises SecretsLocked and StoreUnavailable."""
        if self._encryption is None:
            return hashlib.sha256(text).hexdigest()
        if self._fingerprint_key is None:
            self._fingerprint_key = self._stored_key(self._encryption)
        return hmac.digest(self._fingerprint_key, text, "sha256").hex()

    def rotate(self, batch: int) -> Rotation:
        """Reencrypt everything that the newest key did not encrypt; raises NoSecretKey and StoreUnavailable.

        Each batch is committed, so it is safe to interrupt and repeat, also while the service or another rotation runs.
        """
        if self._encryption is None:
            raise NoSecretKey(())
        count = _Count()
        contents, keys = t.document_contents.c, t.store_keys.c
        for column, ciphertext in ((keys.name, keys.ciphertext), (contents.hash, contents.ciphertext)):
            after: str | None = ""
            while after is not None:
                with outages(), self._engine.begin() as connection:
                    connection.exec_driver_sql(NO_IDLE_LIMIT)
                    after = _reencrypt(
                        connection, self._encryption, column, ciphertext, after=after, batch=batch, count=count
                    )
        return Rotation(count.reencrypted, count.newest, count.undecryptable, tuple(count.examples))

    def _hash(self, document: Document) -> str:
        whole = canonical([document.schema, document.metadata, document.data])
        return self.fingerprint(whole) if document.is_encrypted else hashlib.sha256(whole).hexdigest()

    def _row(self, document: Document, content: str) -> dict[str, Any]:
        row = {"hash": content, "metadata": json.dumps(document.metadata), "data": None, "ciphertext": None}
        if not document.is_encrypted:
            return {**row, "data": json.dumps(document.data)}
        if self._encryption is None:
            raise NoSecretKey([document])
        return {**row, "ciphertext": _encrypted(self._encryption, content, document.data)}

    def _stored_key(self, encryption: Encryption) -> bytes:
        """Return the fingerprint key. The first process that needs it creates it."""
        keys = t.store_keys.c
        query = sa.select(keys.ciphertext).where(keys.name == _FINGERPRINTS)
        with outages(), self._engine.begin() as connection:
            stored = connection.execute(query).scalar_one_or_none()
            if stored is None:
                fresh = _encrypted(encryption, _FINGERPRINTS, secrets.token_hex(32))
                connection.execute(
                    insert(t.store_keys).values(name=_FINGERPRINTS, ciphertext=fresh).on_conflict_do_nothing()
                )
                stored = connection.execute(query).scalar_one()
        return bytes.fromhex(self.decrypted(stored, _FINGERPRINTS, label="the store's key for fingerprints"))


@dataclass(slots=True)
class _Count:
    reencrypted: int
    newest: int
    undecryptable: int
    examples: list[str]

    def __init__(self) -> None:
        self.reencrypted = self.newest = self.undecryptable = 0
        self.examples = []


def _reencrypt(
    connection: sa.Connection,
    encryption: Encryption,
    column: "sa.Column[str]",
    ciphertext: "sa.Column[bytes]",
    *,
    after: str,
    batch: int,
    count: _Count,
) -> str | None:
    """Reencrypt a batch of rows, and return the last of them; None if there are no more."""
    rows = connection.execute(
        sa.select(column, ciphertext)
        .where(column > after, ciphertext.is_not(None))
        .order_by(column)
        .limit(batch)
        # A stronger lock would block inserts of rows that refer to this one.
        .with_for_update(key_share=True)
    ).all()
    for name, value in rows:
        if encryption.is_newest(value):
            count.newest += 1
            continue
        try:
            anew = _encrypted(encryption, name, _decrypted(encryption, value, name))
        except DecryptionFailed:
            count.undecryptable += 1
            if len(count.examples) < _EXAMPLES:
                count.examples.append(name)
            continue
        connection.execute(sa.update(column.table).where(column == name).values({ciphertext: anew}))
        count.reencrypted += 1
    return rows[-1][0] if rows else None


def _encrypted(encryption: Encryption, of: str, data: Any) -> bytes:
    return encryption.encrypt(json.dumps({"of": of, "data": data}).encode())


def _decrypted(encryption: Encryption, ciphertext: bytes, of: str) -> Any:
    whole = json.loads(encryption.decrypt(ciphertext))
    if not isinstance(whole, dict) or whole.get("of") != of:
        raise DecryptionFailed("it was encrypted for another entry")
    return whole["data"]
