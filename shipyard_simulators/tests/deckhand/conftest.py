"""Deckhand simulators."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.tests.deckhand.client import Deckhand, Start
from shipyard_simulators.tests.in_process import unserved


@pytest.fixture
def start() -> Iterator[Start]:
    """What starts an empty Deckhand with the given options."""

    def start_deckhand(**options: Any) -> Deckhand:
        return Deckhand(cleanup.enter_context(unserved(DeckhandSimulator(**options))))

    with ExitStack() as cleanup:
        yield start_deckhand


@pytest.fixture(scope="module")
def _shared() -> Iterator[Deckhand]:
    with unserved(DeckhandSimulator()) as simulator:
        yield Deckhand(simulator)


@pytest.fixture
def deckhand(_shared: Deckhand) -> Deckhand:
    """An empty Deckhand with the default behaviour."""
    assert _shared.call("DELETE", "/revisions").status_code == 204
    _shared.faults()
    return _shared
