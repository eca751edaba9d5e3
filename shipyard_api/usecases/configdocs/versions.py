"""The revisions of the named versions of configdocs (contract: shipyard-rest, 5.0)."""

from msgspec import Struct

from shipyard_api.domain.documents import Change, Revision, RevisionTag, Version
from shipyard_api.domain.errors import NothingToCompare
from shipyard_api.ports.documents import COMMITS, SITE_ACTIONS, DesignStore, Heads


class Versions(Struct, frozen=True):
    """The revision of each version, or None. The buffer exists only if it differs from the committed version.

    ``head``: the newest revision.
    """

    head: Revision
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

    def comparable(self, version: Version) -> Revision:
        """Return the revision to compare. An empty buffer is the committed revision, and 0 before the first commit.

        Raises NothingToCompare if there was no such site action.
        """
        revision = self.of(version)
        if revision is not None:
            return revision
        if version in (Version.COMMITTED, Version.BUFFER):
            return self.committed or Revision(0)
        raise NothingToCompare(version)


def committed_revision(heads: Heads) -> Revision | None:
    """Return the committed revision."""
    return heads.with_any(*COMMITS)


def read_versions(designs: DesignStore, heads: Heads | None = None) -> Versions:
    """Return the current revisions of all versions; reads the heads unless given."""
    heads = heads or designs.heads()
    committed = committed_revision(heads)
    changed = heads.head > (committed or 0) and any(
        change is not Change.UNMODIFIED for change in designs.differences(committed or Revision(0), heads.head).values()
    )
    return Versions(
        head=heads.head,
        committed=committed,
        buffer=heads.head if changed else None,
        last_site_action=heads.with_any(*SITE_ACTIONS),
        successful_site_action=heads.with_any(RevisionTag.SITE_ACTION_SUCCESS),
    )
