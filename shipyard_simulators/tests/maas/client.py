"""A client of a running MAAS simulator."""

import itertools
import json
import os
import time
from collections.abc import Callable
from typing import Any

import requests

from shipyard_simulators.maas.accounts import ApiUser
from shipyard_simulators.maas.simulator import MaasSimulator
from shipyard_simulators.maas.site import read_machines
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP
from shipyard_simulators.tests.waiting import PATIENCE, VirtualClock

API = "/MAAS/api/2.0/"
ADMIN, OTHER_ADMIN, USER = "ck1:tk1:ts1", "ck2:tk2:ts2", "ck3:tk3:ts3"
ACCOUNTS = (
    ApiUser("shipyard", ADMIN),
    ApiUser("root", OTHER_ADMIN),
    ApiUser("user", USER, administrator=False),
)
STATUSES = {
    "New": 0,
    "Commissioning": 1,
    "Failed commissioning": 2,
    "Missing": 3,
    "Ready": 4,
    "Reserved": 5,
    "Deployed": 6,
    "Retired": 7,
    "Broken": 8,
    "Deploying": 9,
    "Allocated": 10,
    "Failed deployment": 11,
    "Releasing": 12,
    "Releasing failed": 13,
    "Disk erasing": 14,
    "Failed disk erasing": 15,
    "Rescue mode": 16,
    "Entering rescue mode": 17,
    "Failed to enter rescue mode": 18,
    "Exiting rescue mode": 19,
    "Failed to exit rescue mode": 20,
    "Testing": 21,
    "Failed testing": 22,
}
RELEASABLE = {
    "Allocated",
    "Reserved",
    "Broken",
    "Deploying",
    "Deployed",
    "Failed deployment",
    "Failed disk erasing",
    "Releasing failed",
}
_nonces = itertools.count(1)


def signature(key: str = ADMIN, **changes: str | None) -> str:
    consumer, token, secret = key.split(":")
    values = {
        "oauth_version": "1.0",
        "oauth_signature_method": "PLAINTEXT",
        "oauth_consumer_key": consumer,
        "oauth_token": token,
        "oauth_signature": f"%26{secret}",
        "oauth_timestamp": str(int(time.time())),
        "oauth_nonce": f"{os.getpid()}-{next(_nonces)}",
    }
    pairs = {**values, **{f"oauth_{name}": value for name, value in changes.items()}}
    return ", ".join(['OAuth realm="OAuth"', *(f'{name}="{value}"' for name, value in pairs.items() if value)])


class Maas:
    """A client of a simulator that knows nothing but paths, and the clock of the simulator (None: real time)."""

    def __init__(self, url: str, key: str = ADMIN, clock: VirtualClock | None = None) -> None:
        self.url, self.key, self.clock = url, key, clock

    def by(self, key: str) -> "Maas":
        return Maas(self.url, key, self.clock)

    def call(self, method: str, path: str, *, signed: bool = True, **options: Any) -> requests.Response:
        url = f"{self.url}{path}" if path.startswith("/") else f"{self.url}{API}{path}"
        headers = options.pop("headers", {})
        if signed:
            moment = self.clock.now() if self.clock else time.time()
            headers = {"Authorization": signature(self.key, timestamp=str(int(moment))), **headers}
        return HTTP.request(method, url, headers=headers, timeout=PATIENCE, **options)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **form: Any) -> requests.Response:
        return self.call("POST", path, data=form or {"comment": "test"})

    def id_of(self, hostname: str) -> str:
        (machine,) = self.get(f"machines/?hostname={hostname}")
        return str(machine["system_id"])

    def one(self, hostname: str) -> Any:
        return self.get(f"machines/?hostname={hostname}")[0]

    def do(self, hostname: str, operation: str, **form: Any) -> requests.Response:
        return self.post(f"machines/{self.id_of(hostname)}/?op={operation}", **form)

    def ask(self, hostname: str, operation: str) -> Any:
        return self.get(f"machines/{self.id_of(hostname)}/?op={operation}")

    def watch(self, hostname: str, label: str) -> Any:
        """Let time pass until the machine has the label; return the machine."""
        self.clock.until(lambda: self.one(hostname)["status_name"] == label)
        return self.one(hostname)

    def control(self, method: str, path: str, **options: Any) -> Any:
        answer = HTTP.request(method, f"{self.url}/simulator/{path}", timeout=PATIENCE, **options)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def put(self, **machine: Any) -> str:
        """Put a machine there, or change it, and return its id."""
        shown = self.control("POST", "machines", data=json.dumps([machine]))
        return next(str(each["system_id"]) for each in reversed(shown) if each["machine"] == machine["hostname"])

    def path_of(self, hostname: str) -> list[str | None]:
        """Return the statuses that the machine has gone through."""
        (machine,) = [each for each in self.control("GET", "machines") if each["machine"] == hostname]
        return [each["to"] for each in machine["changes"] if each["kind"] == "status"]

    def faults(self, *faults: dict[str, Any]) -> None:
        self.control("POST", "faults", data=json.dumps(faults))


StartMaas = Callable[..., Maas]


_names = itertools.count(1)


def fresh(maas: Maas, status: str = "Ready", **values: Any) -> str:
    """Put a machine of its own name there."""
    name = f"fresh-{next(_names)}"
    maas.put(hostname=name, status=status, **values)
    return name


def simulator(scenario: str = "", **options: Any) -> tuple[MaasSimulator, VirtualClock]:
    """Return a MAAS that plays the given scenario, and its clock, which only the test moves."""
    clock = options.pop("clock", None) or VirtualClock()
    options = {"accounts": ACCOUNTS, **options, "machines": read_machines(options.get("machines", []))}
    return MaasSimulator(parse_scenario(scenario), clock=clock, **options), clock
