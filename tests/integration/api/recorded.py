"""What the engine would record of an action, recorded; its lists page by page; and what the database was asked."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import falcon
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.observing.logs import JsonLines
from shipyard_api.storage.unit_of_work import Store
from tests.integration.api.wire import Caller


def record(store: Store, action: str, facts: Iterable[Fact]) -> None:
    """Let the engine record facts about an action."""
    now = datetime.now(UTC)
    with store.begin() as tx:
        claim = tx.turns.claim(ActionId(action), now=now + timedelta(seconds=1), worker="w")
        assert claim is not None
        tx.turns.record(claim, {"v": 1}, tuple(facts), now=now, wake_at=None)


def pages(caller: Caller, path: str, kind: str, **params: Any) -> list[list[str]]:
    """The names on each page, following ``next`` to the end."""
    found: list[list[str]] = []
    marker: dict[str, str] = {}
    while True:
        answer = caller.get(path, **params, **marker)
        assert answer.status == falcon.HTTP_200, answer.text
        found.append([entry["name"] for entry in answer.json[kind]])
        if answer.json["next"] is None:
            return found
        marker = {"marker": answer.json["next"]}


class Everything(logging.Handler):
    """Keeps every log record as it would be written."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(JsonLines())
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that any engine of this process sends meanwhile, but for who asks: that is known for a while."""
    sent: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "api_tokens" not in statement:
            sent.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
