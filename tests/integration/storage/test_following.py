"""Following the journal: no entry is skipped, whatever the order of commits."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.ports.state.journal import Ends
from shipyard_api.storage import journal
from shipyard_api.storage.projections import Line
from shipyard_api.storage.unit_of_work import Store
from shipyard_api.usecases.journal.follow import FollowJournal

AT = datetime(2026, 11, 22, 7, 0, tzinfo=UTC)


def write(connection: sa.Connection, action: ActionId, *texts: str) -> None:
    journal.record(connection, Line(action, 1, None, AT, "w1"), [Noted("Test", text) for text in texts])


def read(follow: FollowJournal, after: int, action: ActionId | None = None) -> tuple[list[str], int]:
    """The texts behind a cursor, and the cursor behind them."""
    page = follow.page(after, follow.ends().settled, action)
    return [one.entry.fact.text for one in page.entries if isinstance(one.entry.fact, Noted)], page.until


@pytest.mark.parametrize("is_kept", [True, False], ids=["committed late", "rolled back"])
def test_entries_wait_for_transactions_that_began_to_write_earlier(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId], is_kept: bool
) -> None:
    follow, one = FollowJournal(store), create("a_step")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE actions SET exclusive = false"))  # so that there may be another one
    other = create("a_step")
    assert follow.ends() == Ends(0, 0)
    with engine.begin() as first:
        write(first, one, "a")
    after_first = read(follow, 0)

    with engine.connect() as slow, engine.connect() as quick:
        write(slow, one, "b", "c")  # has the lower ids
        write(quick, other, "d")
        quick.commit()
        early = read(follow, after_first[1])
        write(slow, other, "e")
        (slow.commit if is_kept else slow.rollback)()
    late = read(follow, early[1])

    assert after_first[0] == ["a"]
    assert early == ([], after_first[1])
    assert late[0] == (["b", "c", "d", "e"] if is_kept else ["d"])
    assert read(follow, late[1]) == ([], late[1])
    assert read(follow, 0, other)[0] == (["d", "e"] if is_kept else ["d"])


def test_entries_wait_for_no_other_transaction(
    store: Store, engine: sa.Engine, create: Callable[..., ActionId]
) -> None:
    follow, action = FollowJournal(store), create("a_step")
    with engine.connect() as busy, engine.begin() as writer:
        busy.execute(sa.text("SELECT txid_current(), pg_advisory_xact_lock(5), pg_advisory_xact_lock(1, 2)"))
        write(writer, action, "a")
        writer.commit()

        assert read(follow, 0)[0] == ["a"]
