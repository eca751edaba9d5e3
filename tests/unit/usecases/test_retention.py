"""When old history may be left after a batch."""

from shipyard_api.usecases.retention import BATCH, HOLDS, Pruned
from tests.unit.tables import every_row


@every_row(
    [
        (Pruned(BATCH - 1, BATCH - 1, BATCH - 1, HOLDS - 1), False),
        (Pruned(BATCH, 0, 0, 0), True),
        (Pruned(0, BATCH, 0, 0), True),
        (Pruned(0, 0, BATCH, 0), True),
        (Pruned(0, 0, 0, BATCH), False),
        (Pruned(0, 0, 0, HOLDS), True),
    ]
)
def test_a_full_batch_of_any_kind_may_leave_more(deleted: Pruned, more: bool) -> None:
    assert deleted.may_leave_more is more
