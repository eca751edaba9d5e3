"""Gates: what must hold after a wave before the next one begins (product, section 13).

The gates of a wave follow each other. Each begins when the one before it is passed, the first when the wave has ended.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum

from msgspec import Struct

_SHOWN = 120  # characters of a query in texts


class GateKind(Enum):
    """What a gate asks; the values are the words of the deployment configuration."""

    SOAK = "soak"
    QUERY = "query"
    APPROVAL = "approval"


class AtLimit(Enum):
    """What happens when a gate was not passed in time."""

    GO_ON = "go_on"
    STOP = "stop"
    PAUSE = "pause"


class Gate(Struct, frozen=True):
    """``seconds``: how long a soak lasts. ``limit``: seconds until ``at_limit``, None for no limit; a soak has none.

    ``query``: what must hold. ``strict``: it does not while the peer gives no answer; otherwise it then does.
    """

    kind: GateKind
    seconds: float = 0.0
    limit: float | None = None
    at_limit: AtLimit = AtLimit.STOP
    query: str = ""
    strict: bool = True

    def __str__(self) -> str:
        if self.kind is GateKind.QUERY:
            return f"query {self.query}" if len(self.query) <= _SHOWN else f"query {self.query[:_SHOWN]} …"
        return f"soak of {self.seconds:g} s" if self.kind is GateKind.SOAK else self.kind.value


class Answer(Struct, frozen=True):
    """How a gate was answered, when and by whom: a person, a peer, or ``limit`` for its time limit."""

    passed: bool
    at: datetime
    by: str
    detail: str = ""


class Met(Struct, frozen=True):
    """A peer's answer that passes a gate, from the moment at which it is folded."""

    by: str
    detail: str


class Unmet(Struct, frozen=True):
    """A peer's answer that does not pass a gate yet, or why there is none."""

    detail: str


class GateState(Struct, frozen=True):
    """The gate of a wave that is not passed. ``failed``: nothing more begins. ``until``: when that may change.

    ``paused``: its limit has passed, and a person decides.
    """

    index: int
    gate: Gate
    since: datetime
    failed: Answer | None = None
    paused: bool = False
    until: datetime | None = None

    @property
    def asks_person(self) -> bool:
        """Whether a person's approval passes the gate."""
        return self.paused or self.gate.kind is GateKind.APPROVAL

    @property
    def outlook(self) -> str:
        """Until when the gate may be passed, and what happens then, as a sentence without its full stop."""
        if self.until is None:
            return f"{self.gate} has no time limit{' any more' if self.paused else ''}"
        until = f"{self.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return f"{self.gate} may be passed until {until}; then {_THEN[self.gate.at_limit]}"


_THEN = {
    AtLimit.GO_ON: "the next nodes begin without it",
    AtLimit.STOP: "nothing more begins",
    AtLimit.PAUSE: "a person decides",
}


def standing(gates: Sequence[Gate], ended: datetime, answers: Mapping[int, Answer], now: datetime) -> GateState | None:
    """Return the first gate that is not passed, None if all are. ``ended``: when the wave ended."""
    since = ended
    for index, gate in enumerate(gates):
        answer = answers.get(index)
        if answer is not None and answer.passed:
            since = max(since, answer.at)
            continue
        if answer is not None:
            return GateState(index, gate, since, failed=answer)
        if gate.kind is GateKind.SOAK:
            end = since + timedelta(seconds=gate.seconds)
            if now < end:
                return GateState(index, gate, since, until=end)
            since = end
            continue
        if gate.limit is None:
            return GateState(index, gate, since)
        end = since + timedelta(seconds=gate.limit)
        if now < end:
            return GateState(index, gate, since, until=end)
        if gate.at_limit is AtLimit.GO_ON:
            since = end
            continue
        late = Answer(False, end, "limit", f"not passed within {gate.limit:g} s")
        stopped = gate.at_limit is AtLimit.STOP
        return GateState(index, gate, since, failed=late if stopped else None, paused=not stopped)
    return None
