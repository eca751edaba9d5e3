"""Read the log of a step: its journal, attempt by attempt (contract: shipyard-rest, 7.4)."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from shipyard_api.domain.actions import BARE_GROUPS, ActionId, StepId
from shipyard_api.domain.errors import ActionNotFound, AttemptNotFound, StepsNotFound
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.ports.state.actions import StepRecord
from shipyard_api.ports.state.journal import StepRun
from shipyard_api.storage.unit_of_work import Store

_PAGE = 200


class _Part(Struct, frozen=True):
    """The journal entries of one step after an entry and up to another one."""

    step: StepId
    after: int
    until: int | None


class Log(Struct, frozen=True):
    """The log of an attempt. ``version``: a text that changes with the log. ``pages``: its entries, read as needed."""

    version: str
    pages: Iterator[Sequence[JournalEntry]]


class ReadLogs(Struct, frozen=True):
    """The use case; changes nothing. It holds one page of the log in memory at a time."""

    store: Store

    def __call__(self, action: str, step: str, attempt: int | None) -> Log:
        """Return an attempt at a step, by default the latest, page by page; raises NotFound before the first page.

        The bare id of a group of steps selects those of its steps, in order, that have such an attempt. Each page is
        read when the caller wants it, in a transaction of its own, so a caller may stop at any page.
        """
        with self.store.begin() as tx:
            record = tx.actions.get(ActionId(action))
            if record is None:
                raise ActionNotFound(action)
            steps = tx.actions.steps([record.id])[record.id]
            if not steps:
                raise StepsNotFound()
            parts = _parts(steps, tx.journal.step_runs(record.id), step, attempt)
            if not parts:
                raise AttemptNotFound()
            extent = tx.journal.extent(record.id, [part.step for part in parts])
        return Log(f"{record.id} {parts} {extent}", self._pages(record.id, parts))

    def _pages(self, action: ActionId, parts: Sequence[_Part]) -> Iterator[Sequence[JournalEntry]]:
        for part in parts:
            after = part.after
            while entries := self._page(action, part, after):
                after = entries[-1].id
                yield entries

    def _page(self, action: ActionId, part: _Part, after: int) -> Sequence[JournalEntry]:
        with self.store.begin() as tx:
            return tx.journal.step_entries(action, part.step, after=after, until=part.until, limit=_PAGE)


def _parts(
    steps: Sequence[StepRecord], runs: Mapping[StepId, StepRun], step: str, attempt: int | None
) -> Sequence[_Part]:
    """Return the parts of the journal that hold the attempt; none if there is no such step or attempt."""
    parts = []
    for record in steps:
        if record.id != step and not (step in BARE_GROUPS and record.id.startswith(f"{step}.")):
            continue
        failed = runs[record.id].failed if record.id in runs else ()
        wanted = len(failed) + 1 if attempt is None else attempt
        if 1 <= wanted <= len(failed) + 1:
            after = failed[wanted - 2] if wanted > 1 else 0
            until = failed[wanted - 1] if wanted <= len(failed) else None
            parts.append(_Part(record.id, after, until))
    return parts
