"""Find parents and replacements of documents, and apply layering actions (contract: deckhand B5, B8)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from shipyard_api.domain.documents.document import LAYERING_POLICY, Document, Key, layering_of
from shipyard_api.domain.documents.draft import Draft
from shipyard_api.domain.documents.paths import MISSING, PathError, parse_action_path, read
from shipyard_api.domain.findings import Finding, error, in_short
from shipyard_api.domain.json_types import are_texts, member

_SHOWN = 5
_LAYER, _PARENT = (f"/metadata/layeringDefinition/{key}" for key in ("layer", "parentSelector"))


class Family(Struct):
    """Parents and replacements of documents, by index in the sequence of documents.

    ``parents``: child to selected parent. ``replacements``: parent to its replacement. ``broken``: documents with
    findings, which are checked no further.
    """

    parents: dict[int, int] = field(default_factory=dict)
    replacements: dict[int, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    broken: set[int] = field(default_factory=set)

    def base(self, index: int) -> int | None:
        """Return the document that supplies the initial data: its parent, or the parent's replacement."""
        parent = self.parents.get(index)
        if parent is None:
            return None
        replacement = self.replacements.get(parent)
        return parent if replacement is None or replacement == index else replacement

    def fault(self, index: int, finding: Finding) -> None:
        """Add a finding about a document."""
        self.broken.add(index)
        self.findings.append(finding)


def layer_order(documents: Iterable[Document]) -> tuple[Mapping[str, int] | None, tuple[Finding, ...]]:
    """Return the rank of each layer, outermost first; None without a valid layering policy."""
    policies = [document for document in documents if document.schema == LAYERING_POLICY]
    if not policies:
        return None, (
            error(
                "LayeringPolicyNotFound",
                f"The design holds no {LAYERING_POLICY}, so the order of its layers is not known.",
            ),
        )
    if len(policies) > 1:
        names = ", ".join(f"'{policy.name}'" for policy in policies)
        return None, (error("SingletonDocumentConflict", f"There can be one layering policy, and there are: {names}."),)
    data = policies[0].data
    listed = member(data, "layerOrder")
    if not are_texts(listed):
        invalid = error("D001", "'layerOrder' must be a list of layers, outermost first", path="/layerOrder")
        return None, (invalid.about(policies[0].place),)
    return {layer: rank for rank, layer in enumerate(listed)}, ()


def find_family(documents: Sequence[Document], ranks: Mapping[str, int]) -> Family:
    """Return parents and replacements of the documents; control documents have none."""
    family = Family()
    holders = _label_holders(documents)
    for index, document in enumerate(documents):
        if document.is_control:
            continue
        if document.layer not in ranks:
            known = ", ".join(ranks)
            message = f"The layer '{document.layer}' is not in the layering policy, which names: {known}."
            family.fault(index, _fault(document, "InvalidDocumentLayer", message, _LAYER))
            continue
        selector = layering_of(document.metadata).get("parentSelector")
        if isinstance(selector, Mapping) and selector:
            _choose_parent(family, documents, index, _candidates(holders, selector, index), ranks)
    _find_replacements(family, documents)
    return family


def layered(base: Any, child: Document) -> tuple[Draft, tuple[Finding, ...]]:
    """Return the child's data, made from the parent's by the child's actions in order, and findings."""
    draft, findings = Draft(base), []
    for index, action in enumerate(layering_of(child.metadata).get("actions", ())):
        method, written = action["method"], action["path"]
        try:
            path = parse_action_path(written)
            if method == "delete":
                if not draft.delete(path):
                    findings.append(_missing_key(child, index, method, written, "the parent"))
                continue
            value = read(path, child.data)
            if value is MISSING or value is None:
                findings.append(_missing_key(child, index, method, written, "the document"))
            elif method == "merge":
                draft.merge(path, value)
            else:
                draft.put(path, value)
        except PathError as invalid:
            message = f"The action '{method}' at '{written}' cannot be done: {invalid}."
            findings.append(_action_finding(child, index, message))
    return draft, tuple(findings)


def _missing_key(child: Document, index: int, method: str, path: str, where: str) -> Finding:
    return _action_finding(child, index, f"The action '{method}' at '{path}' finds nothing there in {where}.")


def _action_finding(child: Document, index: int, message: str) -> Finding:
    at = f"/metadata/layeringDefinition/actions/{index}"
    return error("MissingDocumentKey", message, path=at, diagnostic=f"at {at} of the document").about(child.at(at))


