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

from shipyard_api.domain.rollout.policy.pacing import Pacing
from shipyard_api.workflow.attempts import Attempts
from shipyard_api.workflow.turn import Engine
from tests.model.database import Rows
from tests.model.states import Scope
from tests.model.turns import SNAPSHOT, STANDBY


@dataclass(frozen=True, slots=True)
class Mutation:
    """``broken``: the rule that does not hold any more; ``property``: a part of what the model says then."""

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
        "begun twice",
    ),
    Mutation(
        "settling sends",
        "after a stop, a search that finds nothing ends the intent",
        Attempts._intend_again,
        "ends(claim, unit)",
        "False",
        STOP,
        "after the stop",
    ),
    Mutation(
        "a marker names the turn",
        "a marker follows from the effect, and from nothing else",
        Attempts.begin,
        "effect=unit.identity(stored)",
        'effect={**unit.identity(stored), "turn": claim.epoch}',
        LOST,
        "begun twice",
    ),
    Mutation(
        "the search comes before the request has settled",
        "an intent without outcome is looked into settle seconds after it was last sent",
        Attempts.resume,
        "timedelta(seconds=self._settle)",
        "timedelta(0)",
        PLAIN,
        "begun twice",
    ),
    Mutation(
        "nothing is too late",
        "a request leaves within half of settle",
        Attempts._attempted,
        "return TooLate()",
        "pass",
        PLAIN,
        "begun twice",
    ),
    Mutation(
        "no fence",
        "a write with the epoch of an earlier turn changes nothing",
        Rows._fenced,
        "claim.epoch != self.now_is.epoch",
        "False",
        OPEN,
        "a later one has begun",
    ),
    Mutation(
        "an urgent turn ignores the attempt",
        "a stop waits for the outcome of what was sent",
        Engine._decide,
        "claim.intent is not None and not claim.intent.repeatable",
        "False",
        STOP,
        "does not know of",
    ),
    Mutation(
        "holds are read before the lock",
        "the transaction that writes an intent reads the holds behind the lock that a hold takes",
        Rows.held,
        "self._waits()\n    known = self.now_is.holds",
        "known = self.now_is.holds\n    self._waits()",
        HOLD,
        "which is held",
    ),
    Mutation(
        "a search that finds nothing reads no holds",
        "what is sent once more is asked for like what is sent first",
        Attempts._intend_again,
        "if touches and (holds",
        "if not touches and (holds",
        HOLD,
        "which is held",
    ),
    Mutation(
        "the look before the first request is left out",
        "what a peer keeps no mark of is looked for before it is first sent",
        Attempts._attempted,
        "unit.unmarked(attempt.asked)",
        "False",
        COPY,
        "begun twice",
    ),
    Mutation(
        "the window is asked once a group",
        "a window is asked for each node that begins",
        Pacing._window,
        "    if windows is None:",
        "    if windows is None or any(map(situation.has_begun, self.members[group])):",
        WINDOW,
        "after the window has closed",
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
