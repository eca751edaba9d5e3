"""What the documents of a design hold: each content once, under its hash, and sealed where it is to be secret.

Seals and hashes hold each other: what was sealed names the hash that it belongs to, so that nobody who can write into
the database can put one secret in the place of another.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from shipyard_api.domain.documents import Document, Identity, canonical
from shipyard_api.ports.documents import NoSecretKey, SecretsLocked
from shipyard_api.ports.encryption import DecryptionFailed, Encryption
from shipyard_api.storage import tables as t
from shipyard_api.storage.outages import outages

_FINGERPRINTS = "fingerprints"
_NAMED = 20


@dataclass(frozen=True, slots=True)
class Rotation:
    """What became of everything that is sealed; ``locked`` could not be opened, and ``named`` has the first of those.

    They are named by the hash of their content, the store's own keys by their name.
    """

    resealed: int
    newest: int
    locked: int
    named: tuple[str, ...]


class DesignContents:
    """The contents in the database, and the keys that keep them.

    The key for fingerprints is the same for as long as the store exists, whatever the configured keys are: the hashes
    of secrets are made with it, and those never change.
    """

    def __init__(self, engine: sa.Engine, encryption: Encryption | None) -> None:
        self._engine = engine
        self._encryption = encryption
        self._fingerprint_key: bytes | None = None

    def hashes(self, documents: Iterable[Document]) -> dict[Identity, str]:
        """Return what makes two documents the same; raises NoSecretKey, SecretsLocked and StoreUnavailable.

        To be called outside of a transaction: it may have to store a key, which must outlive whatever comes next.
        """
        documents = tuple(documents)
        encrypted = [document for document in documents if document.is_encrypted]
        if encrypted and self._encryption is None:
            raise NoSecretKey(encrypted)
        return {document.identity: self._hash(document) for document in documents}

    def insert(self, connection: sa.Connection, documents: Iterable[Document], hashes: Mapping[Identity, str]) -> None:
        """Store the contents that are not there yet."""
        rows = [self._row(document, hashes[document.identity]) for document in documents]
        if rows:
            connection.execute(insert(t.document_contents).on_conflict_do_nothing(), rows)

    def unsealed(self, sealed: bytes, of: str, *, what: str) -> Any:
        """Return what was sealed for that hash; raises SecretsLocked, which calls it ``what``."""
        if self._encryption is None:
            raise SecretsLocked(f"{what} is sealed, and no key is configured")
        try:
            return _decrypted(self._encryption, sealed, of)
        except DecryptionFailed as error:
            raise SecretsLocked(f"{what} is sealed, and cannot be opened: {error}") from error

    def fingerprint(self, text: bytes) -> str:
        """Return what is shown instead of a secret; raises SecretsLocked and StoreUnavailable."""
        if self._encryption is None:
            return hashlib.sha256(text).hexdigest()
        if self._fingerprint_key is None:
            self._fingerprint_key = self._stored_key(self._encryption)
        return hmac.digest(self._fingerprint_key, text, "sha256").hex()

    def rotate(self, batch: int) -> Rotation:
        """Seal everything with the newest key that is not yet; raises NoSecretKey and StoreUnavailable.

        What is done is kept, so it may be broken off and repeated, beside a running service and beside itself.
        """
        if self._encryption is None:
            raise NoSecretKey(())
        count = _Count()
        contents, keys = t.document_contents.c, t.store_keys.c
        for column, sealed in ((keys.name, keys.sealed), (contents.hash, contents.sealed)):
            after: str | None = ""
            while after is not None:
                with outages(), self._engine.begin() as connection:
                    after = _reencrypt(
                        connection, self._encryption, column, sealed, after=after, batch=batch, count=count
                    )
        return Rotation(count.resealed, count.newest, count.locked, tuple(count.named))

    def _hash(self, document: Document) -> str:
        whole = canonical([document.schema, document.metadata, document.data])
        return self.fingerprint(whole) if document.is_encrypted else hashlib.sha256(whole).hexdigest()

    def _row(self, document: Document, content: str) -> dict[str, Any]:
        row = {"hash": content, "metadata": json.dumps(document.metadata), "data": None, "sealed": None}
        if not document.is_encrypted:
            return {**row, "data": json.dumps(document.data)}
        if self._encryption is None:
            raise NoSecretKey([document])
        return {**row, "sealed": _encrypted(self._encryption, content, document.data)}

    def _stored_key(self, encryption: Encryption) -> bytes:
        """Return the key for fingerprints; whoever needs it first makes it, and all others find that one."""
        keys = t.store_keys.c
        query = sa.select(keys.sealed).where(keys.name == _FINGERPRINTS)
        with outages(), self._engine.begin() as connection:
            found = connection.execute(query).scalar_one_or_none()
            if found is None:
                made = _encrypted(encryption, _FINGERPRINTS, secrets.token_hex(32))
                connection.execute(
                    insert(t.store_keys).values(name=_FINGERPRINTS, sealed=made).on_conflict_do_nothing()
                )
                found = connection.execute(query).scalar_one()
        return bytes.fromhex(self.unsealed(found, _FINGERPRINTS, what="the store's key for fingerprints"))


@dataclass(slots=True)
class _Count:
    resealed: int
    newest: int
    locked: int
    named: list[str]

    def __init__(self) -> None:
        self.resealed = self.newest = self.locked = 0
        self.named = []


def _reencrypt(
    connection: sa.Connection,
    encryption: Encryption,
    column: "sa.Column[str]",
    sealed: "sa.Column[bytes]",
    *,
    after: str,
    batch: int,
    count: _Count,
) -> str | None:
    """Seal some rows anew, and return the last of them; None if there are no more."""
    rows = connection.execute(
        sa.select(column, sealed)
        .where(column > after, sealed.is_not(None))
        .order_by(column)
        .limit(batch)
        # Not the lock that would hold up those who only refer to the row.
        .with_for_update(key_share=True)
    ).all()
    for name, value in rows:
        if encryption.is_newest(value):
            count.newest += 1
            continue
        try:
            anew = _encrypted(encryption, name, _decrypted(encryption, value, name))
        except DecryptionFailed:
            count.locked += 1
            if len(count.named) < _NAMED:
                count.named.append(name)
            continue
        connection.execute(sa.update(column.table).where(column == name).values({sealed: anew}))
        count.resealed += 1
    return rows[-1][0] if rows else None


def _encrypted(encryption: Encryption, of: str, data: Any) -> bytes:
    return encryption.encrypt(json.dumps({"of": of, "data": data}).encode())


def _decrypted(encryption: Encryption, sealed: bytes, of: str) -> Any:
    whole = json.loads(encryption.decrypt(sealed))
    if not isinstance(whole, dict) or whole.get("of") != of:
        raise DecryptionFailed("it was sealed for another place")
    return whole["data"]
