"""The clock of an API server, as its answers show it."""

from datetime import UTC, datetime, timedelta, timezone

from shipyard_api.adapters.kubernetes.answer import Answer
from shipyard_api.http import Response
from tests.unit.tables import every_row

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@every_row(
    [
        ("Sun, 01 Mar 2026 12:00:00 GMT", NOON),
        ("Sun, 01 Mar 2026 12:00:00 -0000", NOON),
        ("Sun, 01 Mar 2026 13:00:00 +0100", datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=1)))),
    ]
)
def test_the_time_of_an_answer_has_a_zone(date: str, expected: datetime) -> None:
    shown = Answer(Response(200, {"date": date}, b"")).server_time
    assert (shown, shown.utcoffset()) == (expected, expected.utcoffset())


@every_row([{}, {"date": "at noon"}])
def test_without_a_date_it_is_our_time(headers: dict[str, str]) -> None:
    before = datetime.now(UTC)
    assert before <= Answer(Response(200, headers, b"")).server_time <= datetime.now(UTC)
