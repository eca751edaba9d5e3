"""What a node is given, by aspect, as digests that can be compared (product, section 14).

The aspects are the node's documents, its labels, and the steps of each of its deploy templates.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.deploy_steps.planning import RequestedSteps, shared_steps
from shipyard_api.domain.deploy_steps.templates import TemplateStep
from shipyard_api.domain.documents import Rendering, Revision
from shipyard_api.domain.documents.machines import BAREMETAL_NODE, HARDWARE_PROFILE, lineage, profiles
from shipyard_api.domain.nodes import NodeName

Aspects = Mapping[str, str]
"""A digest by aspect."""

DESIGN = "design"
LABELS = "labels"
STEPS = "steps:"
"""The prefix of the aspect of a template: its steps. Steps of priority 0 do not count, as no service runs them."""

_NAMED = 10


@dataclass(frozen=True, slots=True)
class Given:
    """What a node was given, by which action. ``aspects`` of a record from before there were any lack the design."""

    action: ActionId
    revision: Revision | None
    aspects: Aspects


def designed(
    rendering: Rendering, nodes: Collection[NodeName], fingerprint: Callable[[bytes], str]
) -> Mapping[NodeName, Aspects]:
    """Return the design and the labels of those of the nodes that the design has.

    ``fingerprint``: the keyed digest of a text with secrets.
    """
    documents = [rendered.document for rendered in rendering.documents]
    secret = {rendered.document.key for rendered in rendering.documents if rendered.secret}
    by_name, machines = profiles(documents), rendering.machines.nodes
    hardware = {document.name: document for document in documents if document.schema == HARDWARE_PROFILE}
    found: dict[NodeName, Aspects] = {}
    for document in documents:
        name = NodeName(document.name)
        if document.schema != BAREMETAL_NODE or name not in nodes:
            continue
        machine = machines[name]
        profile = hardware.get(machine.hardware)
        used = [*lineage(document, by_name), *([profile] if profile else [])]
        text = json.dumps([_unlabelled(each.data) for each in used], sort_keys=True, default=str)
        is_secret = any(each.key in secret for each in used)
        digest = fingerprint(text.encode()) if is_secret else _digest(text)
        found[name] = {DESIGN: digest, LABELS: labelled(dict(machine.labels))}
    return found


def labelled(labels: Mapping[str, str]) -> str:
    """Return the digest of labels."""
    return _digest(json.dumps(labels, sort_keys=True))


def stepped(steps: Sequence[TemplateStep]) -> Aspects:
    """Return the aspects of the templates of a node."""
    by_template: defaultdict[str, list[str]] = defaultdict(list)
    for template, step in steps:
        written = by_template[template]
        if step.priority:
            written.append(json.dumps(step.to_json(), sort_keys=True))
    return {f"{STEPS}{template}": _digest("\n".join(sorted(written))) for template, written in by_template.items()}


def each_stepped(requested: RequestedSteps) -> Mapping[NodeName, Aspects]:
    """Return the aspects of the templates of each node; nodes that share their steps cost no more than one."""
    return {node: aspects for nodes, steps in shared_steps(requested) for aspects in [stepped(steps)] for node in nodes}


def differing(given: Aspects, wanted: Aspects) -> frozenset[str]:
    """Return the aspects in which a node would have to be given something else."""
    return frozenset(aspect for aspect, digest in wanted.items() if given.get(aspect) != digest)


def older_specification(nodes: Sequence[str]) -> str:
    """Return the sentence about servers that an action leaves as they are although its design differs."""
    omitted = f" and {len(nodes) - _NAMED} more" if len(nodes) > _NAMED else ""
    run = "server runs" if len(nodes) == 1 else "servers run"
    return f"{len(nodes)} {run} an older specification: {', '.join(nodes[:_NAMED])}{omitted}"


def _unlabelled(data: Any) -> Any:
    """Return the data of a document without its labels, which are an aspect of their own."""
    metadata = data.get("metadata") if isinstance(data, Mapping) else None
    if not isinstance(metadata, Mapping):
        return data
    return {**data, "metadata": {key: value for key, value in metadata.items() if key != "owner_data"}}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
