"""Decide which nodes of a rollout may begin now, and else why not and until when (product, section 13).

The rollout asks before each move, with its situation at that moment; nothing else knows the policy. A node *begins*
with the first move of the action that sends it. A policy only ever stops nodes from beginning, with one exception: a
wave that has missed its threshold does not deploy what it has prepared, as a group that failed its preparation does
not.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import datetime
from math import ceil
from typing import Any

from msgspec import Struct, field

from shipyard_api.domain.groups import GroupStatus, Phase
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.policy.budgets import BudgetUse, Domain, domains, of_ways
from shipyard_api.domain.rollout.policy.gates import Answer, Gate, GateState, Unmet, standing
from shipyard_api.domain.rollout.policy.pace import Admission, Blocked, Situation, Stop, WavePlace, WaveState
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.policy.waves import REST, Course, courses
from shipyard_api.domain.rollout.policy.windows import Unit
from shipyard_api.domain.rollout.ways import NO_WAYS, Ways
from shipyard_api.domain.strategy.criteria import shortfalls
from shipyard_api.domain.strategy.strategy import GroupName


class Progress(Struct):
    """What of a policy's course does not follow from the statuses of nodes: when waves ended, and answers of gates.

    ``unmet``: the newest answer of a gate that does not pass it, or why there is none; it is shown and not stored.
    """

    ended: dict[WavePlace, datetime] = field(default_factory=dict)
    answers: dict[WavePlace, dict[int, Answer]] = field(default_factory=dict)
    unmet: dict[tuple[WavePlace, int], str] = field(default_factory=dict)

    def copy(self) -> "Progress":
        """Return a progress that changes by itself."""
        answers = {place: dict(answers) for place, answers in self.answers.items()}
        return Progress(dict(self.ended), answers, dict(self.unmet))

    def to_json(self) -> dict[str, Any]:
        """Return the stored form."""
        return {
            "ended": [[course, wave, at.isoformat()] for (course, wave), at in self.ended.items()],
            "answers": [
                [course, wave, index, answer.passed, answer.at.isoformat(), answer.by, answer.detail]
                for (course, wave), answers in self.answers.items()
                for index, answer in answers.items()
            ],
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> "Progress":
        """Return the progress from its stored form."""
        ended = {(course, wave): datetime.fromisoformat(at) for course, wave, at in stored.get("ended", ())}
        progress = cls(ended)
        for course, wave, index, passed, at, by, detail in stored.get("answers", ()):
            answer = Answer(passed, datetime.fromisoformat(at), by, detail)
            progress.answers.setdefault((course, wave), {})[index] = answer
        return progress


class Pace:
    """A policy applied to the groups of a rollout; without a rule it admits all. Only its ``progress`` changes.

    ``refuses``: whether it can ever refuse a node. Then a group moves in the parts that are admitted; otherwise nothing
    but ``admit`` is asked. ``has_waves``: whether nodes follow each other in waves.
    """

    def __init__(
        self,
        policy: Policy,
        members: Mapping[GroupName, frozenset[NodeName]],
        *,
        at_once: int | None = None,
        uncounted: frozenset[NodeName] = frozenset(),
        progress: Progress | None = None,
        ways: Ways = NO_WAYS,
    ) -> None:
        """``at_once``: how many nodes may be in flight, None for no bound. ``progress``: None at the begin.

        ``uncounted``: nodes that are in no budget, and neither good nor bad for the threshold of their wave.
        ``ways``: the running servers that are interrupted: few are away together, and none begins after a failed group.
        """
        self.policy, self.members, self.uncounted, self.ways = policy, members, uncounted, ways
        self.progress = progress or Progress()
        self._at_once = at_once
        self.courses = courses(policy.waves, members, policy.chosen) if policy.waves else ()
        self._course_of = {course.group: course for course in self.courses}
        self.has_waves = bool(self.courses)
        self.refuses = self.has_waves or bool(policy.budgets or policy.windows or ways.interrupted)
        nodes = dict.fromkeys(sorted(frozenset[NodeName]().union(*members.values()) - uncounted))
        self._bounds = of_ways(ways, at_once)
        self.domains = (*domains(policy.budgets, nodes, policy.topology), *self._bounds)
        self._domains_of: dict[NodeName, list[Domain]] = {}
        for domain in self.domains:
            for node in domain.nodes:
                self._domains_of.setdefault(node, []).append(domain)

    def leaving_out(self, nodes: frozenset[NodeName]) -> "Pace":
        """Return the same policy with these nodes uncounted, and all others counted."""
        if nodes == self.uncounted or not self.refuses:
            return self
        return Pace(
            self.policy,
            self.members,
            at_once=self._at_once,
            uncounted=nodes,
            progress=self.progress,
            ways=self.ways,
        )

    def copy(self) -> "Pace":
        """Return the same policy with a progress of its own."""
        other = copy(self)
        other.progress = self.progress.copy()
        return other

    def admit(
        self, situation: Situation, group: GroupName, phase: Phase, nodes: Collection[NodeName], now: datetime
    ) -> Admission:
        """Return which nodes of a group, in order of name, may enter the phase now, and why others may not.

        Preparation begins nodes.
        """
        if not self.refuses:
            return Admission(nodes)
        if phase is Phase.DEPLOY:
            return self._deployable(situation, group, nodes, now)
        return self._beginning(situation, group, nodes, now)

    def _beginning(
        self, situation: Situation, group: GroupName, nodes: Collection[NodeName], now: datetime
    ) -> Admission:
        """Return which of a group's nodes may begin now, in their order, and why others may not."""
        refused: list[tuple[Blocked, Sequence[NodeName]]] = []
        candidates: list[NodeName] = []
        by_wave, reasons = self._by_wave(situation, group, nodes, now)
        for place, part in by_wave.items():
            if reason := reasons.get(place) or self._window(situation, group, place, now):
                refused.append((reason, part))
            else:
                candidates.extend(part)
        admitted: list[NodeName] = []
        uses: dict[Domain, BudgetUse] = {}
        order = {node: position for position, node in enumerate(nodes)}
        for node in sorted(candidates, key=order.__getitem__):
            concerned = self._domains_of.get(node, ())
            for domain in concerned:
                if domain not in uses:
                    uses[domain] = use_of(domain, situation)
            if full := next((use for domain in concerned if (use := uses[domain]).full), None):
                refused.append((Blocked(str(full.domain), full.full, never=full.overdrawn), (node,)))
                continue
            admitted.append(node)
            for domain in concerned:
                uses[domain].taken += 1
        return Admission(tuple(admitted), tuple(refused))

    def _deployable(
        self, situation: Situation, group: GroupName, nodes: Collection[NodeName], now: datetime
    ) -> Admission:
        """Return which of a group's prepared nodes may be deployed now, in their order.

        Unless the group streams, a node that the action has prepared waits while another one of its group and wave is
        being prepared or could begin now. So all that may begin are prepared before any is deployed (seed 000,
        Process).
        """
        together = group not in situation.streaming
        begun = [node for node in nodes if situation.has_begun(node)]
        admission = self._beginning(situation, group, [node for node in nodes if node not in {*begun}], now)
        ready = set(admission.nodes)
        for place, part in self._by_wave(situation, group, begun, now)[0].items():
            if not self._is_stopped(situation, group) and not (
                together and self._is_preparing(situation, group, place, now)
            ):
                ready.update(part)
        return Admission(tuple(node for node in nodes if node in ready), admission.refused)

    def _is_stopped(self, situation: Situation, group: GroupName) -> bool:
        course = self._course(group)
        return course is not None and self._stopped_by(self._states(course, situation)) is not None

    def _is_preparing(self, situation: Situation, group: GroupName, place: int, now: datetime) -> bool:
        """Return whether a node of the group's wave is being prepared or could begin now."""
        course = self._course(group)
        nodes = self.members[group] & course.waves[place][1] if course else self.members[group]
        waiting = [node for node in sorted(nodes) if situation.nodes[node] is NodeStatus.NOT_STARTED]
        if any(node in situation.in_flight for node in waiting):
            return True
        able = [node for node in waiting if situation.may_begin(node)]
        return bool(able) and bool(self._beginning(situation, group, able, now).nodes)

    def wave(self, place: WavePlace) -> tuple[str, frozenset[NodeName]]:
        """Return the name and the nodes of a wave. Raises LookupError without such a wave."""
        course, number = place
        wave, nodes = self._course_of[GroupName(course) if course else None].waves[number]
        return wave.name, nodes

    def answer(self, place: WavePlace, index: int, answer: Answer | Unmet) -> None:
        """Keep the answer of a gate; one that does not pass it is only shown."""
        if isinstance(answer, Unmet):
            self.progress.unmet[place, index] = answer.detail
        else:
            self.progress.answers.setdefault(place, {})[index] = answer

    def to_json(self) -> JsonObject | None:
        """Return the stored form of the progress, None of a pace that refuses nothing."""
        return self.progress.to_json() if self.refuses else None

    def waves_of(self, group: GroupName) -> Sequence[tuple[str, frozenset[NodeName]]]:
        """Return the waves of a group in order, each with the members in it; without waves, all are the last one."""
        members, course = self.members[group], self._course(group)
        if course is None:
            return [(REST, members)]
        return [(wave.name, part) for wave, nodes in course.waves if (part := nodes & members)]

    def waves(self, situation: Situation) -> Iterator[tuple[Course, list[WaveState]]]:
        """Return the state of every wave."""
        for course in self.courses:
            yield course, self._states(course, situation)

    def stops(self, situation: Situation, now: datetime) -> Iterator[Stop]:
        """Return the nodes that no rule will ever let begin. Bad waves also stop what they have prepared."""
        for course, states in self.waves(situation):
            if (bad := self._stopped_by(states)) is not None:
                why = "; ".join(map(str, bad.missed))
                left = course.wave_of.keys() - situation.in_flight
                yield _stop(_wave_rule(course, bad.name), why, (node for node in left if not situation.has_ended(node)))
            elif failed := self._failed_gate(course, states, now):
                place, gate = failed
                later = (node for node, wave in course.wave_of.items() if wave > place[1])
                detail = f": {gate.failed.detail}" if gate.failed and gate.failed.detail else ""
                by = f" by {gate.failed.by}" if gate.failed else ""
                rule = _wave_rule(course, states[place[1]].name)
                yield _stop(rule, f"{gate.gate} was refused{by}{detail}", filter(situation.may_begin, later))
        for domain in self.domains:
            if spent := use_of(domain, situation).spent:
                yield _stop(str(domain), spent, filter(situation.may_begin, domain.nodes))
        if self.ways.interrupted and GroupStatus.FAILED in situation.groups.values():
            group = next(name for name, status in situation.groups.items() if status is GroupStatus.FAILED)
            interrupted = filter(situation.may_begin, self.ways.interrupted & situation.nodes.keys())
            yield _stop("on-change", f"group {group} has failed, so no further server is interrupted", interrupted)
        if self.policy.windows and self.policy.windows.opening(now, 0.0) is None:
            every = (node for node in situation.nodes if situation.may_begin(node))
            yield _stop("windows", "no window begins within a year", every)

    def observe(self, situation: Situation, now: datetime) -> tuple[WaveState, ...]:
        """Note when waves ended, and return those that have ended since the last call."""
        news: list[WaveState] = []
        for state in (state for _, states in self.waves(situation) for state in states):
            if not state.ended:
                self.progress.ended.pop(state.place, None)
            elif state.begun and state.place not in self.progress.ended:
                self.progress.ended[state.place] = now
                news.append(state)
        return tuple(news)

    def _course(self, group: GroupName) -> Course | None:
        return self._course_of.get(group) or self._course_of.get(None)

    def _states(self, course: Course, situation: Situation) -> list[WaveState]:
        return [self._wave(course, place, situation) for place in range(len(course.waves))]

    def _wave(self, course: Course, place: int, situation: Situation) -> WaveState:
        wave, nodes = course.waves[place]
        lost = sum(map(situation.is_lost, nodes))
        begun = sum(map(situation.has_begun, nodes))
        # The order of groups comes first: nodes whose group cannot begin yet hold no later wave up.
        ended = not any(
            not situation.has_ended(node) and (course.group is not None or situation.can_move(node)) for node in nodes
        )
        counted = nodes - self.uncounted
        bad = sum(map(situation.is_lost, counted))
        missed = shortfalls(wave.threshold, members=len(counted), successful=len(counted) - bad)
        return WaveState((course.name, place), wave.name, len(nodes), begun, lost, ended, missed)

    def _stopped_by(self, states: Sequence[WaveState]) -> WaveState | None:
        """Return the wave after which nothing more begins, because too many in a row were bad."""
        in_a_row, limit = 0, self.policy.waves.stop_after if self.policy.waves else 1
        for state in states:
            if state.missed:
                in_a_row += 1
                if in_a_row >= limit:
                    return state
            elif state.ended:
                in_a_row = 0
            else:
                return None
        return None

    def _by_wave(
        self, situation: Situation, group: GroupName, nodes: Collection[NodeName], now: datetime
    ) -> tuple[Mapping[int, list[NodeName]], Mapping[int, Blocked]]:
        """Return the nodes of each wave, and why waves may not begin."""
        course = self._course(group)
        if course is None:
            return {0: list(nodes)}, {}
        by_wave: dict[int, list[NodeName]] = {}
        for node in nodes:
            by_wave.setdefault(course.wave_of[node], []).append(node)
        states = self._states(course, situation)
        reasons: dict[int, Blocked] = {}
        if (bad := self._stopped_by(states)) is not None:
            why = "; ".join(map(str, bad.missed))
            return by_wave, dict.fromkeys(by_wave, Blocked(_wave_rule(course, bad.name), why, never=True))
        for place in sorted(by_wave):
            if reason := self._before(course, states[:place], now):
                reasons[place] = reason
        return by_wave, reasons

    def _before(self, course: Course, earlier: Sequence[WaveState], now: datetime) -> Blocked | None:
        """Return why a wave may not begin, from those before it."""
        for state in earlier:
            rule = _wave_rule(course, state.name)
            if not state.ended:
                return Blocked(rule, f"{state.name} has not ended")
            gates = course.waves[state.place[1]][0].gates
            if not gates or not state.begun:
                continue
            ended, answers = self.progress.ended.get(state.place), self.progress.answers.get(state.place, {})
            if ended is None:
                return Blocked(rule, f"{state.name} has just ended", until=now)
            if (gate := standing(gates, ended, answers, now)) is not None:
                unmet = self.progress.unmet.get((state.place, gate.index), "")
                never = gate.failed is not None
                return Blocked(rule, f"{gate.gate}", gate.until, (state.place, gate), unmet, never)
        return None

    def _failed_gate(
        self, course: Course, states: Sequence[WaveState], now: datetime
    ) -> tuple[WavePlace, GateState] | None:
        blocked = self._before(course, states, now)
        return blocked.gate if blocked is not None and blocked.gate and blocked.never else None

    def _window(self, situation: Situation, group: GroupName, place: int, now: datetime) -> Blocked | None:
        """Return why no node of a wave may begin now, if no window is open for long enough."""
        windows = self.policy.windows
        if windows is None:
            return None
        return windows.blocked(now, self._seconds(situation, group, place, windows.unit))

    def _seconds(self, situation: Situation, group: GroupName, place: int, unit: Unit) -> float:
        """Return the seconds of what begins with a wave of the group and must end inside the window.

        Of the wave and of those after it, only the nodes that have not begun yet: what has begun ends in any case.
        """
        members, course = self.members[group], self._course(group)
        if unit is Unit.SERVER:
            down = any(node in members and situation.may_begin(node) for node in self.ways.reinstalled)
            return self.policy.length(1, None, taken_down=int(down))
        waves: Sequence[tuple[frozenset[NodeName], Sequence[Gate]]] = [(members, ())]
        if course is not None:
            last = None if unit is Unit.GROUP else place + 1
            waves = [(nodes & members, wave.gates) for wave, nodes in course.waves[place:last]]
        left = ((frozenset(filter(situation.may_begin, nodes)), gates) for nodes, gates in waves)
        return sum(self._length(nodes, gates) for nodes, gates in left if nodes)

    def _length(self, nodes: frozenset[NodeName], gates: Sequence[Gate]) -> float:
        """Return the seconds that these nodes take; bounds of interrupted servers make turns of them."""
        bounds = ((domain.away or domain.unavailable or 0, domain.nodes & nodes) for domain in self._bounds)
        turns = max((ceil(len(part) / most) for most, part in bounds if most), default=1)
        down = len(nodes.intersection(self.ways.reinstalled))
        return self.policy.length(len(nodes), self._at_once, gates, turns=turns, taken_down=down)


ALL_AT_ONCE = Pace(Policy(), {})
"""The pace of a rollout without a policy."""


def use_of(domain: Domain, situation: Situation) -> BudgetUse:
    """Return how much of a budget is used."""
    counts = situation.is_unavailable if domain.away is None else situation.is_away
    return BudgetUse(domain, sum(map(counts, domain.nodes)), sum(map(situation.is_lost, domain.nodes)))


def _wave_rule(course: Course, name: str) -> str:
    return f"wave {name} of group {course.group}" if course.group is not None else f"wave {name}"


def _stop(rule: str, why: str, nodes: Iterable[NodeName]) -> Stop:
    return Stop(rule, why, tuple(sorted(nodes)))
