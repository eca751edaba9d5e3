"""Validate the buffer and put it into force (contract: shipyard-rest, 5.5)."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum

from shipyard_api.domain.documents import Rendering, Revision, RevisionTag, scrubbed
from shipyard_api.domain.errors import Blocked, BufferChanged, BufferEmpty
from shipyard_api.domain.findings import Finding, error, errors
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.ports.documents import DesignStore, LockHeld, RenderingFailed, WriterLock
from shipyard_api.ports.errors import PeerError
from shipyard_api.request_context import propagated
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import read_versions


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
class Validator:
    """A peer that checks designs in its own way; ``ask`` gets a revision and may raise ports.errors."""

    name: str
    ask: Callable[[int], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class CommitConfigdocs:
    """The use case."""

    designs: DesignStore
    rendered: RenderedDesigns
    lock: WriterLock
    rules: DesignRules
    validators: Sequence[Validator] = ()

    def __call__(self, mode: CommitMode) -> Committed:
        """Check everything there is to check, then tag the revision if nothing forbids it.

        Raises Conflict when the buffer is empty, when another writer is at work, and when the buffer is no longer the
        one that was checked; then nothing is committed.
        """
        with self._alone():
            buffer = self._buffer()
        # Without the lock: stores and peers may take minutes over a design, and nobody's load waits for that.
        findings = self._findings(buffer)
        blocked = bool(errors(findings)) and mode is not CommitMode.FORCE
        committed = not blocked and mode is not CommitMode.DRYRUN
        if committed:
            with self._alone():
                if (now := self._buffer()) != buffer:
                    raise BufferChanged(buffer, now)
                self.designs.tag(buffer, RevisionTag.COMMITTED.value, {})
        return Committed(buffer, findings, committed)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock for the length of the block; raises Blocked."""
        try:
            with self.lock.held():
                yield
        except LockHeld:
            raise Blocked from None

    def _buffer(self) -> Revision:
        """Return what there is to commit; raises Conflict if there is nothing."""
        buffer = read_versions(self.designs).buffer
        if buffer is None:
            raise BufferEmpty
        return buffer

    def _findings(self, revision: Revision) -> tuple[Finding, ...]:
        """Return everything that is found; the peers are asked only about a design that can be rendered."""
        reported = self.designs.findings(revision)
        try:
            rendering = self.rendered.of(revision)
        except RenderingFailed as failed:
            return (*failed.findings, *reported)
        if errors(reported):
            return reported
        _, own = self.rules.read(revision, rendering)
        return (*reported, *own, *self._said_by_peers(revision, rendering))

    def _said_by_peers(self, revision: Revision, rendering: Rendering) -> tuple[Finding, ...]:
        """Ask all peers at once, and wait for all of them; what they quote of secrets is taken out."""
        if not self.validators:
            return ()

        def ask(validator: Validator) -> Sequence[Finding]:
            return _ask(validator, revision)

        with ThreadPoolExecutor(len(self.validators), thread_name_prefix="validate-design") as pool:
            answers = pool.map(propagated(ask), self.validators)
            found = [finding for answer in answers for finding in answer]
        return scrubbed(found, rendering.secrets)


def _ask(validator: Validator, revision: Revision) -> Sequence[Finding]:
    try:
        return validator.ask(revision)
    except PeerError as silent:
        told = f"{validator.name} unable to validate configdocs or an invalid response has been returned"
        return (replace(error("DesignValidationError", told, diagnostic=str(silent)), source=validator.name),)
