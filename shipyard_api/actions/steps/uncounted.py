"""The nodes of a rollout that no criterion and no budget counts: those with a hold of the class ``no_criteria``."""

from shipyard_api.actions.steps.rollout_state import RolloutState
from shipyard_api.domain.facts.actions import Noted
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.nodes import NodeName
from shipyard_api.storage.unit_of_work import Store


def ask(store: Store) -> frozenset[NodeName]:
    """Return the nodes that have such a hold now."""
    return store.read(lambda tx: tx.holds.uncounted())


def apply(state: RolloutState, held: frozenset[NodeName] | None) -> tuple[Fact, ...]:
    """Judge without the held nodes from now on, and return the facts of a change. ``held``: None if unknown.

    An action that names its servers counts them all: without them it would always succeed.
    """
    rollout = state.rollout
    if rollout is None or held is None or state.inputs.targets:
        return ()
    before, now = rollout.uncounted, held & rollout.nodes.keys()
    if now == before:
        return ()
    rollout.leave_out(now)
    facts = []
    if added := sorted(now - before):
        facts.append(Noted("Nodes Not Counted", f"held, and in no criteria or budget from now on: {', '.join(added)}"))
    if ended := sorted(before - now):
        facts.append(Noted("Nodes Counted", f"counted again, because the hold has ended: {', '.join(ended)}"))
    return tuple(facts)
