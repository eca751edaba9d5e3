"""Named mutations of the protocol: each breaks one of its rules, and the model must find the shortest way it shows.

A mutation changes the source of one function while it is applied. One whose text is not there any more is an error.
"""

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, cast

from shipyard_api.domain.rollout.policy.pacing import Pace
from shipyard_api.storage.clock import step_of
from shipyard_api.usecases.actions import control
from shipyard_api.workflow.attempts import Attempts
from shipyard_api.workflow.turn import Engine
from tests.model.database import Rows
from tests.model.states import CLOCK, SNAPSHOT, STANDBY, Scope
from tests.model.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class Mutation:
    """``broken``: the rule that does not hold any more; ``property``: the one that this violates, by its name."""

    name: str
    broken: str
    function: Callable[..., Any]
    before: str
    after: str
    scope: Scope
    property: str


STOP = Scope("stop", ticks=5, operator=frozenset({"stop"}))
PAUSE = Scope("pause", ticks=5, operator=frozenset({"pause"}))
HOLD = Scope("hold", ticks=4, operator=frozenset({"hold"}), lock=1)
LOCK = Scope("lock", ticks=4, lock=6)
COPY = Scope("copy", ticks=3, faults=frozenset({SNAPSHOT}))
PLAIN = Scope("plain", ticks=4)
OPEN = Scope("open", ticks=1, fence=False)
ITEMS = Scope("items", ticks=1, nodes=("n1", "n2"), items=True, operator=frozenset({"stop"}))
RETRY = Scope("retry", ticks=1, retry=True, operator=frozenset({"stop", "again", "retry"}))
MACHINES = Scope("machines", ticks=2, marks=True, machines=True)
SET_CLOCK = Scope("set clock", ticks=1, faults=frozenset({CLOCK}), clock=10)
WINDOW = Scope("window", ticks=6, nodes=("n1", "n2"), window=3)
LOST = Scope("lost", ticks=3, marks=True, faults=frozenset({STANDBY}))

MUTATIONS = (
    Mutation(
        "the time of an attempt is read before the lock",
        "the time of an attempt is taken after the last wait",
        Attempts.begin,
        "at, now = self._clock.monotonic(), self._clock.now()",
        "at = self._clock.monotonic()",
        LOCK,
        "once",
    ),
    Mutation(
        "settling sends",
        "after a stop, a search that finds nothing ends the intent",
        Attempts._intend_again,
        "ends(claim, unit)",
        "False",
        STOP,
        "stop",
    ),
    Mutation(
        "a marker names the turn",
        "a marker follows from the effect, and from nothing else",
        Attempts.begin,
        "effect=unit.identity(stored)",
        'effect={**unit.identity(stored), "turn": claim.epoch}',
        LOST,
        "once",
    ),
    Mutation(
        "the search comes before the request has settled",
        "an intent without outcome is looked into settle seconds after it was last sent",
        Attempts.resume,
        "timedelta(seconds=self._settle)",
        "timedelta(0)",
        PLAIN,
        "once",
    ),
    Mutation(
        "nothing is too late",
        "a request leaves within half of settle",
        Attempts._attempted,
        "return TooLate()",
        "pass",
        PLAIN,
        "once",
    ),
    Mutation(
        "no fence",
        "a write with the epoch of an earlier turn changes nothing",
        Rows._fenced,
        "claim.epoch != self.now_is.epoch",
        "False",
        OPEN,
        "fence",
    ),
    Mutation(
        "an urgent turn ignores the attempt",
        "a stop waits for the outcome of what was sent",
        Engine._decide,
        "claim.intent is not None and not claim.intent.repeatable",
        "False",
        STOP,
        "known",
    ),
    Mutation(
        "holds are read before the lock",
        "the transaction that writes an intent reads the holds behind the lock that a hold takes",
        Rows.holds_on,
        "self.waits()\n    known = self.now_is.holds",
        "known = self.now_is.holds\n    self.waits()",
        HOLD,
        "hold",
    ),
    Mutation(
        "a search that finds nothing reads no holds",
        "what is sent once more is asked for like what is sent first",
        Attempts._intend_again,
        "if touches and (holds",
        "if not touches and (holds",
        HOLD,
        "hold",
    ),
    Mutation(
        "a loss changes the identity of the database",
        "what a peer keeps no mark of is looked for first, also where nothing shows a loss",
        Attempts._attempted,
        "unit.unmarked(attempt.asked)",
        "attempt.claim.lost.noticed is not None",
        COPY,
        "once",
    ),
    Mutation(
        "the look before the first request is left out",
        "what a peer keeps no mark of is looked for before it is first sent",
        Attempts._attempted,
        "unit.unmarked(attempt.asked)",
        "False",
        COPY,
        "once",
    ),
    Mutation(
        "the window is asked once a group",
        "a window is asked for each node that begins",
        Pace._window,
        "    if windows is None:",
        "    if windows is None or any(map(situation.has_begun, self.members[group])):",
        WINDOW,
        "window",
    ),
    Mutation(
        "an item settles for its sibling",
        "a step that is stopped ends once each of its items has ended",
        Engine._items_end_first,
        "not tx.items.stop_open(claim, why, now=now)",
        "not tx.items.stop_open(claim, why, now=now) or tx.items.gather(claim)[0]",
        ITEMS,
        "known",
    ),
    Mutation(
        "a retry keeps a newer action's node",
        "a retry repeats what a newer action has lost",
        control._retry_inputs,
        "sorted((kept | deployed) - lost)",
        "sorted(kept | deployed)",
        RETRY,
        "deployed",
    ),
    Mutation(
        "a stale listing is judged",
        "what is done with a machine follows from the machine, read just before",
        Surroundings.advance,
        "machine = machine_of(self._peer.machines, node)",
        "machine = listed",
        MACHINES,
        "once",
    ),
    Mutation(
        "a step of the clock passes for a host that was suspended",
        "only a reading younger than a step proves that this host was suspended instead",
        step_of,
        "min(_AGREES, step - _STEP)",
        "_AGREES",
        SET_CLOCK,
        "once",
    ),
)


@contextmanager
def applied(mutation: Mutation) -> Iterator[None]:
    """Change the function while the block runs."""
    function = cast(FunctionType, mutation.function)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(mutation.before) != 1:
        raise AssertionError(f"{mutation.name}: {function.__qualname__} has not once: {mutation.before}")
    changed = source.replace(mutation.before, mutation.after)
    names: dict[str, Any] = {}
    code = compile(changed, inspect.getfile(function), "exec", dont_inherit=True)
    exec(code, function.__globals__, names)
    kept, function.__code__ = function.__code__, names[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = kept
