"""Stories of MAAS's API for the simulator: MAAS cannot be installed here, so their answers are those of its contract.

A story may have a ``scenario``, ``machines`` or a ``site`` of the simulator, or be ``open`` to every key. ``<n1>`` is
the id of the machine ``n1``. A request is signed by an administrator, or ``by`` another user; ``oauth`` changes that
header: other values (a number is seconds from now) or another text. Fields are sent as a ``form``: url-encoded, or
``multipart``, ``json``, ``none``; or ``raw``, with a ``type``. A connection that is cut has the status 0. Other steps:

- ``each``: requests, also one with different fields or headers; their answers in short, or the one that all have
- ``in_every_status``: a request for a machine ``<it>`` that was put there, ``with`` these fields: statuses by answer
- ``find``: the names of the machines that queries find
- ``run``: operation ``op`` on machines, each to its end, and their changes since then; without it, all their changes
- ``passes``: this many seconds pass
"""

import itertools
import json
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import requests

from shipyard_simulators.maas.accounts import ApiUser
from shipyard_simulators.maas.simulator import MaasSimulator
from shipyard_simulators.maas.site import read_machines, read_site
from shipyard_simulators.maas.statuses import BY_LABEL
from shipyard_simulators.scenario import parse_scenario
from shipyard_simulators.tests.in_process import HTTP, unserved
from shipyard_simulators.tests.programs import ROOT
from shipyard_simulators.tests.recorded import Answer, Step
from shipyard_simulators.tests.waiting import PATIENCE, VirtualClock

SITES = ROOT / "shipyard_simulators" / "sites"
API = "/MAAS/api/2.0/"
ACCOUNTS = (
    ApiUser("shipyard", "ck1:tk1:ts1"),
    ApiUser("root", "ck2:tk2:ts2"),
    ApiUser("user", "ck3:tk3:ts3", administrator=False),
)
KEYS = {account.name: account.key for account in ACCOUNTS}
LONG = 10_000  # seconds, after which everything has ended that ends at all
_nonces = itertools.count(1)


