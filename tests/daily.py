"""Parameters of which one is played every day, and the others by ``./dev crash`` alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulated_peers import PEERS


def peers(of_every_day: str) -> list[Any]:
    """Return the provisioners. Where they differ is decided by adapters, which have tests of their own."""
    return [pytest.param(peer, marks=[] if peer == of_every_day else [pytest.mark.crash]) for peer in PEERS]
