"""What happened to the database between two identities."""

from msgspec.structs import replace

from shipyard_api.domain.histories import HistoryIdentity, Writable, difference, successor
from tests.unit.tables import every_row

BEFORE = HistoryIdentity(system=7, timeline=2, database=16_384, table=16_400)


@every_row(
    [
        (BEFORE, ""),
        (replace(BEFORE, timeline=3), "a standby became the primary, or a backup was restored (timeline 3 after 2)"),
        (replace(BEFORE, timeline=1), "the server is back at an earlier timeline (1 after 2)"),
        (replace(BEFORE, system=8, timeline=1), "the database is on another server, restored or replaced"),
        (replace(BEFORE, database=16_500, table=16_510), "the database was created again, as from a dump"),
        (replace(BEFORE, table=16_510), "its tables were created again or emptied, as for a dump"),
    ],
)
def test_each_difference_is_said(now: HistoryIdentity, said: str) -> None:
    assert difference(BEFORE, now) == said


OLD, NEW, OTHER = Writable(7, 2), Writable(7, 3), Writable(8, 9)


@every_row(
    [
        ([OLD], 0, None),
        ([OLD, None], 0, None),  # a standby, or no answer
        ([OLD, NEW], 0, 1),
        ([OLD, NEW], 1, None),
        ([NEW, OLD, Writable(7, 4)], 1, 2),
        ([OLD, OTHER], 0, None),  # of another system: not its successor
        ([None, NEW], 0, None),
    ],
)
def test_the_successor_of_a_primary_that_still_accepts_writes(
    servers: list[Writable | None], current: int, expected: int | None
) -> None:
    assert successor(servers, current) == expected
