"""The values that a rendered design gives each node, by aspect, with the document and the path of each.

Inheritance is followed: the host profiles of a node, its hardware profile, networks, links, rack, boot actions. The
nearest value counts. Lists of several levels all count, in order: that may tell two equal nodes apart, and never makes
two different ones equal.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from shipyard_api.domain.documents.document import Document
from shipyard_api.domain.documents.machines import BAREMETAL_NODE, HARDWARE_PROFILE, lineage, profiles
from shipyard_api.domain.documents.rendering import RenderedDocument, Rendering
from shipyard_api.domain.findings import DocumentRef
from shipyard_api.domain.json_types import member
from shipyard_api.domain.nodes import Inventory, Node, NodeName
from shipyard_api.domain.specification.boot_actions import is_join_script, selected
from shipyard_api.domain.specification.given import labelled
from shipyard_api.domain.specification.kinds import (
    BOOT_ACTION,
    JOINED_BY,
    KINDS,
    LINK,
    NETWORK,
    PROMENADE,
    PROVISIONER,
    RACK,
    REGION,
    Aspect,
    Reach,
    aspect_of,
    kind_of,
)

Fingerprint = Callable[[bytes], str]
"""The keyed digest of a text with secrets."""

_LABELS, _TAGS, _RACK = "metadata.owner_data", "metadata.tags", "metadata.rack"
_OF_MACHINE = (_LABELS, _TAGS, _RACK)
"""What ``Inventory`` has read from all levels, by the rules of the provisioner."""


# An Enum's value is computed each time that it is read.
_HARDWARE_DIGEST, _NETWORK_DIGEST = Aspect.HARDWARE.value, Aspect.NETWORK.value
_LABELS_DIGEST, _PLACEMENT_DIGEST = Aspect.LABELS.value, Aspect.PLACEMENT.value
_text_of = json.JSONEncoder(sort_keys=True, default=str).encode
_SINGLE = frozenset({"host_profile", "hardware_profile", "addressing", "metadata"})
_SINGLE_METADATA = frozenset({"boot_mac", "owner_data", "tags", "rack"})


class Value(Struct, frozen=True):
    """A value, where it comes from, and whether it is shown as a fingerprint."""

    data: Any
    place: DocumentRef
    secret: bool = False


Values = Mapping[str, Value]
"""By dotted path; those of a document that a node refers to begin with its kind and name."""


@dataclass(slots=True)
class Part:
    """What a document, or a chain of them, says of one aspect. ``secret``: one of the documents is."""

    values: Values
    secret: bool = False
    _digest: str = ""

    def digest(self, fingerprint: Fingerprint) -> str:
        """Return the digest of the values, wherever they come from; of secret ones the keyed one."""
        if not self._digest:
            data = {path: value.data for path, value in self.values.items()}
            text = _text_of(data).encode()
            self._digest = fingerprint(text) if self.secret else hashlib.sha256(text).hexdigest()[:32]
        return self._digest


Parts = Mapping[Aspect, Part]
OF_DOCUMENTS = tuple(aspect for aspect in Aspect if aspect not in (Aspect.STEPS, Aspect.SOFTWARE))
"""The aspects that follow from the documents alone."""


class Single(Struct, frozen=True):
    """What the document of a node says of this node alone: its addresses, by network, and its MAC.

    ``alone``: the document says nothing else that is no matter of its machine or of its profile.
    """

    profile: str
    addresses: Sequence[tuple[str, Any]]
    mac: Any
    alone: bool

    @classmethod
    def of(cls, data: Any) -> "Single":
        """Read a document."""
        written = data if isinstance(data, Mapping) else {}
        profile, metadata, entries = written.get("host_profile"), written.get("metadata"), written.get("addressing")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        addresses = _addresses(entries)
        alone = _SINGLE.issuperset(written) and _SINGLE_METADATA.issuperset(metadata)
        return cls(str(profile), tuple(addresses.items()), metadata.get("boot_mac"), alone)

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks of the addresses."""
        return tuple(name for name, _ in self.addresses)

    def texts(self, bmc: str) -> Iterator[tuple[str, str]]:
        """Yield the texts of hardware and network; ``bmc``: the network of its BMC."""
        hardware = [self.mac, *[entries for name, entries in self.addresses if name == bmc]]
        network = [entries for name, entries in self.addresses if name != bmc]
        if hardware != [None]:
            yield _HARDWARE_DIGEST, _text_of(hardware)
        if network:
            yield _NETWORK_DIGEST, _text_of(network)


