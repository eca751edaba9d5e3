"""A peer of Airship that validates each token at a real Keystone: tokens end and are revoked while an action runs.

Runs where ``KEYSTONE_URL`` names a Keystone (``tests/real_ironic.py``); start it with ``KEYSTONE_TOKEN_TTL=15``.
"""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from shipyard_api.domain.nodes import Inventory
from shipyard_api.ports.provisioner import JobId, JobState, Operation, Provisioner, Work
from shipyard_api.settings import load
from shipyard_api.wiring import provisioners
from tests import real_ironic
from tests.real_ironic import ADMIN, ADMIN_PASSWORD, KEYSTONE_URL

pytestmark = pytest.mark.skipif(not KEYSTONE_URL, reason="KEYSTONE_URL names no real Keystone")

LONGEST_WAIT = 60.0  # seconds that a test waits for a token to end
TASK = b'{"task_id": "job-1", "status": "running", "result": {}}'


class Gate(ThreadingHTTPServer):
    """A Drydock with one running task, which answers only callers whose token Keystone accepts."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tokens: list[str] = []
        self.rejected = 0


class Handler(BaseHTTPRequestHandler):
    server: Gate

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        token = self.headers.get("X-Auth-Token", "")
        ours = {"X-Auth-Token": real_ironic.admin_tokens().token(), "X-Subject-Token": token}
        known = requests.get(f"{KEYSTONE_URL}/auth/tokens", headers=ours, timeout=30).ok
        self.server.tokens += [token] if known else []
        self.server.rejected += not known
        self.send_response_only(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        body = TASK if known else b"{}"
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def drydock(gate: Gate) -> Provisioner:
    keystone = {"AUTH_URL": KEYSTONE_URL, "USER": ADMIN, "PASSWORD": ADMIN_PASSWORD, "SCOPE": "system"}
    told = {
        "URL": f"http://127.0.0.1:{gate.server_port}",
        "AUTH": "keystone",
        "DESIGN_URL": "http://127.0.0.1:9/{revision}",
    }
    given = {f"SHIPYARD_KEYSTONE_{name}": value for name, value in keystone.items()}
    given |= {f"SHIPYARD_DRYDOCK_{name}": value for name, value in told.items()}
    return provisioners.provisioner(load(given), lambda _: Inventory())


def poll(drydock: Provisioner) -> None:
    report = drydock.report(JobId("job-1"), Work(Operation.PREPARE_SITE, "http://127.0.0.1:9/1"))
    assert report.state is JobState.RUNNING


def test_work_is_polled_for_longer_than_a_token_lasts(gate: Gate, drydock: Provisioner) -> None:
    lifetime = real_ironic.admin_tokens()._client.grant().lifetime
    if lifetime > LONGEST_WAIT:
        pytest.skip(f"tokens of this Keystone last {lifetime:g} s: start it with KEYSTONE_TOKEN_TTL=15")
    end = time.monotonic() + 2 * lifetime
    while time.monotonic() < end:
        poll(drydock)
        time.sleep(0.5)
    assert (len(set(gate.tokens)), gate.rejected) == (3, 0)  # each is used for 3/4 of its life


def test_a_revoked_token_is_renewed(gate: Gate, drydock: Provisioner) -> None:
    poll(drydock)
    ours = {"X-Auth-Token": real_ironic.admin_tokens().token(), "X-Subject-Token": gate.tokens[-1]}
    assert requests.delete(f"{KEYSTONE_URL}/auth/tokens", headers=ours, timeout=30).ok
    poll(drydock)
    assert (len(set(gate.tokens)), gate.rejected) == (2, 1)
