"""What nodes would be given, compared with the record of what they were given (product, section 14).

One place compares: plans, warnings about templates, and running actions ask it.
"""

import json
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.domain.deploy_steps.planning import RequestedSteps, only
from shipyard_api.domain.deploy_steps.traits import read_node_traits
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.drift.observations import MachineState
from shipyard_api.domain.facts.nodes import NodesLeft
from shipyard_api.domain.findings import Finding, errors
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.site_design import SiteInputs
from shipyard_api.domain.specification.effective import EffectiveDesign
from shipyard_api.domain.specification.given import (
    ALL_STEPS,
    DESIGN,
    STEPS,
    Aspects,
    Given,
    differing,
    each_stepped,
    once,
    vanished,
)
from shipyard_api.domain.specification.impact import NodeImpact, impact_of
from shipyard_api.domain.specification.kinds import Aspect
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.ports.provisioner import Provisioner
from shipyard_api.storage.unit_of_work import Store

_IMAGE = Aspect.IMAGE.value
"""Every design has it; records of earlier releases lack it, and all that follows from documents."""


class Planned(Struct, frozen=True):
    """What an action gives its nodes: the text of the aspects of each that it does not leave alone.

    ``left``: those that it leaves alone and would give something else, in order of name; None without any.
    """

    given: Mapping[NodeName, str] = field(default_factory=dict)
    left: NodesLeft | None = None


