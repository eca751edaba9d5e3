"""The hardware of nodes, compared with what the design expects (product, section 15).

One place compares: a rollout before it sends nodes, plans, commits, drift and the page of a node ask it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from shipyard_api.domain.documents import BAREMETAL_NODE, Rendering, Revision
from shipyard_api.domain.findings import DocumentRef, Finding, info, warning
from shipyard_api.domain.hardware.compare import Compared, compare
from shipyard_api.domain.hardware.expected import SCHEMA, Expectations, chosen_mode, read_expected
from shipyard_api.domain.hardware.features import Value, by_feature, features_of
from shipyard_api.domain.hardware.seen import Aspect, NotSeen, SeenHardware, SeenNodes
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import SchemaCheck
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.storage.unit_of_work import Store

MOST_NAMED = 10  # sentences in one message
MOST_POLLS = 10  # readings for one answer to a person


@dataclass(frozen=True, slots=True)
class Hardware:
    """The comparison. ``rendered`` raises UnknownRevision and RenderingFailed.

    ``store``: keeps what was seen last of each node, for the search for causes; None: nothing is kept.
    """

    rendered: Callable[[Revision], Rendering]
    check: SchemaCheck
    provisioner: Provisioner
    store: Store | None = None

    def expected(self, revision: Revision) -> Expectations:
        """Return what a revision expects of its nodes; nothing if it cannot be read, or compares none."""
        try:
            rendering = self.rendered(revision)
        except (RenderingFailed, UnknownRevision):
            return {}
        if SCHEMA not in rendering.kept:
            rendering.kept[SCHEMA] = read_expected(rendering, self.check)[0] if chosen_mode(rendering) else {}
        expected: Expectations = rendering.kept[SCHEMA]
        return expected

    def compared(self, revision: Revision, nodes: Collection[NodeName] | None = None, *, polls: int = 1) -> Compared:
        """Return how nodes, by default all of the design, differ. Raises ports.errors.

        ``polls``: how often inventories are read at most. Nodes that no poll has reached are ``unread``.
        """
        expected = self.expected(revision)
        chosen = sorted(expected if nodes is None else (node for node in nodes if node in expected))
        if not chosen:
            return Compared()
        aspects = frozenset[Aspect]().union(*{expected[node].aspects for node in chosen})
        seen: dict[NodeName, SeenHardware | NotSeen] = {}
        for _ in range(polls):
            left = [node for node in chosen if node not in seen]
            read = self.seen(left, aspects) if left else {}
            if not read:
                break
            seen.update(read)
        return compare(expected, seen, chosen)

    def seen(self, nodes: Collection[NodeName], aspects: frozenset[Aspect]) -> SeenNodes:
        """Return what the provisioner has seen of these nodes, and keep their features. Raises ports.errors."""
        read = self.provisioner.capabilities.inventory
        if read is None:
            return dict.fromkeys(nodes, NotSeen(f"{self.provisioner.name} shows no hardware of servers"))
        found = read(nodes, aspects)
        features = {node: features_of(seen) for node, seen in found.items() if isinstance(seen, SeenHardware)}
        if self.store is not None and features:
            with self.store.begin() as tx:
                tx.observations.keep_seen(features)
        return found

    def seen_features(self, nodes: Collection[NodeName]) -> Mapping[str, Mapping[NodeName, Value]]:
        """Return what any process has seen last of these nodes, by feature; asks no peer."""
        return {} if self.store is None else by_feature(self.store.read(lambda tx: tx.observations.seen(nodes)))

    def findings(self, revision: Revision, nodes: Collection[NodeName] | None = None) -> Sequence[Finding]:
        """Return what a person should know of the hardware before a deployment of this revision; never an error.

        ``nodes``: those that are deployed, None for all of the design. Raises ports.errors.
        """
        compared = self.compared(revision, nodes, polls=MOST_POLLS)
        found = []
        if differing := list(compared.sentences()):
            number = len(compared.mismatches)
            message = f"{number} server{' has' if number == 1 else 's have'} other hardware or cabling than expected: "
            finding = warning("HardwareDiffers", f"{message}{listed(differing)}")
            documents = tuple(DocumentRef(BAREMETAL_NODE, node) for node in sorted(compared.mismatches))
            found.append(replace(finding, documents=documents))
        if compared.unknown:
            message = f"Not compared with the expected hardware: {listed(unknown(compared.unknown))}"
            found.append(info("HardwareUnknown", message))
        if compared.unread:
            message = f"The hardware of {len(compared.unread)} servers has not been read yet; ask again to go on."
            found.append(info("HardwareNotRead", message))
        return found


def listed(sentences: Sequence[str]) -> str:
    """Return sentences as the end of a message."""
    omitted = f"; and {len(sentences) - MOST_NAMED} more" if len(sentences) > MOST_NAMED else ""
    return f"{'; '.join(sentences[:MOST_NAMED])}{omitted}."


def unknown(reasons: Mapping[NodeName, str]) -> list[str]:
    """Return a sentence for each reason, with the nodes that share it."""
    by_reason: dict[str, list[NodeName]] = {}
    for node, why in sorted(reasons.items()):
        by_reason.setdefault(why, []).append(node)
    return [f"{_named(nodes)}: {why}" for why, nodes in by_reason.items()]


def _named(nodes: Sequence[NodeName]) -> str:
    omitted = f" and {len(nodes) - MOST_NAMED} more" if len(nodes) > MOST_NAMED else ""
    return f"{', '.join(nodes[:MOST_NAMED])}{omitted}"
