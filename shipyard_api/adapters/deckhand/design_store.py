"""The design store port over Deckhand's API."""

import collections.abc
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from shipyard_api.domain.documents import (
    LAYERING_POLICY,
    Change,
    Collection,
    Document,
    Identity,
    Rendering,
    Revision,
    RevisionTag,
    StoredDocument,
)
from shipyard_api.domain.findings import Finding
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.ports.documents import (
    Heads,
    Overtaken,
    RenderingFailed,
    RevisionRecord,
    UnknownRevision,
)
from shipyard_api.ports.errors import Refused, Unavailable

from . import translate
from .client import DeckhandClient, Denial

EMPTY = Revision(0)

_T = TypeVar("_T")


class DeckhandDesigns:
    """Deckhand as the store of configdocs.

    **One writer.** Deckhand loses updates of concurrent writers, so every change is made under our ``WriterLock``;
    against writers without the lock, ``put`` only checks the newest revision before it starts.

    **Extra revisions.** A rollback is compared with its target afterwards; if Deckhand restored something else, loads
    repair it, and each load is a revision. ``put`` on another base than the newest revision rolls back first. If one
    of these steps fails, the newest revision is an intermediate one: it has no tag, and the next ``put`` or
    ``rollback`` starts from its own base again.

    **Limits of Deckhand.** It lists documents in the order in which it first stored them. It shows encrypted ones as a
    reference, new after each load, so they count as modified. It never lists validation policies: a collection with
    one is loaded even if nothing differs, and a wrong rollback of it is not repaired. The account must be allowed to
    see encrypted documents: Deckhand silently hides them from any other.

    ``fingerprint_key``: the key that makes fingerprints of secrets impossible to guess.
    """

    name = translate.SYSTEM

    def __init__(self, client: DeckhandClient, fingerprint_key: bytes) -> None:
        self._client = client
        self._fingerprint_key = fingerprint_key

    # Reading

    def heads(self) -> Heads:
        """Return the newest revision, and the newest with each tag. Slow with many revisions."""
        listed = self._listed()
        newest = {tag: entry.revision for entry in listed for tag in RevisionTag if tag.value in entry.tags}
        return Heads(listed[-1].revision if listed else EMPTY, newest)

    def revisions(
        self, *, tags: collections.abc.Collection[str] = (), after: Revision, limit: int
    ) -> Sequence[RevisionRecord]:
        """Return up to ``limit`` revisions after the given one, in order; with ``tags``, those that carry one."""
        wanted = frozenset(tags)
        later = (entry for entry in self._listed() if entry.revision > after and (not wanted or entry.tags & wanted))
        # The list lacks the data of tags, and few revisions have tags.
        return [
            RevisionRecord(entry.revision, entry.created_at, self._tags(entry.revision) if entry.tags else {})
            for entry in islice(later, max(limit, 0))
        ]

    def revision(self, revision: Revision) -> RevisionRecord:
        """Return one revision; raises UnknownRevision, also for 0."""
        record = self._known(revision)
        with _parsing("revision"):
            return RevisionRecord(revision, translate.created_at(record), translate.tags_of(record.get("tags")))

    def documents(self, revision: Revision, collection: Collection | None = None) -> tuple[StoredDocument, ...]:
        """Return the documents by collection name, then in the order in which Deckhand first stored them.

        The data of an encrypted document is a reference. Revision 0 holds none. Raises UnknownRevision.
        """
        if revision == EMPTY:
            return ()
        entries = _found(revision, self._client.documents(_number(revision), collection))
        with _parsing("documents"):
            stored = [translate.stored_of(entry) for entry in entries]
        return tuple(sorted(stored, key=lambda document: document.collection))

    def rendered(self, revision: Revision) -> Rendering:
        """Return the design rendered from the documents, secrets in clear. May take minutes.

        Raises UnknownRevision, also for 0, and RenderingFailed. Deckhand reports all schema violations, and only the
        first of any other error.
        """
        _number(revision)
        written = [stored.document for stored in self.documents(revision)]
        secrets = translate.secrets_among(written)
        answer = self._client.rendered(revision)
        if answer is None:
            raise UnknownRevision(revision)
        if isinstance(answer, Denial):
            if not translate.is_about_the_design(answer.code, answer.kind):
                raise answer.error
            raise RenderingFailed(revision, translate.rendering_findings(answer.status, written, secrets))
        with _parsing("rendered"):
            documents = [translate.rendered_of(entry, secrets) for entry in answer]
        # Deckhand shows a revision without a layering policy with that of another revision.
        keys = {document.key for document in written}
        of_it = (rendered for rendered in documents if rendered.document.key in keys)
        return Rendering(tuple(sorted(of_it, key=lambda rendered: rendered.document.key)))

    def differences(self, base: Revision, new: Revision) -> Mapping[Collection, Change]:
        """Return the change of each collection from ``base`` to ``new``, by name.

        Raises UnknownRevision.
        """
        if base == new == EMPTY:
            return {}
        older, newer = sorted((base, new))
        answer = self._client.diff(_number(older) if older else 0, _number(newer))
        if answer is None:
            self._known(newer)
            raise UnknownRevision(older)
        with _parsing("differences"):
            return translate.changes_of(answer, base, new)

    def findings(self, revision: Revision) -> tuple[Finding, ...]:
        """Return the failures reported to Deckhand on a revision. Raises UnknownRevision."""
        entries = _found(revision, self._client.validations(_number(revision)))
        if not entries:
            self._known(revision)
        if not any(entry.get("status") == "failure" for entry in entries):
            return ()
        written = [stored.document for stored in self.documents(revision)]
        reported = self._client.scrubber.values(entries)
        return translate.reported_findings(reported, written, translate.secrets_among(written))

    def fingerprint(self, text: bytes) -> str:
        """Return the substitute shown for a secret: HMAC-SHA256 under the configured key."""
        return hmac.new(self._fingerprint_key, text, hashlib.sha256).hexdigest()

    # Writing

    def put(
        self, collection: Collection, documents: Sequence[Document], *, base: Revision, head: Revision
    ) -> Revision | None:
        """Make a revision that is ``base`` with this collection replaced; None if nothing would differ from ``base``.

        May be repeated after Unavailable with the new result of ``heads``. Raises Refused for documents that Deckhand
        cannot store, and the errors of the port.
        """
        self._check_head(head)
        before = self.documents(base)
        translate.check_load(collection, documents, before)
        if self._is_same(collection, documents, base, before):
            return None
        onto = head if base == head else self._rolled_back(base)
        return self._load(collection, documents, before, onto) or (onto if onto != head else None)

    def rollback(self, revision: Revision) -> Revision:
        """Make a new revision with exactly the documents of the given one, which may be 0.

        Raises UnknownRevision, and Refused if Deckhand restored other documents and they could not be repaired.
        """
        return self._rolled_back(revision)

    def tag(self, revision: Revision, tag: str, data: JsonObject) -> None:
        """Set a tag; an existing tag with the same data stays as it is. Raises UnknownRevision.

        A tag whose data changes is missing for a moment: Deckhand cannot update a tag.
        """
        if not isinstance(data, Mapping):
            raise Refused(self.name, f"tag {tag}", "a tag's data is a mapping")
        if not 0 < len(tag) <= translate.TAG_LIMIT:
            detail = f"its name has {len(tag)} characters, allowed are 1 to {translate.TAG_LIMIT}"
            raise Refused(self.name, f"tag {tag}", detail)
        present = translate.tags_of(self._known(revision).get("tags"))
        if tag in present:
            if present[tag] == data:
                return
            self._client.delete_tag(revision, tag)
        self._client.set_tag(revision, tag, data)

    # Helpers of the methods above

    def _listed(self) -> list[translate.Listed]:
        with _parsing("revisions"):
            return translate.listed_of(self._client.revisions())

    def _known(self, revision: Revision) -> Mapping[str, Any]:
        """Return Deckhand's own record of a revision; raises UnknownRevision, also for 0."""
        return _found(revision, self._client.revision(_number(revision)))

    def _tags(self, revision: Revision) -> dict[str, JsonObject]:
        return translate.tags_of(self._client.tags(revision))

    def _check_head(self, head: Revision) -> None:
        if (newest := self.heads().head) != head:
            raise Overtaken(f"the newest revision is {newest}, no longer {head}")

    def _is_same(
        self, collection: Collection, documents: Sequence[Document], base: Revision, before: Iterable[StoredDocument]
    ) -> bool:
        """Return whether ``base`` holds exactly these documents in this collection; False if unknown."""
        kept = {
            stored.document.identity: translate.as_kept(stored.document)
            for stored in before
            if stored.collection == collection
        }
        wanted = {document.identity: translate.as_kept(document) for document in documents}
        if kept.keys() != wanted.keys() or translate.has_hidden(documents):
            return False
        encrypted = [
            document for document in wanted.values() if document.is_encrypted and kept[document.identity].is_encrypted
        ]
        hidden = {document.identity for document in encrypted}
        for identity, document in wanted.items():
            with_data = identity not in hidden
            stored = translate.content(kept[identity], with_data=with_data)
            if stored != translate.content(document, with_data=with_data):
                return False
        if base != EMPTY and self._known(base).get("validationPolicies"):
            return False
        secrets = self._secrets(base, encrypted) if encrypted else {}
        return all(translate.content(document) == secrets.get(document.identity) for document in encrypted)

    def _load(
        self, collection: Collection, documents: Sequence[Document], before: Iterable[StoredDocument], head: Revision
    ) -> Revision | None:
        """Load a collection and return the new revision, or None if there is none."""
        answer = self._client.put(collection, [translate.entry_of(document) for document in documents])
        if isinstance(answer, Denial):
            if answer.code == 409:
                self._check_head(head)  # only another writer can cause a conflict after the checks above
            renamed = any(
                stored.collection == collection and stored.document.schema == LAYERING_POLICY for stored in before
            )
            if answer.kind != "SingletonDocumentConflict" or not renamed:
                raise answer.error
            # Deckhand keeps the old policy until a load without it.
            others = [document for document in documents if document.schema != LAYERING_POLICY]
            answer = self._client.put(collection, [translate.entry_of(document) for document in others])
            if not isinstance(answer, Denial):
                answer = self._client.put(collection, [translate.entry_of(document) for document in documents])
            if isinstance(answer, Denial):
                raise answer.error
        loaded = translate.made_by(answer)
        if loaded is None or loaded <= head:
            # For an emptied or unchanged collection, only the list has the number.
            loaded = self.heads().head
        return loaded if loaded != head else None

    def _rolled_back(self, target: Revision) -> Revision:
        """Make a revision with exactly the documents of ``target``, and check that it has them (A10)."""
        answer = self._client.rollback(_number(target) if target else 0)
        with _parsing("rollback"):
            rolled_back = translate.number_of(_found(target, answer))
        changes = self.differences(target, rolled_back)
        changed = [name for name, change in changes.items() if change is not Change.UNMODIFIED]
        return self._repaired(target, rolled_back, changed) if changed else rolled_back

    def _repaired(self, target: Revision, loaded: Revision, changed: Sequence[Collection]) -> Revision:
        """Load the collections that a rollback restored wrongly from ``target``; return the last revision.

        ``changed``: the collections that differ according to Deckhand, some perhaps only in hidden data.
        """
        wanted, present = _by_collection(self.documents(target)), _by_collection(self.documents(loaded))
        wrong = sorted(name for name in wanted.keys() | present.keys() if _differ(wanted.get(name), present.get(name)))

        def beyond_repair(why: str) -> Refused:
            named = ", ".join(changed)
            detail = f"revision {loaded} does not hold what revision {target} held in {named}, and {why}"
            return Refused(self.name, f"rollback to {target}", f"{detail}; load these collections again")

        if target != EMPTY and self._known(target).get("validationPolicies"):
            raise beyond_repair("there are validation policies, which Deckhand does not show")
        encrypted = [document for name in wrong for document in wanted.get(name, {}).values() if document.is_encrypted]
        secrets = self._clear(target, encrypted) if encrypted else {}
        if lost := sorted(
            f"{document.schema} '{document.name}'" for document in encrypted if document.identity not in secrets
        ):
            raise beyond_repair(f"Deckhand does not show the secrets of {', '.join(lost)}")
        # A document, or the layering policy, must leave its collection before another one can load it.
        owner = {identity: name for name, held in wanted.items() for identity in held}
        for name in wrong:
            foreign = [identity for identity in present.get(name, {}) if owner.get(identity) != name]
            if any(identity in owner or identity[0] == LAYERING_POLICY for identity in foreign):
                loaded = self._load(Collection(name), (), (), loaded) or loaded
        for name in wrong:
            documents = [secrets.get(identity, document) for identity, document in wanted.get(name, {}).items()]
            loaded = self._load(Collection(name), documents, (), loaded) or loaded
        present = _by_collection(self.documents(loaded))
        known = frozenset(secrets)
        if any(_differ(wanted.get(name), present.get(name), known) for name in wanted.keys() | present.keys()):
            raise beyond_repair("loading it again did not help")
        # An account that may not see encrypted documents has just loaded collections without them. Differences of
        # visible secrets mean nothing: each load makes a new reference.
        blurred = {name for name, held in wanted.items() if any(document.is_encrypted for document in held.values())}
        changes = self.differences(target, loaded)
        if any(changes[name] is not Change.UNMODIFIED for name in changes.keys() - blurred):
            raise beyond_repair("the others are not visible to Shipyard's account")
        return loaded

    def _secrets(self, revision: Revision, encrypted: Iterable[Document]) -> dict[Identity, bytes]:
        return {
            identity: translate.content(document) for identity, document in self._clear(revision, encrypted).items()
        }

    def _clear(self, revision: Revision, encrypted: Iterable[Document]) -> dict[Identity, Document]:
        """Return those encrypted documents whose secret the design shows unchanged, with the secret."""
        try:
            design = self.rendered(revision)
        except RenderingFailed:
            return {}
        shown = {rendered.document.identity: rendered.document for rendered in design.documents}
        mine = (shown.get(document.identity) for document in encrypted if document.keeps_its_data)
        return {document.identity: document for document in mine if document is not None and document.is_encrypted}