class Specifications(Struct, frozen=True):
    """The comparison. ``rendered`` raises UnknownRevision and RenderingFailed; ``fingerprint`` digests secrets.

    ``check``: checks a value against a schema that ships with Shipyard. What another provisioner than this one was told
    of a node says nothing of the machine that this one has.
    """

    store: Store
    rendered: Callable[[Revision], Rendering]
    fingerprint: Callable[[bytes], str]
    provisioner: Provisioner
    check: Callable[[str, object], tuple[Finding, ...]]

    def wanted(
        self, revision: int, nodes: Collection[NodeName], steps: RequestedSteps | None
    ) -> Mapping[NodeName, Aspects]:
        """Return what a revision and these steps give the nodes. Raises UnknownRevision and RenderingFailed.

        ``steps``: those of all templates that the revision chooses; None if they are not asked for.
        """
        design = EffectiveDesign.of(self.rendered(Revision(revision)), self.fingerprint)
        known = (node for node in nodes if node in design.machines.nodes)
        if steps is None:
            return {node: design.digests(node) for node in known}
        of_steps = each_stepped(only(steps, nodes))
        return {node: {**design.digests(node), ALL_STEPS: "", **of_steps.get(node, {})} for node in known}

    def differing(self, wanted: Mapping[NodeName, Aspects]) -> Mapping[NodeName, frozenset[str] | None]:
        """Return the aspects in which nodes were given something else; None: there is no record. Others are left out.

        A record without a design is compared by its revision.
        """
        records = self.records(wanted)
        found = {
            node: differing(records[node].aspects, aspects) if node in records else None
            for node, aspects in wanted.items()
        }
        return {node: aspects for node, aspects in found.items() if aspects is None or aspects}

    def records(self, wanted: Mapping[NodeName, Aspects]) -> Mapping[NodeName, Given]:
        """Return the records of nodes that can be compared with these aspects."""
        stored = self.store.read(lambda tx: tx.specifications.of(wanted.keys()))
        ours = {node: record for node, record in stored.items() if record.provisioner in ("", self.provisioner.name)}
        return self._settled(self._completed(ours, wanted), wanted)

    def impacts(
        self,
        revision: Revision,
        nodes: Collection[NodeName],
        steps: RequestedSteps | None,
        *,
        deployed: Collection[NodeName],
        services: bool,
        software: Mapping[NodeName, str] = MappingProxyType({}),
    ) -> Mapping[NodeName, NodeImpact]:
        """Return the class of these nodes of a revision. Raises UnknownRevision and RenderingFailed.

        ``deployed``: those that the provisioner shows so; ``services``: whether it runs steps on them. ``software``:
        the digests of the tasks that would run, empty for nodes without any; other nodes are not compared in it.
        """
        shown = frozenset(deployed)
        wanted = self.wanted(revision, [node for node in nodes if node in shown], steps)
        wanted = {
            node: {**aspects, Aspect.SOFTWARE.value: software[node]} if node in software else aspects
            for node, aspects in wanted.items()
        }
        records = self.records(wanted)
        return {
            node: impact_of(wanted.get(node, {}), records.get(node), deployed=node in shown, services=services)
            for node in nodes
        }

    def plan(self, inputs: SiteInputs, nodes: frozenset[NodeName], *, services: bool) -> Planned:
        """Return what the action gives these nodes; deployed ones are left alone unless the action interrupts them.

        ``services``: it only runs its steps on them. A design that cannot be read gives nothing that is known. Raises
        ports.errors.
        """
        if services:
            return Planned(_texts(self._serviced(Revision(inputs.revision), only(inputs.deploy_steps, nodes))))
        try:
            wanted = self.wanted(inputs.revision, nodes, inputs.deploy_steps)
        except (RenderingFailed, UnknownRevision):
            return Planned()
        if inputs.targets:
            return Planned(_texts(wanted, self.provisioner.name))
        ways = inputs.ways
        deployed = deployed_of(self.provisioner, nodes) - {*ways.reinstalled}
        serviced = each_stepped(only(inputs.deploy_steps, deployed.intersection(ways.serviced)))
        left = self.differing({node: wanted[node] for node in deployed - serviced.keys() if node in wanted})
        given = {node: aspects for node, aspects in wanted.items() if node not in deployed}
        texts = {**_texts(given, self.provisioner.name), **_texts(serviced)}
        if not left:
            return Planned(texts)
        differs = {node: tuple(sorted(aspects)) for node, aspects in sorted(left.items()) if aspects is not None}
        unknown = tuple(sorted(left.keys() - differs.keys()))
        can_service = not self.provisioner.capabilities.limits.no_service
        return Planned(texts, NodesLeft(tuple(differs), unknown, differs, can_service))

    def _completed(
        self, records: Mapping[NodeName, Given], wanted: Mapping[NodeName, Aspects]
    ) -> Mapping[NodeName, Given]:
        """Return the records with the designs that they lack; without those whose revision cannot be read."""
        completed = dict(records)
        lacking = {
            node: record for node, record in records.items() if _IMAGE not in record.aspects and _IMAGE in wanted[node]
        }
        for revision in {record.revision for record in lacking.values()}:
            nodes = [node for node, record in lacking.items() if record.revision == revision]
            try:
                aspects = self.wanted(revision or 0, nodes, None)
            except (RenderingFailed, UnknownRevision):
                aspects = {}
            for node in nodes:
                record = completed.pop(node)
                if node in aspects:
                    completed[node] = replace(record, aspects={**aspects[node], **record.aspects})
        return completed

    def _settled(
        self, records: Mapping[NodeName, Given], wanted: Mapping[NodeName, Aspects]
    ) -> Mapping[NodeName, Given]:
        """Return the records, those of earlier releases with what they do not say: which steps the design chose.

        Their service may have run any template. It counts for the design unless the revision of the service can be
        read, and did not choose it.
        """
        settled, read = dict(records), dict[Revision, Mapping[NodeName, Collection[str]] | None]()
        for node, record in records.items():
            late = [aspect for aspect in vanished(record.aspects, wanted[node]) if aspect in record.revisions]
            for aspect in late if ALL_STEPS not in record.aspects else ():
                revision = Revision(record.revisions[aspect])
                chosen = read[revision] = read[revision] if revision in read else self._chosen(revision)
                if chosen is None or aspect in chosen.get(node, ()):
                    continue
                rest = {name: digest for name, digest in settled[node].aspects.items() if name != aspect}
                settled[node] = replace(settled[node], aspects={**rest, **once({aspect: record.aspects[aspect]}, ())})
        return settled

    def _serviced(self, revision: Revision, steps: RequestedSteps) -> Mapping[NodeName, Aspects]:
        """Return the aspects of the templates that a service runs, as those that the design has chosen or not."""
        chosen, records = self._chosen(revision), self.store.read(lambda tx: tx.specifications.of(steps.keys()))
        given = each_stepped(steps)
        if chosen is None:
            return given
        before = {node: record.aspects.keys() for node, record in records.items()}
        return {node: once(aspects, {*chosen.get(node, ()), *before.get(node, ())}) for node, aspects in given.items()}

    def _chosen(self, revision: Revision) -> Mapping[NodeName, Collection[str]] | None:
        """Return the aspects of the templates that each node of a revision requests; None if it cannot be read."""
        try:
            traits, findings = read_node_traits(self.rendered(revision), self.check)
        except (RenderingFailed, UnknownRevision):
            return None
        if errors(findings):
            return None
        return {node: {f"{STEPS}{trait}" for trait in each.requested} for node, each in traits.items()}


def deployed_of(provisioner: Provisioner, nodes: Collection[NodeName]) -> frozenset[NodeName]:
    """Return those of the nodes that the provisioner shows as deployed. Raises ports.errors."""
    machines = provisioner.conditions() if nodes else ()
    names = {machine.name.lower() for machine in machines if machine.state is MachineState.DEPLOYED}
    return frozenset(node for node in nodes if node.lower() in names)


def _texts(aspects: Mapping[NodeName, Aspects], provisioner: str = "") -> Mapping[NodeName, str]:
    """Return the texts of aspects; ``provisioner``: the one that installs the nodes, which get all of them."""
    whole = {DESIGN: "", "provisioner": provisioner} if provisioner else {}
    return {node: json.dumps({**entry, **whole}, sort_keys=True) for node, entry in aspects.items()}
