"""What a revision asks of each node, and the values by which it does (product, section 14)."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from shipyard_api.actions.steps.specifications import Specifications
from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.deploy_steps.planning import RequestedSteps
from shipyard_api.domain.documents import Revision, StoredDocument, canonical
from shipyard_api.domain.documents.explanation import explain, tokens_of, written_at
from shipyard_api.domain.findings import DocumentRef, Finding
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.specification.effective import EffectiveDesign, Value, Values
from shipyard_api.domain.specification.given import Given
from shipyard_api.domain.specification.impact import Impact, NodeImpact, counted
from shipyard_api.domain.specification.kinds import Aspect
from shipyard_api.domain.specification.software import not_undone
from shipyard_api.ports.documents import RenderingFailed, UnknownRevision
from shipyard_api.usecases.deploy_templates.plan import PlanDeploySteps

_COMPARED = 200
"""Nodes whose values are compared; those that differ from their records in the same way count once."""

_LONGEST = 200
_MISSING = "-"


class Written(Struct, frozen=True):
    """Where a value was written: the document, and the JSON pointer to it in there."""

    stored: StoredDocument
    path: str


class ValueChange(Struct, frozen=True):
    """A value that nodes have, and the one that they would get: said once, however many documents inherit it.

    ``old`` and ``new``: as JSON; of secrets a fingerprint. ``documents``: those that the new value comes from, or the
    old one if there is none. ``written``: where the new value was written, if that is known.
    """

    aspect: Aspect
    path: str
    old: str
    new: str
    documents: Sequence[DocumentRef]
    nodes: Sequence[NodeName]
    written: Sequence[Written] = ()


class DesignChanges(Struct, frozen=True):
    """The class of each node, in order of name: those of the design, and deployed ones that it lacks.

    ``values``: what differs, where the revision of the record can still be read. ``uncompared``: how many more nodes
    differ, whose values were not compared. ``findings``: what no action brings about.
    """

    nodes: Mapping[NodeName, NodeImpact]
    values: Sequence[ValueChange] = ()
    uncompared: int = 0
    findings: Sequence[Finding] = ()

    @property
    def added(self) -> Sequence[NodeName]:
        """The nodes that are not deployed yet."""
        return self.of(Impact.NEW)

    @property
    def removed(self) -> Sequence[NodeName]:
        """The deployed nodes that are not in the design."""
        return self.of(Impact.LEAVES)

    @property
    def changed(self) -> Sequence[NodeName]:
        """The deployed nodes that have something else, or may have."""
        return [node for node in self.nodes if node not in {*self.added, *self.removed, *self.of(Impact.UNCHANGED)}]

    @property
    def counts(self) -> Mapping[Impact, int]:
        """How many nodes each class has."""
        return counted(self.nodes)

    def of(self, impact: Impact) -> Sequence[NodeName]:
        """Return the nodes of a class."""
        return [node for node, entry in self.nodes.items() if entry.impact is impact]


def design_changes(
    specifications: Specifications,
    revision: Revision,
    steps: RequestedSteps | None,
    deployed: Collection[NodeName] | None,
    *,
    services: bool,
    software: Mapping[NodeName, str] = MappingProxyType({}),
) -> DesignChanges | None:
    """Return the changes of a revision with these deploy steps; None if it cannot be rendered.

    ``steps``: None if they are not known; then they are not compared.
    ``deployed``: the nodes that the provisioner shows so; None if it does not answer: then those that were given
    anything. ``services``: whether it runs steps on them. ``software``: the digests of the tasks that would run.
    """
    with specifications.store.begin() as tx:
        left = {*tx.specifications.names(), *(node.name for node in tx.observations.left_nodes(ActionId("")))}
    try:
        designed = specifications.rendered(revision).machines.nodes.keys()
        found = specifications.impacts(
            revision,
            designed,
            steps,
            deployed=left if deployed is None else deployed,
            services=services,
            software=software,
        )
        nodes = {**found, **dict.fromkeys(left - designed, NodeImpact(Impact.LEAVES))}
        values, uncompared = _Comparison(specifications, revision).of(nodes)
    except (RenderingFailed, UnknownRevision):
        return None
    ran = [node for node, entry in found.items() if Aspect.SOFTWARE.value in entry.aspects]
    records = specifications.store.read(lambda tx: tx.specifications.of(ran)) if ran else {}
    given = {node: record.aspects.get(Aspect.SOFTWARE.value, "") for node, record in records.items()}
    findings = not_undone(given, software)
    return DesignChanges({node: nodes[node] for node in sorted(nodes)}, values, uncompared, findings)


def findings_of(changes: DesignChanges | None) -> Sequence[Finding]:
    """Return what is said of the changes, if they are known."""
    return changes.findings if changes else ()


def changes_of_site(
    plan_steps: PlanDeploySteps, committed: Revision | None, deployed: Collection[NodeName] | None
) -> DesignChanges | None:
    """Return the changes of the committed revision; None without one. Raises ports.errors."""
    if committed is None:
        return None
    services = not plan_steps.provisioner.capabilities.limits.no_service
    steps = plan_steps(committed).chosen
    return design_changes(plan_steps.specifications, committed, steps, deployed, services=services)


_Key = tuple[Aspect, str, str, str]


class _Comparison(Struct):
    """Compares the values of nodes with those that their records are of."""

    specifications: Specifications
    revision: Revision
    _designs: dict[Revision, EffectiveDesign | None] = field(default_factory=dict)

    def of(self, nodes: Mapping[NodeName, NodeImpact]) -> tuple[Sequence[ValueChange], int]:
        """Return the values that differ, and how many nodes were not compared."""
        aspects = {node: _of_documents(entry.aspects) for node, entry in nodes.items()}
        differing = [node for node, known in aspects.items() if known]
        records = self.specifications.store.read(lambda tx: tx.specifications.of(differing))
        alike: defaultdict[Any, list[NodeName]] = defaultdict(list)
        new = self._design(self.revision)
        for node in differing:
            if new is not None and (record := records.get(node)):
                wanted = new.digests(node)
                pairs = [
                    (aspect.value, record.aspects.get(aspect.value), wanted[aspect.value]) for aspect in aspects[node]
                ]
                alike[record.revision, *pairs].append(node)
        found: defaultdict[_Key, tuple[dict[DocumentRef, None], list[NodeName]]] = defaultdict(lambda: ({}, []))
        for same in islice(alike.values(), _COMPARED):
            for key, place in self._changes(same[0], aspects[same[0]], records[same[0]]):
                documents, members = found[key]
                documents[place] = None
                members += same
        changes = [
            ValueChange(*key, tuple(documents), sorted(dict.fromkeys(members)))
            for key, (documents, members) in found.items()
        ]
        return changes, sum(len(same) for same in islice(alike.values(), _COMPARED, None))

    def _changes(self, node: NodeName, aspects: Sequence[Aspect], record: Given) -> Iterator[tuple[_Key, DocumentRef]]:
        for aspect in aspects:
            revision = record.revision_of(aspect.value)
            before = self._design(revision) if revision else None
            if before is None or node not in before.machines.nodes:
                continue
            old, new = before.values(node).get(aspect, {}), self._values(node, aspect)
            for path in dict.fromkeys((*new, *old)):
                was, wanted = old.get(path), new.get(path)
                value = wanted or was
                if value is not None and (was and was.data) != (wanted and wanted.data):
                    yield (aspect, path, self._shown(was), self._shown(wanted)), value.place

    def _values(self, node: NodeName, aspect: Aspect) -> Values:
        design = self._design(self.revision)
        return design.values(node).get(aspect, {}) if design else {}

    def _design(self, revision: Revision) -> EffectiveDesign | None:
        if revision not in self._designs:
            try:
                rendering = self.specifications.rendered(revision)
                self._designs[revision] = EffectiveDesign.of(rendering, self.specifications.fingerprint)
            except (RenderingFailed, UnknownRevision):
                self._designs[revision] = None
        return self._designs[revision]

    def _shown(self, value: Value | None) -> str:
        if value is None:
            return _MISSING
        if value.secret:
            return f"fingerprint {self.specifications.fingerprint(canonical(value.data))[:8]}"
        text = json.dumps(value.data, ensure_ascii=False)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _of_documents(aspects: Collection[str]) -> Sequence[Aspect]:
    """Return those of the aspects whose values are in documents."""
    return [aspect for aspect in Aspect if aspect.value in aspects and aspect is not Aspect.SOFTWARE]


_EXPLAINED = 20
"""Places that a plan explains: each replays the rendering of its document, 10 ms to 0.1 s in a real site."""

_LONGEST_SEARCH = 5.0  # seconds


def with_written(
    changes: DesignChanges, revision: Revision, stored: Callable[[Revision], Sequence[StoredDocument]]
) -> DesignChanges:
    """Return the changes with where their values were written, of as many as there is time for.

    ``stored``: returns the documents of a revision; one that renders for itself is replayed by our rules. A value that
    layering or a substitution took from another document was written there, once for all that have it.
    """
    if not changes.values:
        return changes
    documents, deadline = stored(revision), time.monotonic() + _LONGEST_SEARCH
    known: dict[DocumentRef, Written | None] = {}

    def found(place: DocumentRef) -> Written | None:
        key = DocumentRef(place.schema, place.name, place.path)
        if key not in known and len(known) < _EXPLAINED:
            try:
                tokens = tokens_of(place.path)[1:]
                values = explain(documents, (place.schema, place.name), tokens, lambda: time.monotonic() > deadline)
                known[key] = Written(*written_at(values))
            except LookupError:
                known[key] = None
        return known.get(key)

    return replace(changes, values=[_with_places(change, found) for change in changes.values])


def _with_places(change: ValueChange, found: Callable[[DocumentRef], Written | None]) -> ValueChange:
    places = {(at.stored.document.identity, at.path): at for ref in change.documents if (at := found(ref))}
    return replace(change, written=tuple(places.values()))
