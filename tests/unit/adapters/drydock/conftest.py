"""A scripted peer for each test that asks for one."""

import threading
from collections.abc import Iterator

import pytest

from tests.unit.adapters.drydock.peer import Peer


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
