"""Wires everything: the one place that knows which adapter fills which port."""

import os
import socket
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import falcon
from ulid import ULID

from shipyard_api.actions.catalog import catalog
from shipyard_api.actions.deploy_site import Patience
from shipyard_api.adapters.drydock.client import DrydockClient
from shipyard_api.adapters.drydock.provisioner import DrydockProvisioner
from shipyard_api.adapters.embedded_postgres.errors import PostgresError
from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.adapters.procrastinate.worker import TurnWorker
from shipyard_api.adapters.schema_files.schemas import SchemaFiles
from shipyard_api.api.app import Collaborators, create_app
from shipyard_api.domain.actions import ActionName
from shipyard_api.domain.errors import ShipyardError
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.store import StoreUnavailable
from shipyard_api.settings import Settings, SettingsError, share_directory
from shipyard_api.storage.clock import DatabaseClock
from shipyard_api.storage.unit_of_work import SqlStore, connect
from shipyard_api.usecases.commit_configdocs import CommitConfigdocs
from shipyard_api.usecases.create_action import CreateAction
from shipyard_api.usecases.describe_action import DescribeAction
from shipyard_api.usecases.load_configdocs import LoadConfigdocs
from shipyard_api.usecases.read_configdocs import ReadConfigdocs
from shipyard_api.usecases.tokens import ApiTokens
from shipyard_api.workflow.definition import Definition
from shipyard_api.workflow.turn import Engine


@dataclass(frozen=True, slots=True)
class Parts:
    """What both the API and the worker are made of."""

    settings: Settings
    store: SqlStore
    clock: DatabaseClock
    schemas: SchemaFiles
    provisioner: DrydockProvisioner


def run_program(program: Callable[[], int | None]) -> int:
    """Run a program and return its exit code; what an operator can mend is one line each, bugs keep their traceback.

    2: the settings cannot be used. 1: the database, the embedded Postgres or the request is in the way.
    """
    try:
        return program() or 0
    except SettingsError as error:
        sys.stderr.write("".join(f"Error: {fault}\n" for fault in error.faults))
        return 2
    except (ShipyardError, StoreUnavailable, PostgresError, OSError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


def parts(settings: Settings) -> Parts:
    """Return the parts; connects to nothing yet. Raises SettingsError when something needed is not set."""
    needed = {
        "DATABASE_URL": settings.database.url,
        "[drydock] url": settings.drydock.url,
        "[drydock] design_url": settings.drydock.design_url,
    }
    missing = [f"{name} is not set" for name, value in needed.items() if not value]
    if missing:
        raise SettingsError(missing)
    if settings.drydock.connect_timeout_seconds > settings.engine.settle_seconds / 2:
        told = "[drydock] connect_timeout_seconds must be at most half of [engine] settle_seconds (docs/adr/0007)"
        raise SettingsError([told])
    engine = connect(settings.database.url, pool_size=settings.database.pool_size)
    return Parts(
        settings,
        SqlStore(engine, ProcrastinateWakeup()),
        DatabaseClock(engine),
        SchemaFiles(share_directory() / "schemas"),
        _drydock(settings),
    )


def tokens(settings: Settings) -> ApiTokens:
    """Return what manages API tokens; needs nothing but the database."""
    if not settings.database.url:
        raise SettingsError(["DATABASE_URL is not set"])
    return ApiTokens(SqlStore(connect(settings.database.url, pool_size=1), ProcrastinateWakeup()))


def api(settings: Settings) -> "falcon.App[Any, Any]":
    """Return the WSGI application."""
    made = parts(settings)
    store, schemas = made.store, made.schemas
    return create_app(
        Collaborators(
            tokens=ApiTokens(store),
            load_configdocs=LoadConfigdocs(store),
            commit_configdocs=CommitConfigdocs(store, schemas),
            read_configdocs=ReadConfigdocs(store),
            create_action=CreateAction(
                store, schemas, _definitions(made), lambda: str(ULID()), settings.engine.time_scale
            ),
            describe_action=DescribeAction(store),
            schemas=schemas,
            openapi=share_directory() / "schemas" / "openapi.yaml",
            design_bytes=settings.api.design_bytes,
            json_bytes=settings.api.json_bytes,
        )
    )


def worker(settings: Settings) -> TurnWorker:
    """Return the worker."""
    made = parts(settings)
    engine = Engine(
        made.store,
        _definitions(made),
        made.clock,
        lambda: Marker(str(uuid.uuid4())),
        settle=settings.engine.settle_seconds,
        worker=f"{socket.gethostname()}:{os.getpid()}",
    )
    options = settings.worker
    return TurnWorker(settings.database.url, engine.run, lambda: engine.sweep(grace=options.overdue_seconds), options)


def _definitions(made: Parts) -> Mapping[ActionName, Definition]:
    engine = made.settings.engine
    patience = Patience(engine.question_seconds, engine.question_pause_seconds)
    return catalog(made.store, made.provisioner, made.schemas, patience)


def _drydock(settings: Settings) -> DrydockProvisioner:
    own = settings.drydock
    client = DrydockClient(
        own.url,
        token=lambda: own.token,
        connect_timeout=own.connect_timeout_seconds,
        read_timeout=own.read_timeout_seconds,
        retry_pause=own.nodefilter_pause_seconds,
    )
    try:
        return DrydockProvisioner(client, design_url=own.design_url)
    except ValueError as error:
        raise SettingsError([f"[drydock] design_url: {error}"]) from error
