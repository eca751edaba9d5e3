"""Settings and databases with which a program does not start, or go on: one sentence, exit code 2, and no port."""

import os
import socket
from typing import Any

import psycopg

from shipyard_api.storage import schema
from tests.forked import ToItsEnd
from tests.integration.api.test_without_identities import program
from tests.waiting import until


def test_the_api_says_what_is_wrong_and_ends_without_a_port(database_url: str, empty_database_url: str) -> None:
    wrong = {"SHIPYARD_API_WORKERS": "two"}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        # A server that tried to bind would fail with another error, and go on trying.
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = program(database_url, address, **wrong).end()
        code, output = program(empty_database_url, address).end()
    assert ended == (2, "Error: SHIPYARD_API_WORKERS: 'two' is not a whole number\n")
    assert (code, output.startswith("Error: "), output.count("\n")) == (2, True, 1)


def worker(database_url: str, **settings: str) -> ToItsEnd:
    """Start a worker; its provisioner is nowhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SHIPYARD_")}
    told = {
        "SHIPYARD_CONFIG": os.devnull,
        "DATABASE_URL": database_url,
        "SHIPYARD_DRYDOCK_URL": "http://127.0.0.1:9/api/v1.0",
        "SHIPYARD_DRYDOCK_DESIGN_URL": "http://127.0.0.1:9/{revision}",
        **settings,
    }
    return ToItsEnd("shipyard_api.programs.worker", [], {**kept, **told})


def test_a_worker_whose_port_is_taken_names_the_setting(database_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, output = worker(database_url, SHIPYARD_WORKER_STATUS_PORT=str(taken.getsockname()[1])).end()
    assert code == 2
    assert output.startswith("Error: [worker] status_address, status_port: cannot serve at 127.0.0.1, port ")


def test_a_worker_ends_when_its_schema_is_replaced(database_url: str) -> None:
    with worker(database_url, SHIPYARD_WORKER_SWEEP_SECONDS="1") as at_work:
        with psycopg.connect(database_url, autocommit=True) as connection:

            def registered() -> Any:
                assert at_work.poll() is None, at_work.said()
                return connection.execute("SELECT 1 FROM procrastinate_workers").fetchone()

            until(registered)
            connection.execute("COMMENT ON TABLE alembic_version IS '9999'")
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        code, output = at_work.end()
    (said,) = [line for line in output.splitlines() if "9999" in line]
    assert f"has schema 9999, and this release knows only {schema.supported()}" in said
    assert (code, "Traceback" in output) == (2, False)
