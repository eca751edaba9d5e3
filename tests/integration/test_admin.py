"""Looking after an installation: what works, and what an operator reads when something is in the way."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def admin(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SHIPYARD_", "DATABASE_URL"))}
    return subprocess.run(
        [sys.executable, "-m", "shipyard_api.admin", *words],
        env={**kept, "SHIPYARD_CONFIG": os.devnull, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


NOWHERE = "postgresql://me:hunter2@127.0.0.1:9/nowhere"

MAAS = {
    "DATABASE_URL": NOWHERE,
    "SHIPYARD_PROVISIONER_KIND": "maas",
    "SHIPYARD_MAAS_URL": "http://maas:5240/MAAS/api/2.0",
    "SHIPYARD_MAAS_API_KEY": "consumer:token:secret",
}
IRONIC = {
    "DATABASE_URL": NOWHERE,
    "SHIPYARD_PROVISIONER_KIND": "ironic",
    "SHIPYARD_IRONIC_URL": "http://ironic:6385",
}

IN_THE_WAY = {
    "no database named": (("db", "upgrade"), {}, 2, "DATABASE_URL is not set"),
    "no database there, upgrade": (("db", "upgrade"), {"DATABASE_URL": NOWHERE}, 1, "Connection refused"),
    "no database there, current": (("db", "current"), {"DATABASE_URL": NOWHERE}, 1, "Connection refused"),
    "no database there, tokens": (("token", "list"), {"DATABASE_URL": NOWHERE}, 1, "Connection refused"),
    "not an address": (("db", "current"), {"DATABASE_URL": "hunter2"}, 1, "not of the form postgresql://"),
    "settings missing": (("config", "check"), {"DATABASE_URL": NOWHERE}, 2, "[drydock] url is not set"),
    "a number that is none": (
        ("config", "check"),
        {"SHIPYARD_WORKER_CONCURRENCY": "many"},
        2,
        "SHIPYARD_WORKER_CONCURRENCY: 'many' is not a whole number",
    ),
    "a design address that Drydock cannot follow": (
        ("config", "check"),
        {
            "DATABASE_URL": NOWHERE,
            "SHIPYARD_DRYDOCK_URL": "http://drydock:9000/api/v1.0",
            "SHIPYARD_DRYDOCK_DESIGN_URL": "deckhand+https://shipyard/revisions/{revision}/rendered-documents",
        },
        2,
        "[drydock] design_url",
    ),
    "a connect timeout that breaks the settle rule": (
        ("config", "check"),
        {
            "DATABASE_URL": NOWHERE,
            "SHIPYARD_DRYDOCK_URL": "http://drydock:9000/api/v1.0",
            "SHIPYARD_DRYDOCK_DESIGN_URL": "http://shipyard/revisions/{revision}/rendered-documents",
            "SHIPYARD_DRYDOCK_CONNECT_TIMEOUT_SECONDS": "20",
        },
        2,
        "[drydock] connect_timeout_seconds must be at most half of",
    ),
    "no such provisioner": (
        ("config", "check"),
        {"SHIPYARD_PROVISIONER_KIND": "foreman"},
        2,
        "SHIPYARD_PROVISIONER_KIND: 'foreman' is not one of drydock, maas, ironic",
    ),
    "a MAAS nobody knows where": (("config", "check"), {**MAAS, "SHIPYARD_MAAS_URL": ""}, 2, "[maas] url is not set"),
    "half a key for MAAS": (
        ("config", "check"),
        {**MAAS, "SHIPYARD_MAAS_API_KEY": "hunter2:hunter2"},
        2,
        "[maas] api_key: a MAAS API key has three parts",
    ),
    "a switch that is neither on nor off": (
        ("config", "check"),
        {**MAAS, "SHIPYARD_MAAS_KEEP_ENLISTED": "maybe"},
        2,
        "SHIPYARD_MAAS_KEEP_ENLISTED: 'maybe' is not true or false",
    ),
    "user data that cannot be read": (
        ("config", "check"),
        {**MAAS, "SHIPYARD_MAAS_USER_DATA_FILE": "/no/such/file"},
        2,
        "[maas] user_data_file: [Errno 2]",
    ),
    "an Ironic nobody knows where": (
        ("config", "check"),
        {"DATABASE_URL": NOWHERE, "SHIPYARD_PROVISIONER_KIND": "ironic"},
        2,
        "[ironic] url is not set",
    ),
    "instance_info that is not JSON": (
        ("config", "check"),
        {**IRONIC, "SHIPYARD_IRONIC_INSTANCE_INFO_FILE": __file__},
        2,
        "[ironic] instance_info_file: ",
    ),
    "an Ironic that is waited for too long": (
        ("config", "check"),
        {**IRONIC, "SHIPYARD_IRONIC_CONNECT_TIMEOUT_SECONDS": "20"},
        2,
        "[ironic] connect_timeout_seconds must be at most half of",
    ),
}


@pytest.mark.parametrize("settings", [MAAS, IRONIC], ids=["maas", "ironic"])
def test_without_drydock_nothing_of_drydock_needs_to_be_set(settings: dict[str, str]) -> None:
    ended = admin("config", "check", **settings)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(("words", "settings", "code", "told"), IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_in_the_way_is_one_line_and_no_traceback(
    words: tuple[str, ...], settings: dict[str, str], code: int, told: str
) -> None:
    ended = admin(*words, **settings)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert told in ended.stderr
    assert all(line.startswith(("Error: ", "\tIs the server")) for line in ended.stderr.splitlines())
    assert "hunter2" not in ended.stderr


def test_a_token_is_made_listed_without_its_secret_and_revoked(database_url: str) -> None:
    made = admin("token", "create", "--name", "night shift", "--role", "viewer", DATABASE_URL=database_url)
    assert made.returncode == 0, made.stderr
    secret = made.stdout.strip()
    listed = admin("token", "list", DATABASE_URL=database_url).stdout
    assert "night shift" in listed
    assert secret not in listed
    token = listed.split()[0]
    assert admin("token", "revoke", token, DATABASE_URL=database_url).stdout == f"{token} is revoked\n"
    again = admin("token", "revoke", token, DATABASE_URL=database_url)
    assert (again.returncode, again.stderr) == (1, f"Error: Token not found: No valid token has the id {token}\n")


def test_the_schema_is_brought_up_and_told(empty_database_url: str) -> None:
    assert admin("db", "current", DATABASE_URL=empty_database_url).returncode == 1
    upgraded = admin("db", "upgrade", DATABASE_URL=empty_database_url)
    assert upgraded.returncode == 0, upgraded.stderr
    current = admin("db", "current", DATABASE_URL=empty_database_url)
    assert (current.returncode, current.stdout) == (0, "database is at 0006, this release needs 0006\n")
