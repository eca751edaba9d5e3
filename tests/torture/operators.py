"""What operators do to a tortured site: they create actions, control them, hold nodes, approve and refuse."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

from falcon.testing import Result

from shipyard_api.domain.actions import ActionId
from tests.torture.plan import Deed
from tests.torture.world import World

TENDS = 30.0  # seconds between two looks at what waits for an operator
CONTROLS = ("pause", "unpause", "stop")
CREATED = 201
CLASSES = ("all", "no_deployment", "no_teardown", "no_criteria")


class Operators:
    """The people of a site. They ask again when the API cannot write; in the end they let everything go on."""

    def __init__(self, world: World) -> None:
        self.world, self.dice = world, Random(f"operators {world.plan.seed}")
        self.waiting = list(world.plan.actions)
        self.holds: list[str] = []
        self.refused: list[str] = []
        self._retried: set[str] = set()
        self._has_pods = False
        self._keys = itertools.count(1)
        for deed in world.plan.operators:
            self._plan(deed)
        world.later(TENDS, self._tend)

    @property
    def is_quiet(self) -> bool:
        """Whether all faults are over."""
        return self.world.clock.seconds > self.world.plan.quiet

    def is_over(self) -> bool:
        """Create the next action if none goes on; return whether there is none left."""
        world = self.world
        if not world.has_database or world.open_actions():
            return False
        if not self.waiting:
            return True
        self._next()
        return False

    def _next(self) -> None:
        if self.world.actions and not self._has_pods:
            self._has_pods = True
            self.world.populate()
        name, parameters = self.waiting.pop(0)
        if name == "commit":
            is_committed = self.world.try_commit(**parameters)
            self.world.history.add("operator", "commit", "ok" if is_committed else "fail", value=dict(parameters))
            if not is_committed:
                self.waiting.insert(0, (name, parameters))
                self.world.clock.advance(TENDS)
            return
        self._create("/actions", {"name": name, "parameters": dict(parameters)}, (name, parameters))

    def _create(self, path: str, body: Any, again: Any) -> None:
        key = f"key-{next(self._keys)}"
        answer = self._ask("POST", path, body, key)
        if self.world.unheard and answer.status_code == CREATED:
            self.world.unheard -= 1
            unheard, answer = answer, self._ask("POST", path, body, key)
            if answer.status_code in (200, CREATED) and answer.json["id"] != unheard.json["id"]:
                self.world.complaints.append(f"{key} created {unheard.json['id']} and {answer.json['id']}")
        if answer.status_code in (200, CREATED):
            self._accepted(answer)
        elif answer.status_code >= 500 and again:
            self.waiting.insert(0, again)
            self.world.clock.advance(1.0)
        else:
            self.refused.append(f"{body or path}: {answer.json.get('message', answer.text)}")

    def _accepted(self, answer: Result) -> None:
        action = ActionId(answer.json["id"])
        self.world.actions.append(action)
        self.world.accepted.append(action)

    def _ask(self, method: str, path: str, body: Any = None, key: str = "") -> Result:
        """Send a request, and record it with its answer."""
        world = self.world
        answer = world.ask(method, path, body, key=key)
        if world.has_database:
            world.history.read()
        value = {"method": method, "path": path, "status": answer.status_code, **({"body": body} if body else {})}
        world.history.add("operator", "request", "ok" if answer.status_code < 400 else "fail", value=value)
        return answer

    # Deeds at their time.

    def _plan(self, deed: Deed) -> None:
        self.world.later(deed.at, lambda: self._do(deed))

    def _do(self, deed: Deed) -> None:
        if not self.world.has_database:
            return  # people see that, and leave it
        if deed.kind in CONTROLS:
            for action in self.world.open_actions()[-1:]:
                self._ask("POST", f"/actions/{action}/control/{deed.kind}")
        elif deed.kind == "hold":
            body = {"reason": "new disk", "class": deed.value["class"]}
            answer = self._ask("POST", f"/nodes/{deed.value['node']}/holds", body)
            if answer.status_code == CREATED:
                self.holds.append(answer.json["id"])
        elif deed.kind == "release" and self.holds:
            self._ask("DELETE", f"/holds/{self.holds.pop(0)}")
        elif deed.kind == "create":
            name, parameters = deed.value["action"]
            answer = self._ask("POST", "/actions", {"name": name, "parameters": parameters})
            if answer.status_code == CREATED:
                self._accepted(answer)

    def _tend(self) -> None:
        """Look what waits for a person, and answer; when faults are over, let everything go on."""
        self.world.later(TENDS, self._tend)
        if not self.world.has_database:
            return
        for action in self.world.open_actions():
            self._answer_gates(action)
            self._answer_doubts(action)
            if self.is_quiet:
                self._let_go_on(action)
        if self.is_quiet:
            while self.holds:
                self._ask("DELETE", f"/holds/{self.holds.pop()}")
        self._retry()

    def _answer_gates(self, action: str) -> None:
        asked = self.world.ask("GET", f"/actions/{action}/approvals")
        for gate in asked.json["waiting"] if asked.status_code == 200 else ():
            if self.is_quiet or self.dice.random() < 0.5:
                named = {name: gate[name] for name in ("group", "wave") if gate[name]}
                body = {"approve": self.dice.random() < 0.85, "reason": "fans", **named}
                self._ask("POST", f"/actions/{action}/approvals", body)

    def _answer_doubts(self, action: str) -> None:
        """Say whose the jobs are that Drydock cannot show: the world knows who sent them."""
        asked = self.world.ask("GET", f"/actions/{action}/reconciliation")
        held = asked.json["held"] if asked.status_code == 200 else []
        jobs = sorted({job["job"] for doubt in held for job in doubt["jobs"]})
        if jobs and (self.is_quiet or self.dice.random() < 0.5):
            foreign = self.world.foreign
            said = {
                "ours": [job for job in jobs if job not in foreign],
                "others": [job for job in jobs if job in foreign],
            }
            body = {whose: named for whose, named in said.items() if named}
            self._ask("PATCH", f"/actions/{action}/reconciliation", body)

    def _let_go_on(self, action: str) -> None:
        state = self.world.virtual.one("SELECT state FROM actions WHERE id = %s", (action,))[0]
        if state == "paused":
            self._ask("POST", f"/actions/{action}/control/unpause")

    def _retry(self) -> None:
        """Retry an action that has failed, once, in some of the cases."""
        if self.world.open_actions():
            return
        query = "SELECT id FROM actions WHERE state = 'failed' ORDER BY id DESC LIMIT 1"
        for (action,) in self.world.virtual.all(query):
            if action not in self._retried:
                self._retried.add(action)
                if self.dice.random() < self.world.plan.retries:
                    self._create(f"/actions/{action}/control/retry", None, None)
