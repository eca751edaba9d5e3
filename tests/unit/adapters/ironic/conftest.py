"""The scripted peer, for a peer that is changed by PATCH, too."""

import pytest

from tests.peer import Handler


@pytest.fixture(autouse=True)
def _patches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "do_PATCH", Handler._serve, raising=False)
