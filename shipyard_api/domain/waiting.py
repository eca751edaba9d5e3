"""What a running action waits for (product, section 3: silence is visible and bounded)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from shipyard_api.domain.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class Awaited:
    """What a step waits for: a peer or person (``who``), and for which work and in which state (``what``).

    ``last_answer``: the latest answer in one sentence, also one that could not be used. ``answered``: it could.
    ``deadline``: when the step stops waiting, None if it does not.
    """

    who: str
    what: str
    last_answer: str = ""
    answered: bool = False
    deadline: datetime | None = None

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
        )


@dataclass(frozen=True, slots=True)
class WaitingFor:
    """What an action waits for since ``since``. ``answered_at``: when ``who`` last gave a usable answer.

    ``next_attempt``: when it is asked again; None while a request is on its way, or if nothing is asked.
    """

    who: str
    what: str
    since: datetime
    last_answer: str = ""
    answered_at: datetime | None = None
    next_attempt: datetime | None = None
    deadline: datetime | None = None

    def is_for(self, other: "WaitingFor | None") -> bool:
        """Return whether both wait for the same; then no journal line tells them apart."""
        return other is not None and (self.who, self.what) == (other.who, other.what)

    def to_json(self) -> JsonObject:
        """Return the stored form, which is the form on the wire as well."""
        return {
            "who": self.who,
            "what": self.what,
            "since": _text(self.since),
            "last_answer": self.last_answer,
            "answered_at": _text(self.answered_at),
            "next_attempt": _text(self.next_attempt),
            "deadline": _text(self.deadline),
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
        )


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _moment(stored: Any) -> datetime | None:
    return datetime.fromisoformat(stored) if stored else None
