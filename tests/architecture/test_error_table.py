"""Every error that a caller can meet has a line in the table of codes: a new one cannot be forgotten."""

from collections.abc import Iterator

import pytest

import shipyard_api.bootstrap  # noqa: F401  # imports every module that can define an error
from shipyard_api.api.airship.errors import TABLE, lookup
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.ports.errors import PeerError
from shipyard_api.ports.state.errors import StoreUnavailable

FAMILIES = (ShipyardError, PeerError, StoreUnavailable)


def family(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for child in kind.__subclasses__():
        yield from family(child)


ERRORS = sorted({error for root in FAMILIES for error in family(root)} - {ShipyardError, PeerError}, key=str)


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__qualname__)
def test_every_error_has_a_line(kind: type[Exception]) -> None:
    code, error_type, _again = lookup(kind)

    assert code[:3].isdigit()
    assert 400 <= int(code[:3]) < 600
    assert error_type


def test_the_walk_finds_errors_of_every_layer() -> None:
    modules = {kind.__module__.split(".")[1] for kind in ERRORS}

    assert {"domain", "ports", "api", "usecases"} <= modules


def test_no_line_hides_behind_one_that_fits_more() -> None:
    kinds = [kind for kind, *_ in TABLE]

    hidden = [
        later.__name__
        for index, later in enumerate(kinds)
        if any(issubclass(later, earlier) for earlier in kinds[:index])
    ]
    assert hidden == []


def test_an_error_without_a_line_is_told_by_name() -> None:
    class Forgotten(Exception):
        pass

    with pytest.raises(KeyError, match="Forgotten"):
        lookup(Forgotten)
