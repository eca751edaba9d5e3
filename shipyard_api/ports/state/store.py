"""The store and its transactions, each of which is kept or undone as a whole."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from shipyard_api.ports.state.actions import Actions
from shipyard_api.ports.state.deploy_templates import DeployTemplates
from shipyard_api.ports.state.holds import Holds
from shipyard_api.ports.state.items import Items
from shipyard_api.ports.state.journal import Journal
from shipyard_api.ports.state.measures import Measures
from shipyard_api.ports.state.nodes import Nodes
from shipyard_api.ports.state.retention import Retention
from shipyard_api.ports.state.sightings import Sightings
from shipyard_api.ports.state.software import Software
from shipyard_api.ports.state.stragglers import Stragglers
from shipyard_api.ports.state.task_results import TaskResults
from shipyard_api.ports.state.tickets import Tickets
from shipyard_api.ports.state.tokens import Tokens
from shipyard_api.ports.state.turns import Turns
from shipyard_api.ports.state.webhooks import Webhooks
from shipyard_api.ports.state.write_limits import WriteLimits

T = TypeVar("T")


class Transaction(Protocol):
    """Everything that one transaction can touch."""

    @property
    def turns(self) -> Turns:
        """The engine's own rows."""

    @property
    def items(self) -> Items:
        """Work items."""

    @property
    def actions(self) -> Actions:
        """Actions."""

    @property
    def journal(self) -> Journal:
        """What happened to actions."""

    @property
    def stragglers(self) -> Stragglers:
        """Stragglers."""

    @property
    def nodes(self) -> Nodes:
        """Nodes over all actions."""

    @property
    def holds(self) -> Holds:
        """Holds on nodes."""

    @property
    def sightings(self) -> Sightings:
        """Nodes as peers showed them when their action had ended."""

    @property
    def retention(self) -> Retention:
        """Old actions and revisions."""

    @property
    def tokens(self) -> Tokens:
        """API tokens."""

    @property
    def tickets(self) -> Tickets:
        """Tickets for event streams."""

    @property
    def webhooks(self) -> Webhooks:
        """The delivery cursors of webhooks."""

    @property
    def write_limits(self) -> WriteLimits:
        """Rate limits for writes."""

    @property
    def deploy_templates(self) -> DeployTemplates:
        """Deploy templates."""

    @property
    def task_results(self) -> TaskResults:
        """Tasks of the software stage, as they went."""

    @property
    def software(self) -> Software:
        """Releases, clusters and their nodes."""

    @property
    def measures(self) -> Measures:
        """Figures for metrics."""


class Store(Protocol):
    """The database. Raises StoreUnavailable when it cannot be reached."""

    def begin(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: committed when the block ends, rolled back when it raises."""

    def read(self, query: Callable[[Transaction], T]) -> T:
        """Return the result of a query. It must change nothing, because it may run twice.

        Faster than a transaction: each statement of the query sees the rows committed by then.
        """