class MaasPlayer:
    """Plays stories to a MAAS simulator, whose clock it moves (None: real time)."""

    unordered = ()
    hidden: Mapping[str, re.Pattern[str]] = MappingProxyType({})

    def __init__(self, url: str, clock: VirtualClock | None = None) -> None:
        self.url, self.clock = url, clock
        self._ids: dict[str, str] = {}
        self._names = itertools.count(1)

    def ask(self, method: str, path: str, body: Any, step: Step) -> Answer:
        """Send the request of a step."""
        path, body = self._with_ids(path), json.loads(self._with_ids(json.dumps(body)))
        control = path.startswith("/simulator/")
        form = step.get("form", "json" if control else "url" if method in ("POST", "PUT") else "none")
        fields = {"comment": "x"} if body is None and not control else body
        headers: dict[str, str] = {}
        options: dict[str, Any]
        if step.get("oauth", {}) is not None:
            headers["Authorization"] = self._signature(step.get("by", "shipyard"), step.get("oauth", {}))
        if "raw" in step:
            headers["Content-Type"], options = step.get("type", "text/plain"), {"data": step["raw"]}
        elif form == "multipart":
            options = {"files": {name: (None, value) for name, value in fields.items()}}
        else:
            options = {"none": {}, "url": {"data": fields}, "json": {"json": fields}}[form]
        url = self.url + (path if path.startswith("/") else API + path)
        try:
            answer = HTTP.request(method, url, headers=headers, timeout=PATIENCE, allow_redirects=False, **options)
        except requests.ConnectionError:
            return Answer(0, {}, "")
        if method == "DELETE" or url.endswith("/machines/"):
            self._ids = {}
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        text = answer.text if is_json or not answer.content else json.dumps(answer.content.decode("latin-1"))
        for name, system_id in self.ids().items():
            text = text.replace(system_id, f"<{name}>")
        return Answer(answer.status_code, answer.headers, text)

    def told(self, _status: int, body: Any) -> dict[str, Any]:
        """Return an error as it is recorded: ``fault`` is plain text."""
        return {"fault" if isinstance(body, str) else "body": body}

    def act(self, step: Step) -> Any:
        """Carry out a step that is no request."""
        if "find" in step:
            step = {"show": ["hostname"], **step, "each": [f"GET machines/?{query}" for query in step["find"]]}
        if "each" in step:
            varied = [key for key in ("each", "send", "oauth") if isinstance(step.get(key), list)]
            table = zip(*(step[key] for key in varied), strict=True)
            steps = [step | dict(zip(varied, values, strict=True)) for values in table]
            return _one_if_same([self._in_short(one["each"], one) for one in steps])
        if "in_every_status" in step:
            return self._in_every_status(step)
        if "run" in step:
            return _one_if_same([self._run(name, step) for name in step["run"]])
        self.clock.passes(step["passes"])
        return None

    def call(self, request: str, body: Any = None, **step: Any) -> Answer:
        """Send a request, which is its method and path."""
        method, path = request.split(" ", 1)
        return self.ask(method, path, body, step)

    def get(self, path: str, **step: Any) -> Any:
        """Return what is at a path."""
        answer = self.call(f"GET {path}", **step)
        assert answer.status == 200, answer
        return json.loads(answer.text)

    def do(self, name: str, operation: str, **fields: Any) -> Any:
        """Carry out an operation on a machine, which must not be refused; return the machine."""
        answer = self.call(f"POST machines/<{name}>/?op={operation}", fields or None)
        assert answer.status == 200, answer
        return json.loads(answer.text)

    def one(self, name: str) -> Any:
        """Return a machine."""
        return self.get(f"machines/<{name}>/")

    def ids(self) -> dict[str, str]:
        """Return the id of each machine, also of those that were deleted, by its name."""
        self._ids = self._ids or {each["machine"]: each["system_id"] for each in self._machines()}
        return self._ids

    def changes(self, name: str) -> list[str]:
        """Return the statuses that a machine has gone through, and its power."""
        (machine,) = (each for each in self._machines() if each["machine"] == name)
        return [f"power {each['to']}" if each["kind"] == "power" else each["to"] for each in machine["changes"]]

    def _machines(self) -> Any:
        return HTTP.get(f"{self.url}/simulator/machines", timeout=PATIENCE).json()

    def _with_ids(self, text: str) -> str:
        for name, system_id in self.ids().items() if "<" in text else ():
            text = text.replace(f"<{name}>", system_id)
        return text

    def _signature(self, user: str, changes: Any) -> str:
        if isinstance(changes, str):
            return changes
        consumer, token, secret = KEYS.get(user, user).split(":")
        values = {
            "version": "1.0",
            "signature_method": "PLAINTEXT",
            "consumer_key": consumer,
            "token": token,
            "signature": f"%26{secret}",
            "timestamp": 0,
            "nonce": next(_nonces),
            **changes,
        }
        if isinstance(values["timestamp"], int):
            values["timestamp"] += int(self.clock.now() if self.clock else time.time())
        pairs = (f'oauth_{name}="{value}"' for name, value in values.items() if value is not None)
        return ", ".join(['OAuth realm="OAuth"', *pairs])

    def _in_short(self, request: str, step: Step) -> str:
        answer = self.call(request, step.get("send"), **step)
        body, names = json.loads(answer.text or '""'), step.get("show", ["status_name"])
        if answer.status == 200 and ("show" in step or (isinstance(body, dict) and "status_name" in body)):
            items = body if isinstance(body, list) else [body]
            return " ".join("/".join(_text(item[name]) for name in names) for item in items)
        again = f", Retry-After {answer.headers['Retry-After']}:" if "Retry-After" in answer.headers else ""
        return f"{answer.status}{again} {_text(body)}".strip()

    def _in_every_status(self, step: Step) -> dict[str, list[str]]:
        found = defaultdict(list)
        names = {f"it{next(self._names)}": label for label in BY_LABEL}
        machines = [{"hostname": name, "status": label, **step.get("with", {})} for name, label in names.items()]
        HTTP.post(f"{self.url}/simulator/machines", json=machines, timeout=PATIENCE)
        self._ids = {}
        for name, label in names.items():
            answer = self._in_short(step["in_every_status"].replace("<it>", f"<{name}>"), step)
            found[answer.replace(f"'{label}'", "'<label>'")].append(label)
        return dict(found)

    def _run(self, name: str, step: Step) -> list[str]:
        if "op" not in step:
            return self.changes(name)
        before = len(self.changes(name))
        self.do(name, step["op"], **step.get("with", {}))
        self.clock.passes(LONG)
        return self.changes(name)[before:]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _one_if_same(answers: list[Any]) -> Any:
    return answers[0] if all(answer == answers[0] for answer in answers) else answers


@contextmanager
def simulated(scenario: Any = None, *, machines: Any = (), site: str = "", **options: Any) -> Iterator[MaasPlayer]:
    """Run a MAAS that plays a scenario; yield what plays to it, with a clock that only that moves."""
    clock = options.pop("clock", None) or VirtualClock()
    clock.moment = 1_000_000_000.0
    accounts = () if options.pop("open", False) else ACCOUNTS
    seeds = read_site(SITES / f"{site}.yaml") if site else read_machines(machines)
    scenario = parse_scenario(json.dumps(scenario or {}))
    with unserved(MaasSimulator(scenario, machines=seeds, accounts=accounts, clock=clock, **options)) as maas:
        yield MaasPlayer(maas.url, clock)
