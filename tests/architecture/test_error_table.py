"""Every error that a caller can receive is said once, in a row that every dialect can answer."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import shipyard_api
import shipyard_api.api.airship.app
import shipyard_api.wiring.bootstrap  # together they import every module that can define a family
from shipyard_api.api.airship.error_answers import line_of
from shipyard_api.api.airship.errors import WORDS as AIRSHIP
from shipyard_api.api.fuel.error_answers import WORDS as FUEL
from shipyard_api.api.http.errors import status_of
from shipyard_api.api.ironic.error_answers import WORDS as IRONIC
from shipyard_api.domain import error_kinds
from shipyard_api.domain.error_kinds import ErrorKind, ShipyardError
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.errors import StoreUnavailable
from tests.unit.tables import every_row

FAMILIES = (error_kinds.Forbidden, error_kinds.Unauthenticated)
"""The families that are raised themselves, because they are caught by type; their rows are constants."""


def tables() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The modules of errors, by name."""
    for module in pkgutil.walk_packages(shipyard_api.__path__, "shipyard_api."):
        if module.name.rpartition(".")[2] in ("errors", "error_kinds"):
            yield module.name, vars(importlib.import_module(module.name))


def family(kind: type[Exception]) -> Iterator[type[Exception]]:
    """The class and all below it."""
    yield kind
    for child in kind.__subclasses__():
        yield from family(child)


ROWS = {name: row for _, table in tables() for name, row in table.items() if isinstance(row, ErrorKind)}
SYSTEM_FAILURES = sorted({*family(PeerError), *family(StoreUnavailable)} - {PeerError}, key=str)


def test_the_walk_finds_the_rows_of_every_area() -> None:
    assert {"UNAUTHENTICATED", "HoldNotFound", "LabelExists", "TemplateExists", "NotJson", "InvalidKey"} < ROWS.keys()


@every_row(list(ROWS))
def test_a_row_has_the_name_that_it_is_raised_by_and_a_title(name: str) -> None:
    row = ROWS[name]

    assert row.code == (row.family.__name__ if row.family in FAMILIES else name)
    assert row.title


def test_every_family_has_a_status() -> None:
    families = set(family(ShipyardError)) - {ShipyardError}

    assert all(400 <= int(status_of(kind)[:3]) < 600 for kind in families)
    assert {row.family for row in ROWS.values()} <= families


@every_row({f"{row}": (row, words) for dialect in (AIRSHIP, FUEL, IRONIC) for row, words in dialect.items()})
def test_a_dialect_words_a_row_with_the_data_that_the_row_has(
    row: ErrorKind[..., ShipyardError], words: Callable[..., Any]
) -> None:
    inspect.signature(words).bind(**dict.fromkeys(inspect.signature(row.sentence).parameters))

    assert row in ROWS.values()


@every_row(SYSTEM_FAILURES)
def test_every_failure_of_a_system_has_a_row(kind: type[Exception]) -> None:
    code, error_type, _retry = line_of(kind)

    assert 400 <= int(code[:3]) < 600
    assert error_type