def _fault(document: Document, name: str, message: str, path: str) -> Finding:
    return error(name, message, path=path).about(document.at(path))


Label = tuple[str, str]


def _label(key: str, value: Any) -> Label:
    """Return a label in which 1, true and "1" are different values."""
    return key, json.dumps(value, sort_keys=True)


def _label_holders(documents: Sequence[Document]) -> Mapping[Label, Sequence[int]]:
    holders: defaultdict[Label, list[int]] = defaultdict(list)
    for index, document in enumerate(documents):
        labels = document.metadata.get("labels")
        if not document.is_control and isinstance(labels, Mapping):
            for key, value in labels.items():
                holders[_label(key, value)].append(index)
    return holders


def _candidates(holders: Mapping[Label, Sequence[int]], selector: Mapping[str, Any], child: int) -> list[int]:
    """Return the documents with all labels of the selector, except the child itself."""
    wanted = sorted((holders.get(_label(key, value), ()) for key, value in selector.items()), key=len)
    others = [frozenset(indices) for indices in wanted[1:]]
    return [index for index in wanted[0] if index != child and all(index in other for other in others)]


def _choose_parent(
    family: Family, documents: Sequence[Document], index: int, candidates: Sequence[int], ranks: Mapping[str, int]
) -> None:
    child = documents[index]
    unfit = [
        candidate
        for candidate in candidates
        if documents[candidate].schema != child.schema
        or ranks.get(documents[candidate].layer, -1) >= ranks[child.layer]
    ]
    if unfit:
        message = (
            f"The labels of the parentSelector lead to {_named(documents, unfit)}. A parent must have the same schema "
            f"and stand in an outer layer than '{child.layer}'."
        )
        family.fault(index, _fault(child, "InvalidDocumentParent", message, _PARENT))
        return
    by_layer: defaultdict[str, list[int]] = defaultdict(list)
    for candidate in candidates:
        by_layer[documents[candidate].layer].append(candidate)
    several = [index for rivals in by_layer.values() if len(rivals) > 1 for index in rivals]
    if several:
        message = f"The parentSelector leads to more than one document of a layer: {_named(documents, several)}."
        family.fault(index, _fault(child, "IndeterminateDocumentParent", message, _PARENT))
    elif candidates:
        family.parents[index] = max(candidates, key=lambda candidate: ranks.get(documents[candidate].layer, -1))


def _find_replacements(family: Family, documents: Sequence[Document]) -> None:
    """Find replacements, and report documents of one schema and name that replace nothing."""
    by_key: defaultdict[Key, list[int]] = defaultdict(list)
    for index, document in enumerate(documents):
        if not document.is_control:
            by_key[document.key].append(index)
    for index, document in enumerate(documents):
        if not document.is_replacement or document.is_control or index in family.broken:
            continue
        parent = family.parents.get(index)
        if parent is None or documents[parent].key != document.key:
            message = "A replacement needs a parent of the same schema and name, " + (
                "and its parentSelector leads to none." if parent is None else "and its parent has another name."
            )
            family.fault(index, _fault(document, "InvalidDocumentReplacement", message, "/metadata/replacement"))
        elif documents[parent].is_replacement:
            message = f"It replaces {_named(documents, [parent])}, which is a replacement itself."
            family.fault(index, _fault(document, "InvalidDocumentReplacement", message, "/metadata/replacement"))
        else:
            family.replacements.setdefault(parent, index)
    for same in by_key.values():
        related = len(same) == 2 and any(
            family.replacements.get(peer) == other for peer, other in (same, reversed(same))
        )
        if len(same) > 1 and not related and not any(peer in family.broken for peer in same):
            message = (
                f"{_named(documents, same)} have the same schema and name, and there is not one of two that replaces "
                "the other."
            )
            finding = error("InvalidDocumentReplacement", message)
            for peer in same:
                finding = finding.about(documents[peer].place)
            family.findings.append(finding)
            family.broken.update(same)
        elif len(same) > 1 and not related:
            # One of them already has a finding. Until that is fixed, it is unclear which one is meant.
            family.broken.update(same)


def _named(documents: Sequence[Document], indices: Sequence[int]) -> str:
    peers = (documents[peer] for peer in indices)
    return in_short((f"{peer.schema} '{peer.name}' of layer '{peer.layer}'" for peer in peers), _SHOWN, " and ")
