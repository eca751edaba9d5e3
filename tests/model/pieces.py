"""Run one piece of a worker's turn: from where it stands to the end of its next contact with the world.

The engine's own code runs, from the beginning of the turn each time: what the earlier contacts gave is given again,
then the next one happens for real, and there the turn is left. So a turn can be left and taken up between any two
contacts, at any later time, without a thread, and a worker's place is a value: what it has seen since its turn began.

Contacts are transactions that write, and requests to the peer. The clock is read between them, as the code has it.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from shipyard_api.domain.actions import ActionName
from shipyard_api.ports.state.errors import StoreUnavailable
from shipyard_api.workflow.turn import Engine
from tests.model.database import ACTION, NAME, Rows, action_id
from tests.model.item_rows import ItemRows


class Suspended(BaseException):  # not an error: a turn is left here, and nothing of ours may catch it
    """The turn has had its contact with the world."""


class Seen(NamedTuple):
    """What one call outside gave to the turn. ``key``: what distinguishes it from other answers."""

    key: Hashable
    value: Any
    contact: bool = False


Log = tuple[Seen, ...]


@dataclass(slots=True)
class Choices:
    """The choices of one piece: those that are given, then the first of each; ``options``: how many there were."""

    given: tuple[int, ...] = ()
    options: list[int] = None  # type: ignore[assignment]
    place: int = 0

    def __post_init__(self) -> None:
        self.options = []

    def choose(self, among: int) -> int:
        """Return the choice here, of so many."""
        self.options.append(among)
        self.place += 1
        return self.given[self.place - 1] if self.place <= len(self.given) else 0

    def following(self) -> tuple[int, ...] | None:
        """Return the next choices to try, None after the last ones."""
        taken = [*self.given, *[0] * (len(self.options) - len(self.given))][: len(self.options)]
        while taken and taken[-1] + 1 >= self.options[len(taken) - 1]:
            taken.pop()
        return (*taken[:-1], taken[-1] + 1) if taken else None


class Outside:
    """Everything that the engine's code touches: store, clock and peer, of the piece that runs now."""

    def __init__(self) -> None:
        self.piece: Piece | None = None

    # The store.

    @contextmanager
    def begin(self) -> Iterator[Any]:
        piece = self._piece
        if piece.replays:
            recorded: list[Seen] = piece.again()
            yield Replayed(iter(recorded))
            return
        rows = piece.surroundings.begin()
        seen: list[Seen] = []
        place = len(piece.log)
        piece.saw(None, seen)
        yield Recording(rows, seen)
        wrote = piece.surroundings.commit(rows)
        piece.log[place] = Seen(tuple(entry.key for entry in seen), seen)
        if wrote:
            raise Suspended

    def read(self, query: Callable[[Any], Any]) -> Any:
        """Return the nodes that no criterion counts: none is held that way."""
        return frozenset()

    # The clock.

    def now(self) -> datetime:
        piece = self._piece
        if piece.replays:
            moment: datetime = piece.again()
            return moment
        moment = piece.surroundings.now()
        piece.saw(moment, moment)
        return moment

    def monotonic(self) -> float:
        piece = self._piece
        if piece.replays:
            seconds: float = piece.again()
            return seconds
        seconds = piece.surroundings.monotonic()
        piece.saw(seconds, seconds)
        return seconds

    def ask(self, what: Callable[[], tuple[Hashable, Any]]) -> Any:
        """Return the answer of the peer, which is raised if it is an error."""
        piece = self._piece
        if piece.replays:
            answer = piece.again()
        else:
            key, answer = what()
            piece.saw(key, answer, contact=True)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def _piece(self) -> "Piece":
        if self.piece is None:
            raise AssertionError("the engine runs outside of a piece")
        return self.piece


class Piece:
    """One piece. ``surroundings``: the world as it is now, which the piece changes."""

    def __init__(self, log: Log, surroundings: Any) -> None:
        self.log = list(log)
        self.surroundings = surroundings
        self._known = len(log)
        self._place = 0

    @property
    def replays(self) -> bool:
        """Whether the turn has not reached the place yet where it was left."""
        return self._place < self._known

    def again(self) -> Any:
        """Return what was seen here."""
        value = self.log[self._place].value
        self._place += 1
        return value

    def saw(self, key: Hashable, value: Any, *, contact: bool = False) -> None:
        """Keep what was seen; leave the turn after a contact."""
        self.log.append(Seen(key, value, contact))
        if contact:
            raise Suspended


class Recording:
    """A transaction whose answers are kept; ``rows`` have those of items beside them."""

    def __init__(self, rows: Rows, seen: list[Seen]) -> None:
        self.turns = self.journal = self.actions = _Recorded(rows, seen)
        self.items = _Recorded(ItemRows(rows), seen)


class _Recorded:
    """The rows of one sort, whose answers are kept."""

    def __init__(self, rows: Rows | ItemRows, seen: list[Seen]) -> None:
        self._rows = rows
        self._seen = seen

    def inputs(self, _action: object) -> dict[str, Any]:
        """Return the inputs of the action; the state of its step has them."""
        return {}

    def name(self, _action: object) -> ActionName:
        """Return the name of the action."""
        return NAME

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._rows, name)

        def recorded(*args: Any, **named: Any) -> Any:
            value = method(*args, **named)
            self._seen.append(Seen(self._rows.key_of(name, value), value))
            return value

        return recorded


class Replayed:
    """A transaction that is over: it answers as it did."""

    def __init__(self, answers: Iterator[Seen]) -> None:
        self._answers = answers
        self.turns = self.journal = self.items = self.actions = self

    def inputs(self, _action: object) -> dict[str, Any]:
        """Return the inputs of the action; the state of its step has them."""
        return {}

    def name(self, _action: object) -> ActionName:
        """Return the name of the action."""
        return NAME

    def __getattr__(self, _name: str) -> Any:
        return self._next

    def _next(self, *_args: object, **_named: object) -> Any:
        return next(self._answers).value


def run_piece(engine: Engine, outside: Outside, log: Log, surroundings: Any, unit: str) -> Log | None:
    """Run a turn from the place where it was left to its next contact; return the place then, None at its end.

    ``unit``: the number of an action, else a turn of the next item that is due.

    Whatever ends a turn of ours, fenced or without a database, ends it here: the worker is idle again.
    """
    piece = outside.piece = Piece(log, surroundings)
    try:
        if unit.isdecimal():
            engine.turn(action_id(int(unit)))
        else:
            engine.items.turn(ACTION, "run")
    except Suspended:
        return tuple(piece.log)
    except (surroundings.FENCED, StoreUnavailable):
        return None
    finally:
        outside.piece = None
    return None
