"""Validate the buffer and put it into force (contract: shipyard-rest, 5.5)."""

from dataclasses import dataclass
from enum import Enum

from shipyard_api.domain.configdocs import Revision, RevisionTag
from shipyard_api.domain.errors import Conflict
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.site_design import read_design
from shipyard_api.ports.schemas import Schemas
from shipyard_api.ports.store import LockHeld, Store
from shipyard_api.usecases.load_configdocs import Blocked
from shipyard_api.usecases.versions import read_versions


class CommitMode(Enum):
    """Commit a sound design; commit whatever is found; only say what is found."""

    NORMAL = "normal"
    FORCE = "force"
    DRYRUN = "dryrun"


@dataclass(frozen=True, slots=True)
class Committed:
    """What came of it. ``committed`` is false after a dry run, and when errors stood in the way."""

    revision: Revision
    findings: tuple[Finding, ...]
    committed: bool


@dataclass(frozen=True, slots=True)
class CommitConfigdocs:
    """The use case."""

    store: Store
    schemas: Schemas

    def __call__(self, mode: CommitMode) -> Committed:
        """Check everything there is to check, then tag the revision if nothing forbids it.

        Raises Conflict when the buffer is empty or another writer is at work.
        """
        try:
            with self.store.begin() as tx:
                tx.revisions.lock()
                buffer = read_versions(tx.revisions).buffer
                if buffer is None:
                    raise Conflict(
                        "Unable to commit configuration documents",
                        "There are no documents in the buffer to commit",
                        again=True,
                    )
                documents = tx.revisions.documents(buffer)
                _, findings = read_design(buffer, documents, self.schemas.check)
                blocked = bool(errors(findings)) and mode is not CommitMode.FORCE
                committed = not blocked and mode is not CommitMode.DRYRUN
                if committed:
                    tx.revisions.tag(buffer, RevisionTag.COMMITTED, {})
        except LockHeld:
            raise Blocked from None
        return Committed(buffer, findings, committed)
