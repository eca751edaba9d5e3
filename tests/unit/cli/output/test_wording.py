"""Times, durations, and texts that a terminal may print."""

from datetime import timedelta

from shipyard_api.api.entities.actions import WaitingFor
from shipyard_api.cli.output import wording
from shipyard_api.cli.output.wording import clock, parse_time
from tests.unit.cli.samples import NOW
from tests.unit.tables import every_row

HARMLESS = {
    "lines and tabs": ("a: b\n\n\tc\n", "a: b\n\n\tc\n"),
    "colours": ("\x1b[31mred", "�[31mred"),
    "C1 and DEL": ("\x9b2J\x7f", "�2J�"),
    "back to the start": ("good\rbad\b", "good�bad�"),
    "writing backwards": ("a\u202eb", "a�b"),
}


@every_row(HARMLESS)
def test_a_terminal_gets_no_character_that_it_would_obey(text, shown):
    assert wording.printable_lines(text) == shown


NEXT = [("2026-11-21T02:31:12.123456+01:00", "2026-11-21 01:31:12"), (None, "not known until the worker reports")]


@every_row(NEXT)
def test_a_next_attempt_that_no_worker_has_reported_is_not_known(attempt, shown):
    rows = wording.waiting_rows(WaitingFor(who="Drydock", next_attempt=attempt))

    assert dict(rows)["Next Attempt:"] == shown


SPANS = [
    (0, "0:00"),
    (59.9, "0:59"),
    (61, "1:01"),
    (3599, "59:59"),
    (3723, "1:02:03"),
    (86399, "23:59:59"),
    (195743, "2 d 6:22"),
]


@every_row(SPANS)
def test_clock(seconds, text):
    assert clock(timedelta(seconds=seconds)) == text


MOMENTS = {
    "database": "2026-11-21 01:31:12+00:00",
    "zulu": "2026-11-21T01:31:12Z",
    "no zone": "2026-11-21 01:31:12",
}


@every_row(MOMENTS)
def test_moment_reads_every_spelling_of_the_contract(text):
    assert parse_time(text) == NOW


@every_row([None, "", "yesterday", 5])
def test_moment_of_anything_else_is_none(text):
    assert parse_time(text) is None
