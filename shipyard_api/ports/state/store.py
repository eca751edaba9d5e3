"""The store and its transactions, each of which is kept or undone as a whole."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from shipyard_api.ports.state.actions import Actions
from shipyard_api.ports.state.journal import Journal
from shipyard_api.ports.state.nodes import Nodes
from shipyard_api.ports.state.stragglers import Stragglers
from shipyard_api.ports.state.tokens import Tokens
from shipyard_api.ports.state.turns import Turns
from shipyard_api.ports.state.write_limits import WriteLimits

T = TypeVar("T")


class Transaction(Protocol):
    """Everything that one transaction can touch."""

    @property
    def turns(self) -> Turns:
        """The engine's own rows."""

    @property
    def actions(self) -> Actions:
        """Actions and what is shown of them."""

    @property
    def journal(self) -> Journal:
        """What happened to actions."""

    @property
    def stragglers(self) -> Stragglers:
        """Work that was left behind."""

    @property
    def nodes(self) -> Nodes:
        """Nodes over all actions."""

    @property
    def tokens(self) -> Tokens:
        """API tokens."""

    @property
    def write_limits(self) -> WriteLimits:
        """How often each caller has written."""


class Store(Protocol):
    """The database. Raises StoreUnavailable when it cannot be reached."""

    def begin(self) -> AbstractContextManager[Transaction]:
        """Open a transaction; it is kept when the block ends, and undone when the block raises."""

    def read(self, question: Callable[[Transaction], T]) -> T:
        """Return what a question finds; it must change nothing, since it may be asked once more.

        Quicker than a transaction, and none: each statement of the question sees what is kept by then.
        """
