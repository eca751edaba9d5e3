"""The API in this process, on a real Postgres.

The application keeps nothing between requests, so one serves all tests of a process, each of which finds the database
empty: emptying takes milliseconds, and a database of its own a fifth of a second.
"""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from ulid import ULID

from shipyard_api.adapters.deckhand import DeckhandOptions
from shipyard_api.adapters.drydock import DrydockOptions
from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.encryption import EncryptionOptions
from shipyard_api.adapters.encryption.fernet import FernetEncryption, new_key
from shipyard_api.adapters.identity import IdentityOptions, Seconds
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.api.mount import Mount
from shipyard_api.ports.identity import digest
from shipyard_api.settings.plugins import DesignStoreName
from shipyard_api.settings.types import Contact, Count, Secret
from shipyard_api.storage import tables as t
from shipyard_api.storage.designs import SqlDesigns
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.wiring import bootstrap
from shipyard_api.wiring.settings import ApiOptions, DatabaseOptions, DesignStoreOptions, Settings
from tests.integration.api.cluster_world import ClusterWorld, Programs, programs
from tests.integration.api.recorded import Everything
from tests.integration.api.wire import Caller, Site
from tests.integration.storage.rows import empty
from tests.peer import Answer, Peer, running

if TYPE_CHECKING:
    from tests.databases import Databases


KEY = new_key()
UNCACHED = IdentityOptions(token_cache_seconds=Seconds(0))
NO_FAULT = Answer(200, {"kind": "Status", "status": "Success", "details": {"errorCount": 0, "messageList": []}})
# As DrydockOptions lists what MAAS knows, in no order.
MACHINES = [
    {"hostname": "n2", "memory": 8192, "status_name": "Failed deployment", "power_state": "off", "boot_ip": None},
    {"hostname": "n1", "memory": 8192, "status_name": "Deployed", "power_state": "on", "boot_ip": "172.30.1.11"},
]


# No test writes so seldom; those of the limit have their own.
DESIGN = "http://127.0.0.1:9/{revision}"
API = ApiOptions(
    design_bytes=4_000_000,
    json_bytes=100_000,
    writes_per_minute=Count(0),
    security_contact=Contact("mailto:security@example.org"),
)


def settings(
    url: str,
    drydock: str = "http://127.0.0.1:9/api/v1.0",
    deckhand: DeckhandOptions | None = None,
    **sections: Any,
) -> Settings:
    """Settings of an API on that database, with a Drydock that is only asked about designs.

    ``deckhand``: the Deckhand that keeps the documents.
    """
    of_plugins: dict[str, Any] = {"drydock": DrydockOptions(url=drydock, design_url=DESIGN, connect_timeout_seconds=1)}
    if deckhand:
        of_plugins["deckhand"] = deckhand
        sections["designs"] = DesignStoreOptions(store=DesignStoreName("deckhand"))
    return Settings(
        database=DatabaseOptions(url=Secret(url)),
        **{
            "of_plugins": of_plugins,
            "secrets": EncryptionOptions(keys=Secret(KEY)),
            "identity": UNCACHED,
            "api": API,
            **sections,
        },
    )


@pytest.fixture(scope="session", autouse=True)
def at_once() -> Iterator[None]:
    """Let no request wait before it asks Drydock again: to most questions this one only hangs up."""
    with patch.dict(DrydockClient.__init__.__kwdefaults__, read_pause=0.0):
        yield


@pytest.fixture(scope="session")
def drydock() -> Iterator[Peer]:
    """A DrydockOptions that has nothing to say about any design, unless a test tells it to."""
    with running() as peer:
        yield peer


@pytest.fixture(scope="session")
def shared_url(postgres: "Databases") -> Iterator[str]:
    with postgres.migrated() as url:
        yield url


@pytest.fixture(scope="session")
def app(shared_url: str, drydock: Peer) -> Mount:
    return bootstrap.api(settings(shared_url, drydock.url))


@pytest.fixture(scope="session")
def engine(shared_url: str) -> Iterator[sa.Engine]:
    engine = connect(shared_url, pool_size=2)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def store(engine: sa.Engine) -> Store:
    return Store(engine, ProcrastinateWakeup())


@pytest.fixture
def site(app: Mount, store: Store, engine: sa.Engine, drydock: Peer) -> Site:
    """An API that knows four callers and nothing else."""
    empty(engine)
    return new_site(app, store, engine, drydock)


@pytest.fixture(scope="session")
def served(shared_url: str, drydock: Peer) -> Iterator[Programs]:
    with programs(settings(shared_url, drydock.url)) as found:
        yield found


@pytest.fixture
def world(served: Programs, store: Store, engine: sa.Engine, drydock: Peer) -> ClusterWorld:
    """A site with a Kubernetes and an etcd, on which nothing is committed."""
    empty(engine)
    served.reset()
    return ClusterWorld(new_site(served.app, store, engine, drydock), served, engine)


@pytest.fixture
def log() -> Iterator[Everything]:
    """All that is logged meanwhile, whatever its level."""
    handler, root = Everything(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


@cache
def known_tokens() -> list[tuple[str, dict[str, Any]]]:
    """The secrets and rows of the tokens that every test has; how tokens are made is tested where they are."""
    roles = (("ann", "admin"), ("vic", "viewer"), ("drydock", "peer"))
    secrets = [f"shipyard_of_{name}" for name, _ in roles]
    return [
        (secret, {"id": str(ULID()), "name": name, "roles": [role], "digest": digest(secret)})
        for secret, (name, role) in zip(secrets, roles, strict=True)
    ]


def new_site(app: Mount, store: Store, engine: sa.Engine, drydock: Peer) -> Site:
    drydock.forget()
    drydock.on("POST /validatedesign", NO_FAULT)
    drydock.on("GET /nodes", Answer(200, MACHINES))
    with engine.begin() as connection:
        # As if they had been used just now, so that not each first request of a test notes that they are.
        rows = [{**row, "last_used_at": datetime.now(UTC)} for _, row in known_tokens()]
        connection.execute(insert(t.api_tokens).on_conflict_do_nothing(), rows)
    callers = [Caller(app, secret) for secret, _ in known_tokens()]
    designs = SqlDesigns(engine, FernetEncryption([KEY]), DataSchemas())
    return Site(*callers, Caller(app, None), store, designs, drydock)