@dataclass(slots=True)
class EffectiveDesign:
    """A rendered design, read for the values of its nodes: each document once, however many nodes refer to it."""

    rendering: Rendering
    fingerprint: Fingerprint
    machines: Inventory = field(init=False)
    _profiles: Mapping[str, Document] = field(init=False)
    _documents: Mapping[tuple[str, str], RenderedDocument] = field(init=False)
    _nodes: Mapping[str, Document] = field(init=False)
    _of_documents: dict[tuple[str, str], Parts] = field(default_factory=dict, init=False)
    _chains: dict[str, Parts] = field(default_factory=dict, init=False)
    _boot: Sequence[tuple[RenderedDocument, frozenset[NodeName]]] = field(init=False)
    _filtered: Sequence[tuple[int, frozenset[NodeName]]] = field(init=False)
    _site: Sequence[RenderedDocument] = field(init=False)
    _joined_by: Sequence[RenderedDocument] = field(init=False)
    _known: dict[NodeName, Mapping[str, str]] = field(default_factory=dict, init=False)
    _bases: dict[Any, tuple[str, Mapping[str, str]]] = field(default_factory=dict, init=False)
    _of_labels: dict[Any, str] = field(default_factory=dict, init=False)
    _of_places: dict[Any, str] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, rendering: Rendering, fingerprint: Fingerprint) -> "EffectiveDesign":
        """Return the values of a design, read once and kept as long as it is."""
        found: EffectiveDesign | None = rendering.kept.get(cls)
        if found is None:
            found = rendering.kept[cls] = cls(rendering, fingerprint)
        return found

    def __post_init__(self) -> None:
        documents = self.rendering.documents
        self.machines = self.rendering.machines
        self._profiles = profiles(rendered.document for rendered in documents)
        self._documents = {rendered.document.key: rendered for rendered in documents}
        self._nodes = {
            entry.document.name: entry.document for entry in documents if entry.document.schema == BAREMETAL_NODE
        }
        self._boot = [
            (entry, selected(entry.document.data, self.machines))
            for entry in documents
            if entry.document.schema == BOOT_ACTION
        ]
        everywhere = len(self.machines.nodes)
        self._filtered = [(index, nodes) for index, (_, nodes) in enumerate(self._boot) if len(nodes) < everywhere]
        self._site = [entry for entry in documents if _concerns_all(entry.document.schema)]
        self._joined_by = [entry for entry in documents if _joins(entry.document.schema)]

    def digests(self, node: NodeName) -> Mapping[str, str]:
        """Return the digest of each aspect of a node of the design; nodes share what their documents share."""
        known = self._known.get(node)
        if known is None:
            known = self._known[node] = self._digests(self.machines.nodes[node], self._nodes[node])
        return known

    def _digests(self, machine: Node, document: Document) -> Mapping[str, str]:
        single = Single.of(document.data)
        boot = tuple(index for index, nodes in self._filtered if machine.name in nodes)
        key = (single.profile, machine.hardware, single.networks, boot)
        base = self._bases.get(key) if single.alone else None
        if base is None:
            base = self._base(machine, document, single.networks)
            if single.alone:
                self._bases[key] = base
        bmc, found = base[0], dict(base[1])
        secret = self._documents[document.key].secret
        for aspect, text in single.texts(bmc):
            joined = f"{found[aspect]} {text}".encode()
            found[aspect] = self.fingerprint(joined) if secret else hashlib.sha256(joined).hexdigest()[:32]
        found[_LABELS_DIGEST], found[_PLACEMENT_DIGEST] = self._placed(machine)
        return found

    def _base(self, machine: Node, document: Document, networks: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        """Return the network of the BMC, and the digests without what is the node's alone."""
        chain = lineage(document, self._profiles)
        own = _overlaid(_shared(self._of(document)), self._chain(chain[1:]))
        bmc = _text(own, Aspect.HARDWARE, "oob.network")
        values = own[Aspect.NETWORK].values if Aspect.NETWORK in own else {}
        names = [*(name for name in networks if name != bmc), *_networks(values)]
        referred = self._referred(machine, names, values)
        found = {}
        for aspect in OF_DOCUMENTS:
            parts = [("", own[aspect])] if aspect in own else []
            found[aspect.value] = self._joined([*parts, *referred.get(aspect, ())])
        return bmc, found

    def _placed(self, machine: Node) -> tuple[str, str]:
        """Return the digests of the labels and of the placement."""
        labels = self._of_labels.get(machine.labels)
        if labels is None:
            labels = self._of_labels[machine.labels] = labelled(dict(machine.labels))
        key = (machine.rack, machine.tags)
        placement = self._of_places.get(key)
        if placement is None:
            entries = [
                *self._site,
                *([self._documents[RACK, machine.rack]] if (RACK, machine.rack) in self._documents else []),
            ]
            parts = [(_identity(entry.document), self._of(entry.document).get(Aspect.PLACEMENT)) for entry in entries]
            text = json.dumps(
                [machine.rack, sorted(machine.tags), self._joined([(name, part) for name, part in parts if part])]
            )
            placement = self._of_places[key] = hashlib.sha256(text.encode()).hexdigest()[:32]
        return labels, placement

    def values(self, node: NodeName) -> Mapping[Aspect, Values]:
        """Return the values of a node of the design, by aspect."""
        own, referred = self._parts(self.machines.nodes[node])
        found: dict[Aspect, Values] = {aspect: part.values for aspect, part in own.items()}
        for aspect, parts in referred.items():
            merged = dict(found.get(aspect, {}))
            for _, part in parts:
                merged |= {_named(value.place, path): value for path, value in part.values.items()}
            found[aspect] = merged
        return found

    def _joined(self, parts: Sequence[tuple[str, Part]]) -> str:
        """Return the digest of several parts with the names of their documents; of no values it is empty."""
        each = sorted(f"{name} {part.digest(self.fingerprint)}" for name, part in parts if part.values)
        return hashlib.sha256("\n".join(each).encode()).hexdigest()[:32] if each else ""

    def _parts(self, machine: Node) -> tuple[Parts, Mapping[Aspect, Sequence[tuple[str, Part]]]]:
        """Return the own parts of a node with what it inherits, and those of the documents that it refers to."""
        document = self._nodes[machine.name]
        chain = lineage(document, self._profiles)
        own = dict(_overlaid(self._of(document), self._chain(chain[1:])))
        own |= self._of_machine(machine, chain)
        bmc = _text(own, Aspect.HARDWARE, "oob.network")
        own = _with_bmc(own, bmc)
        values = own[Aspect.NETWORK].values if Aspect.NETWORK in own else {}
        return own, self._referred(machine, _networks(values), values)

    def _referred(
        self, machine: Node, networks: Iterable[str], network: Values
    ) -> Mapping[Aspect, Sequence[tuple[str, Part]]]:
        """Return the parts of the documents that a node refers to: its networks, and what their values name."""
        found: defaultdict[Aspect, list[tuple[str, Part]]] = defaultdict(list)
        boot = [entry for entry, nodes in self._boot if machine.name in nodes]
        names = dict.fromkeys(networks)
        keys = [*((NETWORK, name) for name in names), *((LINK, name) for name in _links(network))]
        keys += [(HARDWARE_PROFILE, machine.hardware), (RACK, machine.rack)]
        entries = [self._documents[key] for key in keys if key in self._documents]
        entries += [*boot, *self._site]
        if any(is_join_script(entry.document.data) for entry in boot):
            entries += self._joined_by
        for entry in entries:
            for aspect, part in self._of(entry.document).items():
                found[aspect].append((_identity(entry.document), part))
        return found

    def _of(self, document: Document) -> Parts:
        """Return what a document says, by aspect."""
        parts = self._of_documents.get(document.key)
        if parts is None:
            parts = self._of_documents[document.key] = self._read(document)
        return parts

    def _read(self, document: Document) -> Parts:
        kind, secret = kind_of(document.schema), self._documents[document.key].secret
        by_aspect: defaultdict[Aspect, dict[str, Value]] = defaultdict(dict)
        for path, data in _leaves(document.data):
            aspect = aspect_of(kind, path)
            name = ".".join(path)
            if aspect is None or (kind.reach in (Reach.ITSELF, Reach.PROFILE) and name.startswith(_OF_MACHINE)):
                continue
            by_aspect[aspect][name] = Value(data, document.at(_pointer(path)), secret)
        return {aspect: Part(values, secret) for aspect, values in by_aspect.items()}

    def _chain(self, chain: Sequence[Document]) -> Parts:
        """Return what a chain of host profiles says, the nearest first; the same one for all nodes that name it."""
        if not chain:
            return {}
        name = chain[0].name
        if name not in self._chains:
            self._chains[name] = _overlaid(self._of(chain[0]), self._chain(chain[1:]))
        return self._chains[name]

    def _of_machine(self, machine: Node, chain: Sequence[Document]) -> Parts:
        def value(data: Any, path: str) -> Value:
            place = next((level for level in chain if member(level.data, *path.split(".")) is not None), chain[0])
            return Value(data, place.at(_pointer(path.split("."))), self._documents[place.key].secret)

        def label(key: str, data: str) -> Value:
            levels = (level for level in chain if key in (member(level.data, *_LABELS.split(".")) or ()))
            place = next(levels, chain[0])
            return Value(data, place.at(_pointer((*_LABELS.split("."), key))), self._documents[place.key].secret)

        placed = {_RACK: value(machine.rack, _RACK), _TAGS: value(sorted(machine.tags), _TAGS)}
        labels = {f"{_LABELS}.{key}": label(key, data) for key, data in sorted(machine.labels)}
        return {Aspect.PLACEMENT: Part(placed), Aspect.LABELS: Part(labels)}


def _identity(document: Document) -> str:
    """Return the name under which a document counts for a node; a node has one hardware profile, whatever its name."""
    return document.schema if document.schema == HARDWARE_PROFILE else f"{document.schema}/{document.name}"


def _concerns_all(schema: str) -> bool:
    return schema == REGION or (schema.startswith(PROVISIONER) and schema not in KINDS)


def _joins(schema: str) -> bool:
    return schema in JOINED_BY or (schema.startswith(PROMENADE) and kind_of(schema).reach is Reach.JOIN)


def _overlaid(near: Parts, far: Parts) -> Parts:
    """Return the parts of two levels as one: the nearer value counts, and of two lists both."""
    if not near or not far:
        return near or far
    found = dict(far)
    for aspect, part in near.items():
        if aspect not in far:
            found[aspect] = part
            continue
        values = dict(far[aspect].values)
        for path, value in part.values.items():
            inherited = values.get(path)
            if inherited is not None and isinstance(value.data, list) and isinstance(inherited.data, list):
                value = Value([*value.data, *inherited.data], value.place, value.secret or inherited.secret)  # replaced
            values[path] = value
        found[aspect] = Part(values, part.secret or far[aspect].secret)
    return found


def _shared(parts: Parts) -> Parts:
    """Return the parts of a node's document without what ``Single`` has."""
    found = {}
    for aspect, part in parts.items():
        values = {path: value for path, value in part.values.items() if not _is_single(path)}
        if values:
            found[aspect] = part if len(values) == len(part.values) else Part(values, part.secret)
    return found


def _is_single(path: str) -> bool:
    return path == "metadata.boot_mac" or path.startswith("addressing.")


def _with_bmc(own: dict[Aspect, Part], bmc: str) -> dict[Aspect, Part]:
    """Return the parts with the address of the node in the network of its BMC among its hardware."""
    network = own.get(Aspect.NETWORK)
    path = f"addressing.{bmc}"
    if not bmc or network is None or path not in network.values:
        return own
    hardware = own.get(Aspect.HARDWARE, Part({}))
    values = {key: value for key, value in network.values.items() if key != path}
    moved = {**hardware.values, path: network.values[path]}
    own |= {
        Aspect.HARDWARE: Part(moved, hardware.secret or network.secret),
        Aspect.NETWORK: Part(values, network.secret),
    }
    return own


def _leaves(data: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every value of a document that is no mapping, with its path; addresses by their network."""
    if path == ("addressing",) and isinstance(data, list):
        for network, entries in _addresses(data).items():
            yield (*path, network), entries
    elif isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _leaves(value, (*path, str(key)))
    else:
        yield path, data


def _addresses(entries: Any) -> Mapping[str, Any]:
    """Return the addresses of a node by their network; what names none, or is no list, by an empty name."""
    if not isinstance(entries, list):
        return {} if entries is None else {"": entries}
    by_network: dict[str, list[Any]] = {}
    for entry in entries:
        network = member(entry, "network")
        by_network.setdefault(network if isinstance(network, str) else "", []).append(entry)
    return by_network


def _networks(values: Values) -> Iterable[str]:
    """Return the networks of the addresses and interfaces of a node."""
    names = {path.removeprefix("addressing."): None for path in values if path.startswith("addressing.")}
    for path, value in values.items():
        if path.startswith("interfaces.") and path.endswith(".networks") and isinstance(value.data, list):
            names |= dict.fromkeys(map(str, value.data))
    primary = values.get("primary_network")
    return {**names, **({str(primary.data): None} if primary else {})}


def _links(values: Values) -> Iterable[str]:
    return dict.fromkeys(
        str(value.data)
        for path, value in values.items()
        if path.startswith("interfaces.") and path.endswith(".device_link")
    )


def _text(parts: Parts, aspect: Aspect, path: str) -> str:
    value = parts[aspect].values.get(path) if aspect in parts else None
    return value.data if value is not None and isinstance(value.data, str) else ""


def _named(place: DocumentRef, path: str) -> str:
    return f"{place.schema}/{place.name} {path}".rstrip()


def _pointer(path: Sequence[str]) -> str:
    tokens = ("data", *path[:1]) if path[:1] == ("addressing",) else ("data", *path)
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)
