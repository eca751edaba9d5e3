"""A rollout with a policy as a state machine: moves, outcomes, time, answers and restarts come in any order."""

from __future__ import annotations

import json
from datetime import timedelta
from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shipyard_api.domain.groups import Phase
from shipyard_api.domain.nodes import NodeName, NodeStatus
from shipyard_api.domain.rollout.enforcing import blocked, enforce
from shipyard_api.domain.rollout.membership import Membership
from shipyard_api.domain.rollout.moves import Mode, Move, Outcome
from shipyard_api.domain.rollout.policy.gates import Answer
from shipyard_api.domain.rollout.policy.pacing import Pace, Progress
from shipyard_api.domain.rollout.policy.policy import Policy
from shipyard_api.domain.rollout.rollout import Rollout
from tests.property.sites import Site, modes, sites
from tests.property.test_rollout_policy import BEGIN, Watcher, few, judge_move, policies, seeds

LONGEST = 2_000
"""Steps to the end of a rollout at most."""


class PacedRollout(RuleBasedStateMachine):
    """Each move is judged against the policy by the oracle, which knows moves and outcomes only."""

    rollout: Rollout

    @initialize(site=sites(queues=True, timeouts=False), policy=policies, mode=modes, spared=few, seed=seeds)
    def begin(self, site: Site, policy: Policy, mode: Mode, spared: frozenset[NodeName], seed: int) -> None:
        self.site, self.policy, self.mode, self.now, self.dice = site, policy, mode, BEGIN, Random(seed)
        self.membership = Membership(site.strategy, site.members)
        self.rollout = Rollout(site.strategy, site.members, mode, self.pace(Progress()))
        known = [node for node in self.rollout.nodes if node in spared]
        self.rollout.restore(nodes=dict.fromkeys(known, NodeStatus.PREPARED), spared=known)
        self.watcher = Watcher(site, mode)
        self.watcher.status.update(dict.fromkeys(known, NodeStatus.PREPARED))
        self.enforced()

    def pace(self, progress: Progress) -> Pace:
        return Pace(self.policy, self.site.members, at_once=self.mode.max_nodes_in_flight, progress=progress)

    def enforced(self) -> None:
        enforce(self.rollout, self.now)
        self.watcher.withheld = set(self.rollout.withheld)

    @precondition(lambda self: self.rollout.next_move(self.now) is not None)
    @rule()
    def start(self) -> None:
        move = self.rollout.next_move(self.now)
        assert move is not None
        judge_move(self.watcher, self.policy, move, self.now)
        for node in move.nodes:
            self.watcher.begun.setdefault(node, self.now)
            self.watcher.away[node] = 1
        self.rollout.start(move)
        self.enforced()

    @precondition(lambda self: bool(self.rollout.running))
    @rule()
    def end(self) -> None:
        move = self.dice.choice(self.rollout.running)
        outcome = self.site.fate.outcome(move)
        self.rollout.finish(move, outcome)
        for node in move.nodes:
            self.settle(move, node, outcome)
        self.enforced()

    @precondition(lambda self: bool(self.rollout.running))
    @rule()
    def progress(self) -> None:
        move = self.dice.choice(self.rollout.running)
        outcome = self.site.fate.outcome(move)
        seen = [node for node in self.rollout.unsettled(move) if not outcome.never_begun and self.dice.random() < 0.5]
        good = frozenset(seen) & outcome.succeeded
        self.rollout.progress(move, Outcome(good), frozenset(seen) - good)
        for node in seen:
            self.settle(move, node, outcome)
        self.enforced()

    def settle(self, move: Move, node: NodeName, outcome: Outcome) -> None:
        self.watcher.away[node] = 0
        if outcome.never_begun:
            self.watcher.given_up.add(node)
        elif node in outcome.succeeded:
            self.watcher.status[node] = NodeStatus.PREPARED if move.phase is Phase.PREPARE else NodeStatus.SUCCESS
        else:
            self.watcher.status[node] = NodeStatus.FAILURE

    @rule(seconds=st.sampled_from([1, 60, 600, 3_600, 36_000]))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)
        self.enforced()

    @rule(passed=st.booleans())
    def answer(self, passed: bool) -> None:
        reason = blocked(self.rollout, self.now)
        if reason is not None and reason.gate is not None:
            place, gate = reason.gate
            self.rollout.pace.answer(place, gate.index, Answer(passed, self.now, "ops"))
            self.enforced()

    @rule()
    def restart(self) -> None:
        """Go on from what is stored, as the next turn does."""
        old = self.rollout
        stored = json.loads(json.dumps(old.pace.to_json()))
        self.rollout = Rollout.resumed(
            self.membership,
            self.mode,
            self.pace(Progress.from_json(stored or {})),
            nodes=dict(old.nodes),
            groups=dict(old.groups),
            reasons=dict(old.reasons),
            running=list(old.running),
            batches=old.batches,
            in_queue=set(old.in_queue),
            spared=set(old.spared),
            withheld=dict(old.withheld),
        )
        self.rollout.leave_out(old.uncounted)
        assert self.rollout.next_move(self.now) == old.next_move(self.now)
        assert blocked(self.rollout, self.now) == blocked(old, self.now)

    @rule(uncounted=few)
    def count(self, uncounted: frozenset[NodeName]) -> None:
        self.watcher.uncounted = uncounted
        self.rollout.leave_out(uncounted)
        self.enforced()

    @invariant()
    def it_never_waits_for_nothing(self) -> None:
        if not self.rollout.done and not self.rollout.running and self.rollout.next_move(self.now) is None:
            reason = blocked(self.rollout, self.now)
            assert reason is not None, "stuck for no reason"
            assert reason.until or reason.gate, f"stuck: {reason}"

    def teardown(self) -> None:
        """Whatever has happened so far, the rollout ends."""
        for _ in range(LONGEST):
            if self.rollout.done:
                return
            if self.rollout.next_move(self.now) is not None:
                self.start()
            elif self.rollout.running:
                self.end()
            else:
                reason = blocked(self.rollout, self.now)
                assert reason is not None
                self.now = max(self.now, reason.until or self.now)
                self.answer(self.dice.random() < 0.5)
                self.enforced()
        raise AssertionError("the rollout does not end")


TestPacedRollout = PacedRollout.TestCase
