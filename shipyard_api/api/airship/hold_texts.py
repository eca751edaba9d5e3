"""The sentences about nodes that are held."""

from collections.abc import Sequence

from shipyard_api.api.airship.text_rows import NAMED, Text, named
from shipyard_api.domain import errors as domain
from shipyard_api.domain.findings import Finding, error
from shipyard_api.domain.holds import Hold, by_node


def held(failed: domain.NodesHeld) -> Text:
    """Return the text of a refusal that holds cause."""
    nodes = by_node(failed.holds)
    which = "; ".join(f"node {node} is {why}" for node, why in list(nodes.items())[:NAMED])
    more = f"; and {len(nodes) - NAMED} more" if len(nodes) > NAMED else ""
    return Text(
        "Nodes are held",
        f"{which}{more}. Release the holds, or use the parameter force=true if the policy allows you to override them.",
        _holds(failed.holds),
    )


def not_overridden(failed: domain.HoldsNotOverridden) -> Text:
    """Return the text for a caller who may not override the holds."""
    nodes = named(list(by_node(failed.holds)))
    return Text(
        "Forbidden",
        f"The credentials do not permit to override holds with force=true, and {nodes} is held",
        _holds(failed.holds),
    )


def _holds(holds: Sequence[Hold]) -> Sequence[Finding]:
    """Return a finding for each hold, so that all of them are in the list of messages."""
    return [error("NodeHeld", f"Hold {hold.id}: node {hold.node} is {hold}.") for hold in holds]
