"""The store on a real Postgres. One database for all tests of a process, empty at the start of each."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from msgspec.structs import replace
from ulid import ULID

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.actions import ActionId, ActionName, StepId, nodes_of_run
from shipyard_api.domain.documents import Revision
from shipyard_api.ports.state.actions import NewAction
from shipyard_api.storage.unit_of_work import Store, connect
from tests.integration.storage.rows import empty

if TYPE_CHECKING:
    from tests.databases import Databases


@pytest.fixture(scope="session")
def storage_url(postgres: "Databases") -> Iterator[str]:
    with postgres.migrated() as url:
        yield url


@pytest.fixture(scope="session")
def shared_engine(storage_url: str) -> Iterator[sa.Engine]:
    engine = connect(storage_url, pool_size=8)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(shared_engine: sa.Engine) -> sa.Engine:
    empty(shared_engine)
    return shared_engine


@pytest.fixture
def store(engine: sa.Engine) -> Store:
    return Store(engine, ProcrastinateWakeup())


def new_run(*nodes: str) -> NewAction:
    """Return a run of tasks on these nodes; without any, on all."""
    named = {"nodes": list(nodes)} if nodes else {}
    own = replace(new_action("a"), name=ActionName("update_software"), inputs={"v": 1, "software": named})
    return replace(own, nodes=nodes_of_run(named))


def new_action(*steps: str) -> NewAction:
    return NewAction(
        id=ActionId(str(ULID())),
        name=ActionName("deploy_site"),
        parameters={},
        user="ann",
        context_marker="a13b0122-0885-4745-84e9-39d1ce42b025",
        revision=Revision(1),
        allow_intermediate_commits=None,
        inputs={"v": 1},
        steps=[StepId(step) for step in steps],
    )


@pytest.fixture
def create(store: Store) -> Callable[..., ActionId]:
    """Create an action with these steps, and return its id."""

    def created(*steps: str) -> ActionId:
        with store.begin() as tx:
            return tx.actions.create(new_action(*steps)).id

    return created
