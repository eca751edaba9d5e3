"""Budgets: how many nodes may be in flight or lost, over the action or per value of a label (product, section 13)."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.rollout.ways import Ways


class Amount(Struct, frozen=True):
    """A number of nodes, or a percentage of them."""

    number: int
    percent: bool = False

    def __str__(self) -> str:
        return f"{self.number} %" if self.percent else str(self.number)

    def of(self, total: int) -> int:
        """Return the number of nodes, of ``total``; a share of a node is no node."""
        return int(Fraction(self.number, 100) * total) if self.percent else self.number


class Budget(Struct, frozen=True):
    """``by``: the label whose values have the budget each, ``rack`` for the rack; empty: one budget for the action.

    ``max_unavailable``: how many nodes may be in flight or lost at a time. ``max_lost``: nothing more begins when more
    nodes than these are lost. ``max_away``: how many may have begun and not ended. At least one of them is given.
    ``written``: as of a policy; otherwise it follows from the action.
    """

    name: str
    by: str = ""
    max_unavailable: Amount | None = None
    max_lost: Amount | None = None
    max_away: Amount | None = None
    written: bool = True


class Domain(Struct, frozen=True):
    """The nodes that share one budget. ``value``: that of the label; empty for the whole action."""

    budget: Budget
    value: str
    nodes: frozenset[NodeName]

    def allows(self, nodes: Collection[NodeName]) -> bool:
        """Return whether these nodes may be unavailable together."""
        return self.unavailable is None or len(self.nodes.intersection(nodes)) <= self.unavailable

    def __str__(self) -> str:
        value = f" of {self.budget.by} {self.value}" if self.budget.by else ""
        return f"{'budget ' if self.budget.written else ''}{self.budget.name}{value}"

    @property
    def unavailable(self) -> int | None:
        """How many nodes may be in flight or lost; at least one, as soon as a percentage is not 0."""
        amount = self.budget.max_unavailable
        if amount is None:
            return None
        return max(amount.of(len(self.nodes)), 1 if amount.percent and amount.number else 0)

    @property
    def away(self) -> int | None:
        """How many nodes may have begun and not ended."""
        amount = self.budget.max_away
        return None if amount is None else amount.of(len(self.nodes))

    @property
    def lost(self) -> int | None:
        """How many nodes may be lost before nothing more begins."""
        amount = self.budget.max_lost
        return None if amount is None else amount.of(len(self.nodes))


class BudgetUse(Struct):
    """How much of a budget is used. ``taken``: nodes that are in flight or lost; of ``max_away``: that are away."""

    domain: Domain
    taken: int
    lost: int

    @property
    def full(self) -> str:
        """Why no further node may begin, empty if one may."""
        domain = self.domain
        if domain.away is not None and self.taken >= domain.away:
            return f"{self.taken} servers are away, at most {domain.away} allowed"
        if self.overdrawn:
            return f"{self.lost} nodes are lost, at most {domain.lost} allowed"
        if domain.unavailable is not None and self.taken >= domain.unavailable:
            return f"{self.taken} nodes are in flight or lost, at most {domain.unavailable} allowed"
        return ""

    @property
    def spent(self) -> str:
        """Why no further node will ever begin, empty if one may."""
        most = self.domain.unavailable
        if self.overdrawn:
            return self.full
        if most is not None and self.lost >= most:
            return f"{self.lost} nodes are lost, at most {most} may be unavailable"
        return ""

    @property
    def overdrawn(self) -> bool:
        """Whether more nodes are lost than the budget allows."""
        return self.domain.lost is not None and self.lost > self.domain.lost

    @property
    def share(self) -> float:
        """How much of the budget is used: 1 or more if nothing further may begin."""
        domain, limit = self.domain, self.domain.unavailable if self.domain.away is None else self.domain.away
        return max(
            self.taken / limit if limit else 0.0, self.lost / (domain.lost + 1) if domain.lost is not None else 0.0
        )


def domains(
    budgets: tuple[Budget, ...], nodes: Mapping[NodeName, object], topology: Mapping[NodeName, Mapping[str, str]]
) -> tuple[Domain, ...]:
    """Return the nodes of each budget. ``topology``: the value of each label that a budget names, of each node.

    Nodes without the label are in no budget of it; the check of the design reports them.
    """
    budget_domains: list[Domain] = []
    for budget in budgets:
        if not budget.by:
            budget_domains.append(Domain(budget, "", frozenset(nodes)))
            continue
        by_value: dict[str, set[NodeName]] = {}
        for node in nodes:
            if value := topology.get(node, {}).get(budget.by, ""):
                by_value.setdefault(value, set()).add(node)
        budget_domains.extend(Domain(budget, value, frozenset(by_value[value])) for value in sorted(by_value))
    return tuple(budget_domains)


def of_ways(ways: Ways, at_once: int | None) -> tuple[Domain, ...]:
    """Return how many interrupted servers may be away together: one member of an etcd cluster, and ``at_once``.

    ``at_once``: how many nodes may be in flight, None for no bound.
    """
    found = [
        Domain(Budget(f"etcd cluster {name}", max_unavailable=Amount(1), written=False), "", frozenset(members))
        for name, members in sorted(ways.clusters.items())
    ]
    if bounds := [bound for bound in (at_once, ways.at_once) if bound]:
        bound = Budget("max_parallel_nodes", max_away=Amount(min(bounds)), written=False)
        found.append(Domain(bound, "", ways.interrupted))
    return tuple(found)


def batch_size(nodes: Sequence[NodeName], most: int, budgets: Sequence[Domain]) -> tuple[int, Domain | None]:
    """Return the largest batches, up to ``most`` nodes, that keep every budget; and one that forbids larger ones.

    The nodes of a batch are unavailable together. A budget never forbids a single node.
    """
    reason: Domain | None = None
    for size in range(min(most, len(nodes)), 1, -1):
        batches = [nodes[start : start + size] for start in range(0, len(nodes), size)]
        full = next((domain for domain in budgets for batch in batches if not domain.allows(batch)), None)
        if full is None:
            return (most if reason is None else size), reason
        reason = full
    return (most if reason is None else 1), reason
