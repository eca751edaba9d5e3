"""Every error that a caller can meet has a row in the table of codes: a new one cannot be forgotten."""

from collections.abc import Iterator

import pytest

import shipyard_api.api.airship.app
import shipyard_api.bootstrap  # noqa: F401  # together they import every module that can define an error
from shipyard_api.api.airship.error_answers import line_of
from shipyard_api.api.airship.texts import ROWS
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.errors import StoreUnavailable


def family(kind: type[Exception]) -> Iterator[type[Exception]]:
    """The class and all below it that can be raised: a base has classes below it, and no data of its own."""
    children = kind.__subclasses__()
    if not children:
        yield kind
    for child in children:
        yield from family(child)


OURS = sorted(set(family(ShipyardError)), key=str)
SYSTEM_FAILURES = sorted({*family(PeerError), *family(StoreUnavailable)}, key=str)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__qualname__)
def test_every_error_has_a_row(kind: type[ShipyardError]) -> None:
    row = ROWS[kind]

    assert 400 <= int(row.code[:3]) < 600
    assert row.error_type


def test_no_row_is_left_over() -> None:
    assert set(ROWS) == set(OURS)


@pytest.mark.parametrize("kind", SYSTEM_FAILURES, ids=lambda kind: kind.__qualname__)
def test_every_failure_of_a_system_has_a_row(kind: type[Exception]) -> None:
    code, error_type, _retry = line_of(kind)

    assert 400 <= int(code[:3]) < 600
    assert error_type


def test_the_walk_finds_errors_of_every_layer() -> None:
    modules = {kind.__module__.removeprefix("shipyard_api.") for kind in OURS}

    assert modules == {"domain.errors", "api.http.errors", "api.airship.errors"}
