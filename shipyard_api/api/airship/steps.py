"""One step of an action, and its log (contract: shipyard-rest, chapter 7)."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import ClassVar

import falcon
import falcon.asgi

from shipyard_api.api.airship import step_views
from shipyard_api.api.airship.action_views import shown_steps
from shipyard_api.api.airship.errors import InvalidActionId, NoLogOfAction
from shipyard_api.api.airship.notes import shown as shown_notes
from shipyard_api.api.http.authentication import Policy
from shipyard_api.api.http.entity_tags import holds
from shipyard_api.api.http.reading import integer
from shipyard_api.api.http.threads import in_thread, threaded
from shipyard_api.domain.error_kinds import NotFound
from shipyard_api.domain.errors import ActionNotFound, StepNotFound
from shipyard_api.domain.facts.fact import JournalEntry
from shipyard_api.domain.log_lines import log_line
from shipyard_api.domain.notes import LENGTH
from shipyard_api.usecases.actions.describe import DescribeAction
from shipyard_api.usecases.journal.logs import ReadLogs
from shipyard_api.usecases.journal.notes import ReadNotes


class Step:
    """``/actions/{action_id}/steps/{step_id}``: one step."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action_step"}

    def __init__(self, describe: DescribeAction, notes: ReadNotes) -> None:
        self._describe = describe
        self._notes = notes

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.Response, action_id: str, step_id: str) -> None:
        """Answer with the step's record; the fields are the ones that clients of the engine's record read."""
        run, record = self._describe.step(action_id, step_id)
        shown = next((step for step in shown_steps(run.steps) if step.id == step_id), None)
        if shown is None:
            raise StepNotFound(step_id)
        notes = self._notes.of_step(run.action, record.id, req.context.verbosity) if record else ()
        resp.media = {**step_views.record(run, shown), "index": shown.index, "notes": shown_notes(notes)}


class StepLogs:
    """``/actions/{action_id}/steps/{step_id}/logs``: what happened in an attempt at a step, as text."""

    policy: ClassVar[Policy] = {"GET": "workflow_orchestrator:get_action_step_logs"}

    def __init__(self, logs: ReadLogs) -> None:
        self._logs = logs

    @threaded
    def on_get(self, req: falcon.Request, resp: falcon.asgi.Response, action_id: str, step_id: str) -> None:
        """Answer with the log, page by page; as in upstream the text goes under the type of JSON.

        Whatever can be refused is refused before the first page. If the database goes away between two pages, the
        connection breaks, and the caller sees that the text has no end.
        """
        attempt = integer(req, "try")
        if len(action_id) != LENGTH:
            raise InvalidActionId()
        try:
            log = self._logs(action_id, step_id, attempt)
        except NotFound as missing:
            if missing.kind is not ActionNotFound:
                raise
            raise NoLogOfAction(action_id) from None
        if holds(req, resp, log.version):
            return
        first = next(log.pages, ())
        resp.stream = _text(first, log.pages)


async def _text(page: Sequence[JournalEntry], later: Iterator[Sequence[JournalEntry]]) -> AsyncIterator[bytes]:
    while page:
        yield _lines(page)
        page = await in_thread(next, later, ())


def _lines(page: Sequence[JournalEntry]) -> bytes:
    return "".join(f"{log_line(entry)}\n" for entry in page).encode()
