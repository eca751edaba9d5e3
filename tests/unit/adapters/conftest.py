"""A scripted peer for each test that asks for one."""

from collections.abc import Iterator

import pytest

from tests.peer import Peer, running


@pytest.fixture
def peer() -> Iterator[Peer]:
    with running() as scripted:
        yield scripted
