"""How much of a rollout may be in flight at once (product, section 3, beyond the seed)."""

from enum import Enum
from typing import NamedTuple


class OnTimeout(Enum):
    """What a timeout of a phase does to its group; the values are the words of the deployment configuration."""

    FAIL_GROUP = "fail_group"
    JUDGE_CRITERIA = "judge_criteria"


class Mode(NamedTuple):
    """How much may be in flight at once, and when a node is deployed. The default is one group after another.

    ``max_nodes_in_flight`` is None for no bound. ``deploy_as_prepared``: once the group can no longer
    miss its prepare criteria, a node is deployed without waiting for the others to be prepared.
    """

    max_parallel_groups: int = 1
    max_nodes_in_flight: int | None = None
    deploy_as_prepared: bool = False
    on_timeout: OnTimeout = OnTimeout.FAIL_GROUP

    @property
    def wants_progress(self) -> bool:
        """Whether nodes of a move count as done before the move has ended."""
        return self.deploy_as_prepared or self.max_nodes_in_flight is not None


SERIAL = Mode()
