"""Builders of domain values and documents: a test names what it is about, and the rest is ordinary.

Documents are plain JSON values, as they come out of a YAML stream; domain values are what the parser makes of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from shipyard_api.domain.documents import Revision, RevisionTag
from shipyard_api.domain.facts.fact import Fact
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.rollout.moves import Move, Outcome
from shipyard_api.domain.rollout.rollout import Rollout
from shipyard_api.domain.strategy.criteria import SuccessCriteria
from shipyard_api.domain.strategy.selectors import Selector
from shipyard_api.domain.strategy.strategy import SCHEMA, DeploymentGroup, GroupName, Strategy, parse_strategy
from shipyard_api.ports.documents import DesignStore, Heads


def node(name: str, *, rack: str = "", tags: Iterable[str] = (), labels: Mapping[str, str] | None = None) -> Node:
    """Return a machine of the design."""
    return Node(NodeName(name), rack, frozenset(tags), frozenset((labels or {}).items()))


def selector(
    *,
    names: Iterable[str] = (),
    tags: Iterable[str] = (),
    labels: Iterable[tuple[str, str]] = (),
    racks: Iterable[str] = (),
) -> Selector:
    """Return one selector; a criterion that is not given is empty."""
    return Selector(frozenset(map(NodeName, names)), frozenset(tags), frozenset(labels), frozenset(racks))


def group(
    name: str,
    *,
    critical: bool = False,
    after: Iterable[str] = (),
    selectors: Iterable[Selector] = (),
    percent: int | None = None,
    minimum: int | None = None,
    maximum_failed: int | None = None,
) -> DeploymentGroup:
    """Return a deployment group that waits for the groups in ``after``."""
    return DeploymentGroup(
        GroupName(name),
        critical,
        tuple(map(GroupName, after)),
        tuple(selectors),
        SuccessCriteria(percent, minimum, maximum_failed),
    )


def strategy(*groups: DeploymentGroup) -> Strategy:
    """Return a strategy of these groups, in this order."""
    return Strategy(groups)


def committed(revision: int) -> DesignStore:
    """Return as much of a design store as says which revision is committed; 0: none."""
    newest = {RevisionTag.COMMITTED: Revision(revision)} if revision else {}
    store = SimpleNamespace(heads=lambda: Heads(Revision(revision), newest))
    return cast(DesignStore, store)


def group_entry(name: str, **fields: Any) -> dict[str, Any]:
    """Return a group as it stands in a document: not critical, without parents, of all nodes, unless said otherwise."""
    return {"name": name, "critical": False, "depends_on": [], "selectors": [], **fields}


def document(schema: str, name: str, data: object, /, **metadata: Any) -> dict[str, Any]:
    """Return a document of a site design, as it comes out of a YAML stream; ``metadata`` replaces what is ordinary."""
    return {
        "schema": schema,
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": name,
            "layeringDefinition": {"abstract": False, "layer": "site"},
            "storagePolicy": "cleartext",
            **metadata,
        },
        "data": data,
    }


def layering_policy(*layers: str, name: str = "layering-policy") -> dict[str, Any]:
    """Return the document that puts layers in order, outermost first; without any, those that sites have."""
    return {
        "schema": "deckhand/LayeringPolicy/v1",
        "metadata": {"schema": "metadata/Control/v1", "name": name},
        "data": {"layerOrder": list(layers or ("global", "type", "site"))},
    }


def strategy_document(*groups: Mapping[str, Any], name: str = "deployment-strategy") -> dict[str, Any]:
    """Return a DeploymentStrategy document with these group entries."""
    return document(SCHEMA, name, {"groups": list(groups)})


def node_document(
    name: str,
    *,
    rack: str = "",
    tags: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    host_profile: str | None = None,
    **further: Any,
) -> dict[str, Any]:
    """Return the document of one machine."""
    data: dict[str, Any] = {"metadata": {"rack": rack, "tags": list(tags), "owner_data": dict(labels or {})}, **further}
    if host_profile is not None:
        data["host_profile"] = host_profile
    return document("drydock/BaremetalNode/v1", name, data)


def five_groups_data() -> dict[str, Any]:
    """Return ``data`` of the design's example: time server first, then control, then two racks of compute.

    Monitoring waits for nobody. The groups stand in the order of the design, in which no parent comes first.
    """
    return {
        "groups": [
            group_entry(
                "control-nodes",
                critical=True,
                depends_on=["ntp-node"],
                selectors=[{"node_names": [], "node_labels": [], "node_tags": ["control"], "rack_names": ["rack03"]}],
                success_criteria={
                    "percent_successful_nodes": 90,
                    "minimum_successful_nodes": 3,
                    "maximum_failed_nodes": 1,
                },
            ),
            *(
                group_entry(
                    f"compute-nodes-{number}",
                    depends_on=["control-nodes"],
                    selectors=[
                        {
                            "node_names": [],
                            "node_labels": [],
                            "node_tags": ["compute"],
                            "rack_names": [f"rack0{number}"],
                        }
                    ],
                    success_criteria={"percent_successful_nodes": 50},
                )
                for number in (1, 2)
            ),
            group_entry(
                "monitoring-nodes",
                selectors=[
                    {
                        "node_names": [],
                        "node_labels": [],
                        "node_tags": ["monitoring"],
                        "rack_names": ["rack03", "rack02", "rack01"],
                    }
                ],
            ),
            group_entry(
                "ntp-node",
                critical=True,
                selectors=[{"node_names": ["ntp01"], "node_labels": [], "node_tags": [], "rack_names": []}],
                success_criteria={"minimum_successful_nodes": 1},
            ),
        ]
    }


def five_groups_strategy() -> Strategy:
    """Return the strategy of the design's example."""
    return parse_strategy(five_groups_data())


