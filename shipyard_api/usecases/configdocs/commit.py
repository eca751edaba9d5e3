"""Validate and commit the buffer (contract: shipyard-rest, 5.5)."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents import Rendering, Revision, RevisionTag, scrubbed
from shipyard_api.domain.errors import Blocked, BufferChanged, BufferEmpty
from shipyard_api.domain.findings import Finding, error, errors
from shipyard_api.domain.site_design import DesignRules
from shipyard_api.observing.request_context import propagated
from shipyard_api.ports.documents import DesignStore, LockHeld, RenderingFailed, WriterLock
from shipyard_api.ports.errors import PeerError
from shipyard_api.usecases.configdocs.rendered_designs import RenderedDesigns
from shipyard_api.usecases.configdocs.versions import read_versions


class CommitMode(Enum):
    """Commit a design without errors; commit despite errors; only report findings."""

    NORMAL = "normal"
    FORCE = "force"
    DRYRUN = "dryrun"


class Committed(Struct, frozen=True):
    """The outcome. ``committed`` is false after a dry run, and if errors blocked the commit."""

    revision: Revision
    findings: tuple[Finding, ...]
    committed: bool


class Validator(Struct, frozen=True):
    """A peer that validates designs. ``validate`` gets a revision and may raise ports.errors."""

    name: str
    validate: Callable[[int], Sequence[Finding]]


class CommitConfigdocs(Struct, frozen=True):
    """The use case."""

    designs: DesignStore
    rendered: RenderedDesigns
    lock: WriterLock
    rules: DesignRules
    validators: Sequence[Validator] = ()

    def __call__(self, mode: CommitMode, *, own: Revision | None = None) -> Committed:
        """Run all checks, then tag the revision unless errors block it.

        ``own``: the only buffer that is checked and committed, since the caller has loaded it. Raises Conflict if the
        buffer is empty or another one, if another writer holds the lock, and if the buffer changed during the checks;
        then nothing is committed.
        """
        with self._locked():
            buffer = self._buffer()
        if own not in (None, buffer):
            raise BufferChanged(own, buffer)
        # Without the lock: stores and peers may take minutes to check a design, and loads must not wait for that.
        findings = self._findings(buffer)
        blocked = bool(errors(findings)) and mode is not CommitMode.FORCE
        committed = not blocked and mode is not CommitMode.DRYRUN
        if committed:
            with self._locked():
                if (current := self._buffer()) != buffer:
                    raise BufferChanged(buffer, current)
                self.designs.tag(buffer, RevisionTag.COMMITTED.value, {})
                self.rendered.forget_committed()
        return Committed(buffer, findings, committed)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the writer lock; raises Blocked."""
        try:
            with self.lock.held():
                yield
        except LockHeld:
            raise Blocked() from None

    def _buffer(self) -> Revision:
        """Return the revision of the buffer; raises BufferEmpty."""
        buffer = read_versions(self.designs).buffer
        if buffer is None:
            raise BufferEmpty()
        return buffer

    def _findings(self, revision: Revision) -> tuple[Finding, ...]:
        """Return all findings; peers only validate a design that can be rendered."""
        reported = self.designs.findings(revision)
        try:
            rendering = self.rendered.of(revision)
        except RenderingFailed as failed:
            return (*failed.findings, *reported)
        if errors(reported):
            return reported
        return (*reported, *self.rules.findings(revision, rendering), *self._peer_findings(revision, rendering))

    def _peer_findings(self, revision: Revision, rendering: Rendering) -> tuple[Finding, ...]:
        """Return the findings of all peers, called in parallel, with quoted secrets scrubbed."""
        if not self.validators:
            return ()

        def validate(validator: Validator) -> Sequence[Finding]:
            return _validate(validator, revision)

        with ThreadPoolExecutor(len(self.validators), thread_name_prefix="validate-design") as pool:
            results = pool.map(propagated(validate), self.validators)
            findings = [finding for result in results for finding in result]
        return scrubbed(findings, rendering.secrets)


def _validate(validator: Validator, revision: Revision) -> Sequence[Finding]:
    try:
        return validator.validate(revision)
    except PeerError as unavailable:
        message = f"{validator.name} unable to validate configdocs or an invalid response has been returned"
        return (replace(error("DesignValidationError", message, diagnostic=str(unavailable)), source=validator.name),)
