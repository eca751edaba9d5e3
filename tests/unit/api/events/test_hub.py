"""What a stream's listener is handed, and when it has to read from the database again."""

from typing import Any, cast

from shipyard_api.api.events.hub import MOST_WAITING, Hub, _Listener
from shipyard_api.domain.actions import ActionId
from shipyard_api.ports.state.journal import EventFormat
from tests.unit.tables import every_row

A, B = ActionId("A"), ActionId("B")
OURS, CLOUD = EventFormat.SHIPYARD, EventFormat.CLOUDEVENTS


@every_row(
    {
        "a large block alone": ([MOST_WAITING + 1], True, MOST_WAITING + 1),
        "no more than may wait": ([1, MOST_WAITING - 2, 1], True, MOST_WAITING),
        "one byte more": ([1, MOST_WAITING - 2, 2], False, 0),
        "after one that did not fit": ([MOST_WAITING, 1, 1, MOST_WAITING - 1], True, MOST_WAITING),
    }
)
def test_what_does_not_fit_clears_what_waits(sizes: list[int], fits: bool, waiting: int) -> None:
    listener = _Listener(A, 0, OURS)
    assert [listener.offer(b"x" * size) for size in sizes][-1] is fits
    listener.woken.set()
    assert (len(listener.take()), len(listener.take()), listener.woken.is_set()) == (waiting, 0, False)


def test_each_listener_gets_its_part_and_those_who_cannot_have_it_read_for_themselves() -> None:
    hub = Hub(cast(Any, None), cast(Any, None))
    of_a, of_b, of_all, full = (_Listener(action, 0, OURS) for action in (A, B, None, None))
    late = _Listener(A, 0, CLOUD)  # came while the blocks were written
    hub._live = {of_a, of_b, of_all, full, late}
    full.offer(b"x" * MOST_WAITING)

    woken = hub._hand_over({(OURS, A): b"a", (OURS, None): b"all", (CLOUD, None): b"cloud"}, {OURS}, 7)

    assert (hub._position, hub._live, set(woken)) == (7, {of_a, of_b, of_all}, {of_a, of_all, full, late})
    assert [one.take() for one in (of_a, of_b, of_all, full, late)] == [b"a", b"", b"all", b"", b""]