def five_groups_inventory() -> Inventory:
    """Return a site that fits the example: a time server, 4 control, 2 × 4 compute and 3 monitoring nodes.

    ``control05`` stands in the wrong rack and ``compute31`` too, so that the selectors have something to leave out.
    """
    return Inventory.of(
        [
            node("ntp01", rack="rack03", tags=["ntp"]),
            *(node(f"control0{number}", rack="rack03", tags=["control"]) for number in range(1, 5)),
            node("control05", rack="rack01", tags=["control"]),
            *(node(f"compute1{number}", rack="rack01", tags=["compute"]) for number in range(1, 5)),
            *(node(f"compute2{number}", rack="rack02", tags=["compute"]) for number in range(1, 5)),
            node("compute31", rack="rack03", tags=["compute"]),
            *(node(f"monitoring0{number}", rack=f"rack0{number}", tags=["monitoring"]) for number in range(1, 4)),
        ]
    )


def rollout(*groups: tuple[DeploymentGroup, str]) -> Rollout:
    """Return a rollout of groups, each given with the names of its members as words: ``(group("a"), "n1 n2")``."""
    return Rollout(
        Strategy(tuple(entry for entry, _ in groups)),
        {entry.name: [NodeName(name) for name in members.split()] for entry, members in groups},
    )


def play(rollout: Rollout, *, fail: str = "", time_out: str = "") -> tuple[list[Move], list[Fact]]:
    """Run the rollout to its end and return its moves and facts.

    ``fail`` names the nodes that fail, as words ``phase:node``, such as ``prepare:n2``; ``time_out`` names the phases
    whose time is up before any node is done, as words ``phase:group``.
    """
    failing, too_slow = set(fail.split()), set(time_out.split())
    moves: list[Move] = []
    facts: list[Fact] = []
    while (move := rollout.next_move()) is not None:
        moves.append(move)
        facts += rollout.start(move)
        phase = move.phase.value
        if not move.nodes:
            continue
        if f"{phase}:{move.group}" in too_slow:
            facts += rollout.finish(move, Outcome(timed_out=True))
        else:
            succeeded = (name for name in move.nodes if f"{phase}:{name}" not in failing)
            facts += rollout.finish(move, Outcome(frozenset(succeeded)))
    return moves, facts
