"""The drill of docs/howto/restore-a-backup.md: dump, go on, lose the host, restore elsewhere, and go on again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from shipyard_api.adapters.encryption.fernet import new_key
from shipyard_simulators.embedded_postgres import binaries
from shipyard_simulators.embedded_postgres.server import temporary
from tests.crash.test_take_over import Journal, design, judge, migrate
from tests.factories import document
from tests.stand import Stand

pytestmark = pytest.mark.crash

GROUPS = 12
SECRET = "opensesame"


def run(program: str, *arguments: str) -> None:
    """Run a program of Postgres."""
    path = binaries.find(Path("/none"), None).program(program)
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def documents() -> bytes:
    """The site of groups in a row, with a secret."""
    secret = document("deckhand/Passphrase/v1", "ipmi", SECRET)  # type: ignore[arg-type]  # its data are a text
    secret["metadata"]["storagePolicy"] = "encrypted"
    return design(GROUPS) + b"\n---\n" + yaml.safe_dump(secret).encode()


@contextmanager
def drilled(directory: Path) -> Iterator[tuple[Stand, str, str, Path]]:
    """A site in the middle of a deployment, with the address of a new server that has an earlier dump of it."""
    keys, dump = directory / "secrets.keys", directory / "shipyard.dump"
    keys.write_text(f"{new_key()}\n")
    settings = {"SHIPYARD_SECRETS_KEYS_FILE": str(keys)}
    with temporary() as old, temporary() as new:
        migrate(old.url)
        with Stand(directory, old.url, scale=0.01, settings=settings) as stand:
            stand.commit(documents())
            stand.start("worker")
            action, journal = stand.deploy_site(), Journal(old.url)
            journal.await_progress(6)
            run("pg_dump", "--format=custom", f"--file={dump}", old.url)
            journal.await_progress(12)
            journal.await_submission()
            for name in ("worker", "api"):
                stand.kill(name)
            run("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={new.url}", str(dump))
            yield stand, action, new.url, keys


def secret_of(stand: Stand) -> Any:
    """Return the secret of the committed design in clear text, or the answer that refuses it."""
    answer = stand.request("GET", "/renderedconfigdocs", params={"version": "committed", "cleartext-secrets": "true"})
    if answer.status_code != 200:
        return answer
    return next(one["data"] for one in yaml.safe_load_all(answer.text) if one["schema"] == "deckhand/Passphrase/v1")


def test_a_restored_backup_goes_on_and_does_nothing_twice(tmp_path: Path) -> None:
    """Judged by Drydock's own log; the secret is readable with the keys that were kept apart."""
    with drilled(tmp_path) as (stand, action, restored, _):
        stand.database_url = restored
        stand.start("api")
        stand._wait_for_api()
        stand.start("worker")
        assert stand.wait(action)["verdict"] == "success"
        assert "asks the peers" in stand.request("GET", f"/actions/{action}?verbosity=5").text
        assert secret_of(stand) == SECRET
        judge(stand, GROUPS)


def test_without_the_keys_a_restored_backup_says_what_is_missing(tmp_path: Path) -> None:
    """And nothing is sent to Drydock."""
    with drilled(tmp_path) as (stand, action, restored, keys):
        keys.write_text(f"{new_key()}\n")
        stand.database_url = restored
        began = len(stand.events())
        stand.start("api")
        stand._wait_for_api()
        refused = secret_of(stand)
        assert (refused.status_code, refused.json()["message"]) == (503, "Secrets cannot be opened")
        assert "none of the configured keys decrypts it" in refused.json()["reason"]
        assert stand.action(action)["dag_status"] == "running"
        # What runs in Drydock meanwhile comes to its end.
        assert [one for one in stand.events()[began:] if one["event"] == "request"] == []
