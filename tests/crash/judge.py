"""Judges a run by the peer's own log: what was begun on which node, how it ended, and what that means for the groups.

Written without any code of Shipyard's, from the design's words alone (seed 000).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise

from tests.crash.random_plans import Criteria, Group, Plan
from tests.simulated_peers import Begun, Ended

Told = tuple[str, str | None]
"""A status and its reason, as Shipyard reports them."""


@dataclass(frozen=True)
class Judge:
    """A plan, what the peer's log says, and what Shipyard reports.

    ``forgot``: the peer lost jobs in the run, so that Shipyard could not learn how they ended. ``rolled_out``: it says
    that it came to an end with the groups, and did not fail before or in between. ``stopped``: an operator stopped it;
    by ``settled`` all has arrived that was sent before.
    """

    plan: Plan
    begun: list[Begun]
    ended: list[Ended]
    touched: set[str]
    forgot: bool
    rolled_out: bool
    verdict: str
    groups: Mapping[str, Told]
    nodes: Mapping[str, Told]
    stopped: bool = False
    settled: datetime | None = None

    def complaints(self) -> list[str]:
        """Return every promise that was broken."""
        return [
            *self._twice(),
            *self._deployed_unprepared(),
            *(self._worked_on_in_vain() if not self.stopped else ()),
            *self._too_many_at_once(),
            *self._after_the_stop(),
            *self._nodes_told_wrong(),
            *(self._groups_told_wrong() if self.rolled_out and not self.stopped else ()),
            *(["it was stopped, and did not fail"] if self.stopped and self.verdict != "failed" else ()),
            *(["the rollout did not come to its end"] if self.plan.calm and not self.rolled_out else ()),
        ]

    @cached_property
    def _starts(self) -> Mapping[tuple[str, str], list[Begun]]:
        starts = defaultdict(list)
        for one in self.begun:
            starts[one.phase, one.node].append(one)
        return starts

    @cached_property
    def _ends(self) -> Mapping[tuple[str, str], list[Ended]]:
        ends = defaultdict(list)
        for one in self.ended:
            ends[one.phase, one.node].append(one)
        return ends

    @cached_property
    def _timed_out(self) -> bool:
        return any(reason == "timeout" for _status, reason in self.groups.values())

    def _did(self, phase: str, node: str) -> bool:
        return any(one.ok for one in self._ends[phase, node])

    def _twice(self) -> list[str]:
        """No node twice in a phase; also not after its job was forgotten, which counts as lost."""
        return [
            f"{node}: {phase} was begun twice, at {before.at:%H:%M:%S} and {after.at:%H:%M:%S}"
            for (phase, node), starts in self._starts.items()
            for before, after in pairwise(starts)
        ]

    def _deployed_unprepared(self) -> list[str]:
        return [
            f"{one.node}: deployed at {one.at:%H:%M:%S} without having been prepared"
            for one in self.begun
            if one.phase == "deploy" and not any(end.ok and end.at <= one.at for end in self._ends["prepare", one.node])
        ]

    def _worked_on_in_vain(self) -> list[str]:
        """A group that failed whatever may have gone well takes its descendants with it, and its own deployment."""
        prepared = {node for phase, node in self._ends if phase == "prepare" and self._did(phase, node)}
        deployed = {node for phase, node in self._ends if phase == "deploy" and self._did(phase, node)}
        dead: dict[str, str] = {}  # groups that failed for certain: by an ancestor, in prepare, or in deploy
        for group in _parents_first(self.plan):
            if any(parent in dead for parent in group.parents):
                dead[group.name] = "dependency"
            elif not meets(group.criteria, group.members, prepared):
                dead[group.name] = "prepare"
            elif not meets(group.criteria, group.members, deployed):
                dead[group.name] = "deploy"
        for name, (_status, reason) in self.groups.items():
            if reason == "dependency":
                dead.setdefault(name, "dependency")
        found = []
        for node in self.plan.site.nodes:
            ends = {dead.get(group.name) for group in self.plan.groups if node in group.members}
            if ends <= {"dependency"} and node in self.touched:
                found.append(f"{node}: it was touched, and no group holds it of which no ancestor failed")
            if ends <= {"dependency", "prepare"} and self._starts["deploy", node]:
                found.append(f"{node}: it was deployed, and all its groups had failed by the end of their preparation")
        return found

    def _too_many_at_once(self) -> list[str]:
        limit = self.plan.modes.get("max_nodes_in_flight")
        if not limit or self._timed_out or not self.plan.calm:
            return []
        moments = [(one.at, 1, one.node) for one in self.begun] + [(one.at, -1, one.node) for one in self.ended]
        in_flight: set[str] = set()
        for at, change, node in sorted(moments):
            (in_flight.add if change > 0 else in_flight.discard)(node)
            if len(in_flight) > limit:
                return [f"{len(in_flight)} nodes were in flight at {at:%H:%M:%S}, {limit} are allowed"]
        return []

    def _after_the_stop(self) -> list[str]:
        return [
            f"{one.node}: {one.phase} was begun at {one.at:%H:%M:%S}, and what was sent before the stop had arrived"
            for one in self.begun
            if self.settled is not None and one.at >= self.settled
        ]

    def _nodes_told_wrong(self) -> list[str]:
        found = []
        for node, (status, reason) in self.nodes.items():
            wrong = self._wrong(node, status, reason)
            if wrong:
                found.append(f"{node} is {status} ({reason}), but by the log {wrong}")
        held = {node for group in self.plan.groups for node in group.members}
        if self.nodes and set(self.nodes) != held:
            found.append(f"nodes {sorted(set(self.nodes) ^ held)} are told of without being in a group, or not at all")
        unheard = self.touched - set(self.nodes)
        return [*found, *(f"{node} was touched, and nobody tells of it" for node in sorted(unheard))]

    def _wrong(self, node: str, status: str, reason: str | None) -> str:
        """Return why a node cannot be told of like this; empty if it can."""
        prepared, deployed = self._did("prepare", node), self._did("deploy", node)
        if reason == "queue_timeout" and status in ("not_started", "prepared"):
            return ""  # its job was given up in the queue, and may have begun since
        if status == "not_started":
            return "it was touched" if node in self.touched else ""
        if status == "prepared":
            if not prepared:
                return "it was never prepared"
            return "its deployment was begun" if self._starts["deploy", node] else ""
        if status == "success":
            return "" if deployed else "it was never deployed"
        if reason == "timeout":
            return self._in_time(node) if self.plan.calm and "limits" not in self.plan.options else ""
        if self.forgot or self.stopped:
            return ""
        ends = self._ends[str(reason), node]
        if not ends:
            return f"nothing is said of the end of its {reason}"
        return f"its {reason} succeeded" if ends[-1].ok else ""

    def _in_time(self, node: str) -> str:
        """A node that was deployed, and told as such, before its time was up, is no failure."""
        limit = timedelta(seconds=self.plan.modes["deploy_timeout"])
        for start, end in zip(self._starts["deploy", node], self._ends["deploy", node], strict=False):
            if end.ok and end.told is not None and end.told < start.at + limit:
                return f"it was deployed {(end.told - start.at).total_seconds():.0f} s after it had been asked for"
        return ""

    def _groups_told_wrong(self) -> list[str]:
        """Each group must have ended as its members and its parents did.

        Who judges the preparation of a group may know already, or not yet, that a node failed later, by another group
        that holds it: then the group has failed in either case, and either phase may be told as the reason.
        """
        lost = {node for node, told in self.nodes.items() if told == ("failure", "prepare")}
        prepared = {node for node in self.nodes if self._did("prepare", node)} - lost
        failed = {node for node, (status, _reason) in self.nodes.items() if status == "failure"}
        deployed = {node for node, (status, _reason) in self.nodes.items() if status == "success"}
        right: dict[str, tuple[Told, ...]] = {}
        for group in _parents_first(self.plan):
            if any(right[parent] != (_SUCCESS,) for parent in group.parents):
                right[group.name] = (("failed", "dependency"),)
            elif self.groups.get(group.name) == _TIMEOUT and self._may_time_out(group):
                right[group.name] = (_TIMEOUT,)
            elif self.groups.get(group.name) == _NEVER_BEGUN and any(
                self.nodes[node][1] == "queue_timeout" for node in group.members
            ):
                right[group.name] = (_NEVER_BEGUN,)
            elif not meets(group.criteria, group.members, prepared):
                right[group.name] = (("failed", "prepare"),)
            elif not meets(group.criteria, group.members, deployed):
                early = not meets(group.criteria, group.members, prepared - failed)
                right[group.name] = (("failed", "deploy"), *([("failed", "prepare")] if early else []))
            else:
                right[group.name] = (_SUCCESS,)
        found = [
            f"group {name} is {self.groups.get(name)}, but by the log and its parents it should be {told}"
            for name, told in right.items()
            if self.groups.get(name) not in told
        ]
        for group in self.plan.groups:
            # Where only so many nodes may be in flight, the others of a group whose time is up are never sent.
            given_up = right[group.name] == (_TIMEOUT,) and bool(self.plan.modes.get("max_nodes_in_flight"))
            if right[group.name] not in ((("failed", "dependency"),), (_NEVER_BEGUN,)) and not given_up:
                idle = sorted(node for node in group.members if self.nodes[node][0] == "not_started")
                found += [f"{node}: nothing was done about it, although {group.name} was processed" for node in idle]
        lacking = any(group.critical and right[group.name] != (_SUCCESS,) for group in self.plan.groups)
        if (self.verdict == "failed") != lacking:
            found.append(
                f"the action is {self.verdict}, but a critical group {'failed' if lacking else 'did not fail'}"
            )
        return found

    def _may_time_out(self, group: Group) -> bool:
        return any(self.nodes[node] == ("failure", "timeout") for node in group.members)


def going_on(begun: list[Begun], ended: list[Ended]) -> list[Begun]:
    """Return what goes on at the peer: of each phase of a node its newest beginning, if no end came after it.

    The end of an earlier attempt says nothing about the one of a retry.
    """
    last = {(one.phase, one.node): one.at for one in sorted(ended, key=lambda one: one.at)}
    newest = {(one.phase, one.node): one for one in sorted(begun, key=lambda one: one.at)}
    return [one for key, one in newest.items() if key not in last or last[key] < one.at]


def unwatched(begun: list[Begun], ended: list[Ended], held: Collection[str]) -> list[str]:
    """Return what goes on at the peer and is no straggler, although its action has ended.

    ``held``: the nodes of stragglers.
    """
    return [
        f"{one.node}: {one.phase} of {one.at:%H:%M:%S} goes on, and it is no straggler"
        for one in going_on(begun, ended)
        if one.node not in held
    ]


_SUCCESS: Told = ("success", None)
_TIMEOUT: Told = ("failed", "timeout")
_NEVER_BEGUN: Told = ("failed", "queue_timeout")


def meets(criteria: Criteria, members: frozenset[str], good: set[str]) -> bool:
    """Return whether a group meets its criteria with these successful nodes."""
    successful, of = len(members & good), len(members)
    tests = {
        "percent_successful_nodes": lambda wanted: not of or successful * 100 >= wanted * of,
        "minimum_successful_nodes": lambda wanted: successful >= wanted,
        "maximum_failed_nodes": lambda allowed: of - successful <= allowed,
    }
    return all(tests[name](threshold) for name, threshold in criteria.items())


def _parents_first(plan: Plan) -> list[Group]:
    done: dict[str, Group] = {}
    while len(done) < len(plan.groups):
        for group in plan.groups:
            if group.name not in done and all(parent in done for parent in group.parents):
                done[group.name] = group
    return list(done.values())
