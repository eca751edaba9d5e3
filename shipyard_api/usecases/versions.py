"""Which revision each version of the configdocs is (contract: shipyard-rest, 5.0)."""

from collections.abc import Mapping
from dataclasses import dataclass

from shipyard_api.domain.configdocs import Collection, Revision, RevisionTag, Version
from shipyard_api.ports.store import Revisions


@dataclass(frozen=True, slots=True)
class Versions:
    """The revision of each version; None where there is none. The buffer is there only if it differs."""

    committed: Revision | None
    buffer: Revision | None
    last_site_action: Revision | None
    successful_site_action: Revision | None

    def of(self, version: Version) -> Revision | None:
        """Return the revision of a version."""
        return {
            Version.COMMITTED: self.committed,
            Version.BUFFER: self.buffer,
            Version.LAST_SITE_ACTION: self.last_site_action,
            Version.SUCCESSFUL_SITE_ACTION: self.successful_site_action,
        }[version]


def read_versions(revisions: Revisions) -> Versions:
    """Return the revisions of all versions as they stand in this transaction."""
    committed = revisions.newest_tagged({RevisionTag.COMMITTED})
    head = revisions.head()
    changed = head > (committed or 0) and bool(changes(revisions, committed or Revision(0), head))
    return Versions(
        committed=committed,
        buffer=head if changed else None,
        last_site_action=revisions.newest_tagged({RevisionTag.SITE_ACTION_SUCCESS, RevisionTag.SITE_ACTION_FAILURE}),
        successful_site_action=revisions.newest_tagged({RevisionTag.SITE_ACTION_SUCCESS}),
    )


def changes(revisions: Revisions, base: Revision, new: Revision) -> Mapping[Collection, str]:
    """Return the collections that differ between two revisions, with how: created, deleted or modified."""
    return {name: status for name, status in compare(revisions, base, new).items() if status != "unmodified"}


def compare(revisions: Revisions, base: Revision, new: Revision) -> Mapping[Collection, str]:
    """Return for each collection in either revision, by name, how it changed (contract: deckhand, A8)."""
    before, after = revisions.contents(base), revisions.contents(new)

    def status(name: Collection) -> str:
        if name not in before:
            return "created"
        if name not in after:
            return "deleted"
        return "unmodified" if before[name] == after[name] else "modified"

    return {name: status(name) for name in sorted(before.keys() | after.keys())}
