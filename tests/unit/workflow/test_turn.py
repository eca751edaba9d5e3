"""What a turn says that its step waits for."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from shipyard_api.domain.waiting import ITEMS, WaitingFor
from shipyard_api.workflow.turn import _waiting_for_items
from tests.unit.tables import every_row

NOW = datetime(2026, 11, 22, tzinfo=UTC)
EARLIER = NOW - timedelta(minutes=5)
THEIRS, OTHERS = WaitingFor(ITEMS, "the items of s", EARLIER), WaitingFor(ITEMS, "the items of r", EARLIER)
PEER, NEXT = WaitingFor("Kubernetes", "n1 to be drained", EARLIER), WaitingFor("etcd", "a member of n2", NOW)
NEW = WaitingFor(ITEMS, "the items of s", NOW)


@every_row(
    [
        # what the step waited for before, what its items wait for; what it waits for, and whether they were asked
        (None, PEER, NEW, False),
        (THEIRS, PEER, THEIRS, False),
        (OTHERS, PEER, NEW, False),
        (PEER, NEXT, NEXT, True),
        (PEER, None, NEW, True),
    ]
)
def test_items_are_asked_what_they_wait_for_only_if_one_may_have_said(
    before: WaitingFor | None, known: WaitingFor | None, waiting: WaitingFor, asked: bool
) -> None:
    claims: list[Any] = []
    items = SimpleNamespace(waiting_for=lambda claim: claims.append(claim) or known)
    claim: Any = SimpleNamespace(waiting=before)
    step: Any = SimpleNamespace(id="s")
    assert _waiting_for_items(SimpleNamespace(items=items), claim, step, NOW) == waiting  # type: ignore[arg-type]
    assert bool(claims) is asked
