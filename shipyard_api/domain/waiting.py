"""What a running action waits for (product, section 3: silence is visible and bounded)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from msgspec import Struct

from shipyard_api.domain.approvals import WaveGate
from shipyard_api.domain.findings import in_short
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.reconciliation import Doubt

ITEMS = "work items"
"""Who a step waits for whose items all go on."""
_MOST = 3


class Awaited(Struct, frozen=True):
    """What a step waits for: a peer or person (``who``), and for which work and in which state (``what``).

    ``last_answer``: the latest answer in one sentence, also one that could not be used. ``answered``: it could.
    ``deadline``: when the step stops waiting, None if it does not. ``doubt``: what an operator is asked to answer.
    ``gates``: the approvals that are open; None: those of the wait before.
    """

    who: str
    what: str
    last_answer: str = ""
    answered: bool = False
    deadline: datetime | None = None
    doubt: Doubt | None = None
    gates: tuple[WaveGate, ...] | None = ()

    def after(self, before: "WaitingFor | None", now: datetime, next_attempt: datetime | None = None) -> "WaitingFor":
        """Return the wait as it continues the one ``before``: if it is for the same, it began when that began."""
        same = before if before is not None and (before.who, before.what) == (self.who, self.what) else None
        known = before if before is not None and before.who == self.who else None
        return WaitingFor(
            self.who,
            self.what,
            same.since if same else now,
            self.last_answer or (known.last_answer if known else ""),
            now if self.answered else (known.answered_at if known else None),
            next_attempt,
            self.deadline or (same.deadline if same else None),
            self.doubt,
            self.gates if self.gates is not None else before.gates if before else (),
        )


class WaitingFor(Struct, frozen=True):
    """What an action waits for since ``since``. ``answered_at``: when ``who`` last gave a usable answer.

    ``next_attempt``: when it is asked again; None while a request is on its way, or if nothing is asked.
    ``doubt``: what an operator is asked to answer. ``gates``: the approvals that are open.
    """

    who: str
    what: str
    since: datetime
    last_answer: str = ""
    answered_at: datetime | None = None
    next_attempt: datetime | None = None
    deadline: datetime | None = None
    doubt: Doubt | None = None
    gates: tuple[WaveGate, ...] = ()

    def is_for(self, other: "WaitingFor | None") -> bool:
        """Return whether both wait for the same; then no journal line distinguishes them."""
        return other is not None and (self.who, self.what) == (other.who, other.what)

    def to_json(self) -> JsonObject:
        """Return the stored form."""
        doubt = {"doubt": self.doubt.to_json()} if self.doubt else {}
        gates = {"gates": [gate.to_json() for gate in self.gates]} if self.gates else {}
        return {
            "who": self.who,
            "what": self.what,
            "since": _text(self.since),
            "last_answer": self.last_answer,
            "answered_at": _text(self.answered_at),
            "next_attempt": _text(self.next_attempt),
            "deadline": _text(self.deadline),
            **doubt,
            **gates,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> Self:
        """Return the wait from its stored form."""
        return cls(
            stored["who"],
            stored["what"],
            datetime.fromisoformat(stored["since"]),
            stored["last_answer"],
            _moment(stored["answered_at"]),
            _moment(stored["next_attempt"]),
            _moment(stored["deadline"]),
            Doubt.from_json(stored["doubt"]) if "doubt" in stored else None,
            tuple(WaveGate.from_json(gate) for gate in stored.get("gates", ())),
        )


def of_items(step: str) -> Awaited:
    """Return what a step waits for that has open work items."""
    return Awaited(ITEMS, f"the items of {step}")


def of_doubt(action: str, doubt: Doubt) -> Awaited:
    """Return that an action waits for what only a person knows, with the command that asks for it."""
    return Awaited("operator", f"answers: shipyard reconcile {action}", str(doubt), doubt=doubt, gates=None)


def together(waits: Sequence[WaitingFor]) -> WaitingFor | None:
    """Return several waits as one: since the first began, until the first ends; None without any."""
    if not waits:
        return None
    in_order = sorted(waits, key=lambda wait: (wait.since, wait.who, wait.what))
    awaited = dict.fromkeys(wait.what for wait in in_order)
    answers = dict.fromkeys(wait.last_answer for wait in in_order[:_MOST] if wait.last_answer)
    return WaitingFor(
        ", ".join(dict.fromkeys(wait.who for wait in in_order)),
        in_short(awaited, _MOST, "; "),
        in_order[0].since,
        "; ".join(answers),
        max((wait.answered_at for wait in waits if wait.answered_at), default=None),
        min((wait.next_attempt for wait in waits if wait.next_attempt), default=None),
        min((wait.deadline for wait in waits if wait.deadline), default=None),
    )


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _moment(stored: Any) -> datetime | None:
    return datetime.fromisoformat(stored) if stored else None
