"""The crash suite refuses every change of state that ``domain.transitions`` does not declare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import transitions


@pytest.fixture
def database_url(database_url: str) -> Iterator[str]:
    """A database whose changes of state are compared with the declared ones at the end of the test."""
    with transitions.recorded(database_url) as changes:
        yield database_url
    assert changes <= transitions.declared()


@pytest.fixture(scope="module")
def module_database_url(module_database_url: str) -> Iterator[str]:
    """The same for the tests of a module that share one."""
    with transitions.recorded(module_database_url) as changes:
        yield module_database_url
    assert changes <= transitions.declared()
