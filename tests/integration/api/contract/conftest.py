"""The API of the contract cases, on a database of its own: a state is built once for all cases that only look."""

from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from falcon.testing import Result

from shipyard_api.adapters.deckhand import DeckhandOptions
from shipyard_api.adapters.oslo_policy import PolicyOptions
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.settings.types import Count
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import Settings
from tests.integration.api.conftest import new_site, settings
from tests.integration.api.contract import action_states
from tests.integration.api.contract.case import Who
from tests.integration.api.contract.states import STATES, Stage
from tests.integration.api.wire import Caller
from tests.integration.storage.rows import counts, empty, put, saved
from tests.peer import Answer, Peer, running

if TYPE_CHECKING:
    from tests.databases import Databases


class Unchecked(Caller):
    """Somebody who meets a bug: that is no answer that any document describes."""

    def __init__(self, caller: Caller) -> None:
        self.client = caller.client

    def ask(self, method: str, path: str, **request: Any) -> Result:
        return self.client.simulate_request(method, path)


# Its states are entered beside those of documents when it is read.
assert action_states.queued.__name__ in STATES
NO_DATABASE = "postgresql://nobody@127.0.0.1:9/none"


class Given:
    """Brings the API into a named state, and knows which one it is in."""

    def __init__(self, url: str, engine: sa.Engine, drydock: Peer, directory: Path) -> None:
        self.engine = engine
        self._directory = directory
        self.seen: set[str] = set()
        self._url = url
        self._drydock = drydock
        self._store = Store(engine, ProcrastinateWakeup())
        self._apps: dict[str, Any] = {}
        self._stack = ExitStack()
        self._state = ""
        self._rows: dict[str, int] | None = None
        self._names: dict[str, Any] = {}
        self._kept: dict[str, tuple[dict[str, bytes], dict[str, list[Answer]], dict[str, Any]]] = {}
        self._callers: dict[Who, Caller] = {}

    def state(self, name: str) -> tuple[dict[Who, Caller], dict[str, Any]]:
        """The callers of the API in that state, and what cases may name."""
        if name != self._state:
            self.leave()
            self._build(name)
            self._state = name
        return self._callers, self._names

    def leave(self) -> None:
        """Forget the state: something has changed it."""
        self._state, self._rows = "", None
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    def know_rows(self) -> None:
        """Count what is stored, unless it was counted in this state: what only looks stores nothing."""
        self._rows = self._rows or counts(self.engine)

    def has_stored_nothing(self) -> bool:
        """Whether as much is stored as when it was counted last."""
        before, self._rows = self._rows, counts(self.engine)
        return before == self._rows

    def _build(self, name: str) -> None:
        empty(self.engine)
        state = STATES[name]
        site = new_site(self._app(state.sections), self._store, self.engine, self._drydock)
        if name in self._kept:
            rows, self._drydock.answers, self._names = deepcopy(self._kept[name])
            put(self.engine, rows)
        else:
            self._names = state.build(Stage(site, self.engine, self._stack))
            if state.is_in_rows:
                self._kept[name] = deepcopy((saved(self.engine), self._drydock.answers, self._names))
        self._callers = {
            Who.ADMIN: site.admin,
            Who.VIEWER: site.viewer,
            Who.PEER: site.peer,
            Who.NOBODY: site.nobody,
            Who.STRANGER: Caller(self._app(state.sections), "a-token-that-nobody-gave-out"),
        }
        if name == "broken":
            self._callers[Who.ADMIN] = Unchecked(site.admin)
        if name == "database_down":
            gone = bootstrap.api(settings(NO_DATABASE, self._drydock.url))
            self._callers = {who: Caller(gone, None if who is Who.NOBODY else "a token") for who in Who}

    def _app(self, sections: dict[str, Any]) -> Any:
        key = repr(sections)
        if key not in self._apps:
            self._apps[key] = bootstrap.api(self._settings(sections))
        return self._apps[key]

    def _settings(self, sections: dict[str, Any]) -> Settings:
        wanted = dict(sections)
        if wanted.pop("in_deckhand", False):
            # The scripted peer plays that part, too.
            wanted["deckhand"] = DeckhandOptions(url=self._drydock.url)
        if rules := wanted.pop("rules", {}):
            file = self._directory / f"policy{len(self._apps)}.yaml"
            file.write_text("".join(f'"workflow_orchestrator:{rule}": "{check}"\n' for rule, check in rules.items()))
            wanted["policy"] = PolicyOptions(file=str(file))
        made = settings(self._url, self._drydock.url, **wanted)
        # Nobody sends as much in a minute as these cases do.
        return replace(made, api=replace(made.api, writes_per_minute=Count(0)))


@pytest.fixture(scope="session")
def given(postgres: "Databases", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """The states."""
    with postgres.migrated() as url, running() as drydock:
        engine = connect(url, pool_size=2)
        made = Given(url, engine, drydock, tmp_path_factory.mktemp("contract"))
        yield made
        made.leave()
        engine.dispose()