def _number(revision: Revision) -> Revision:
    """Return a possible revision number; a larger one makes Deckhand fail instead of answering 404."""
    if not 0 < revision <= translate.LARGEST_REVISION:
        raise UnknownRevision(revision)
    return revision


def _found(revision: Revision, answer: _T | None) -> _T:
    if answer is None:
        raise UnknownRevision(revision)
    return answer


def _by_collection(documents: Iterable[StoredDocument]) -> dict[Collection, dict[Identity, Document]]:
    by_collection: dict[Collection, dict[Identity, Document]] = {}
    for stored in documents:
        by_collection.setdefault(stored.collection, {})[stored.document.identity] = stored.document
    return by_collection


def _differ(
    left: Mapping[Identity, Document] | None,
    other: Mapping[Identity, Document] | None,
    secret: collections.abc.Collection[Identity] = frozenset(),
) -> bool:
    """Return whether two states of a collection differ, apart from the data of secrets, which always changes."""
    left, other = left or {}, other or {}
    if left.keys() != other.keys():
        return True
    return any(
        translate.content(left[identity], with_data=identity not in secret)
        != translate.content(other[identity], with_data=identity not in secret)
        for identity in left
    )


@contextmanager
def _parsing(operation: str) -> Iterator[None]:
    try:
        yield
    except translate.UnexpectedAnswer as error:
        raise Unavailable(translate.SYSTEM, operation, f"answered with {error}") from error
