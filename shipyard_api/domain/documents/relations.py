"""Dependencies between documents, rendering order, and how secrets spread (contract: deckhand B7, B9, B10)."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shipyard_api.domain.documents.document import Document, Key, layering_of
from shipyard_api.domain.documents.layering import Family, find_family, layer_order
from shipyard_api.domain.documents.substitution import Source, substitutions_of
from shipyard_api.domain.findings import DocumentRef, Finding, error, in_short
from shipyard_api.domain.graphs import find_cycles

_CYCLE_SHOWN = 12
_PLACES_SHOWN, _PLACES_LISTED = 8, 200


class Relations(Struct):
    """Dependencies by index of the document. ``order``: each document after its dependencies, without cycles.

    ``sources``: for each substitution of a document the index of its source, None if there is none. ``secret``:
    documents that are encrypted or use data of one that is.
    """

    documents: Sequence[Document]
    family: Family
    sources: Mapping[int, Sequence[int | None]]
    dependencies: Sequence[Sequence[int]]
    order: Sequence[int]
    secret: set[int]


def relate(documents: Sequence[Document]) -> Relations:
    """Return the relations of sorted documents, with findings on those that have none."""
    ranks, invalid = layer_order(documents)
    # Without an order of layers there are no parents; substitutions are checked all the same.
    family = find_family(documents, ranks) if ranks is not None else Family(broken=_with_parents(documents))
    family.findings[:0] = invalid
    sources = _find_sources(documents, family)
    dependencies = [_dependencies(index, family, sources) for index in range(len(documents))]
    order = _topological_order(documents, dependencies, family)
    secret = {index for index, document in enumerate(documents) if document.is_encrypted}
    if secret:
        # A document without a clear parent may use a secret: another store may choose a parent for it.
        secret |= family.broken
    for index in order:
        if not secret.isdisjoint(dependencies[index]):
            secret.add(index)
    return Relations(documents, family, sources, dependencies, order, secret)


def _with_parents(documents: Sequence[Document]) -> set[int]:
    """Return the documents that need a parent."""
    return {
        index
        for index, document in enumerate(documents)
        if not document.is_control and layering_of(document.metadata).get("parentSelector")
    }


def _dependencies(index: int, family: Family, sources: Mapping[int, Sequence[int | None]]) -> list[int]:
    base = family.base(index)
    needed = [] if base is None else [base]
    return list(dict.fromkeys([*needed, *(source for source in sources.get(index, ()) if source is not None)]))


def _find_sources(documents: Sequence[Document], family: Family) -> Mapping[int, Sequence[int | None]]:
    by_key: defaultdict[Key, list[int]] = defaultdict(list)
    for index, document in enumerate(documents):
        if index not in family.replacements:
            by_key[document.key].append(index)
    sources: dict[int, Sequence[int | None]] = {}
    missing: defaultdict[str, list[DocumentRef]] = defaultdict(list)
    for index, document in enumerate(documents):
        entries = substitutions_of(document)
        if not entries:
            continue
        chosen: list[int | None] = []
        for position, entry in enumerate(entries):
            source = Source.of(entry)
            candidates = by_key.get((source.schema, source.name), [])
            concrete = [candidate for candidate in candidates if documents[candidate].is_concrete]
            if not concrete:
                why = "it is abstract" if candidates else "there is no such document"
                message = f"Nothing can be taken from {source.schema} '{source.name}': {why}."
                missing[message].append(document.at(f"/metadata/substitutions/{position}"))
                family.broken.add(index)
            if len(concrete) > 1 and not family.broken.isdisjoint(concrete):
                # Ambiguous, and already reported; a cycle through one of them would be a guess.
                family.broken.add(index)
                concrete = []
            chosen.append(concrete[0] if concrete else None)
        sources[index] = chosen
    family.findings.extend(_missing_source(message, places) for message, places in missing.items())
    return sources


def _missing_source(message: str, places: Sequence[DocumentRef]) -> Finding:
    """Return one finding about a source and all substitutions that want it."""
    if len(places) == 1:
        diagnostic = f"at {places[0].path} of the document"
    else:
        shown = in_short((f"{ref.path} of {ref.schema} '{ref.name}'" for ref in places), _PLACES_SHOWN)
        diagnostic = f"wanted {len(places)} times: at {shown}"
    finding = error("SubstitutionSourceNotFound", message, path=places[0].path, diagnostic=diagnostic)
    return replace(finding, documents=tuple(places[:_PLACES_LISTED]))


def _topological_order(
    documents: Sequence[Document], dependencies: Sequence[Sequence[int]], family: Family
) -> list[int]:
    """Return the documents, each after its dependencies; add a finding for each cycle."""
    waiting = [len(needed) for needed in dependencies]
    dependents: defaultdict[int, list[int]] = defaultdict(list)
    for index, needed in enumerate(dependencies):
        for dependency in needed:
            dependents[dependency].append(index)
    ready = deque(index for index, count in enumerate(waiting) if count == 0)
    order = []
    while ready:
        index = ready.popleft()
        order.append(index)
        for other in dependents[index]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    if len(order) < len(documents):
        left = frozenset(range(len(documents))) - frozenset(order)
        for cycle in find_cycles({index: dependencies[index] for index in sorted(left)}):
            _report_cycle(documents, cycle, family)
        family.broken.update(left)
    return order


def _report_cycle(documents: Sequence[Document], cycle: Sequence[int], family: Family) -> None:
    names = [f"{documents[index].schema} '{documents[index].name}'" for index in cycle]
    shown = names
    if len(names) > _CYCLE_SHOWN:
        half = _CYCLE_SHOWN // 2
        shown = [*names[:half], f"({len(names) - 2 * half} more)", *names[-half:]]
    message = f"Documents need each other in a circle: {' needs '.join(shown)}."
    finding = error("SubstitutionDependencyCycle", message)
    for index in cycle[:-1][:_CYCLE_SHOWN]:
        finding = finding.about(documents[index].place)
    family.findings.append(finding)


def secret_keys(documents: Sequence[Document]) -> frozenset[Key]:
    """Return schema and name of the documents whose rendered data contains secrets (B9, "ours")."""
    documents = sorted(documents, key=lambda document: (*document.key, document.layer))
    return frozenset(documents[index].key for index in relate(documents).secret)
