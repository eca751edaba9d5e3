"""The record of what a node was given, by aspect, as digests that can be compared (product, section 14)."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from shipyard_api.domain.actions import ActionId
from shipyard_api.domain.deploy_steps.planning import RequestedSteps, shared_steps
from shipyard_api.domain.deploy_steps.templates import TemplateStep
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import in_short
from shipyard_api.domain.nodes import NodeName

Aspects = Mapping[str, str]
"""A digest by aspect."""

DESIGN = "design"
"""Marks what was given as a whole: its documents, and not only an aspect or two."""

ALL_STEPS = "steps"
"""Marks aspects that name every template which the design chooses for a node; without it, nobody asked for others."""

LABELS = "labels"
PLACEMENT = "placement"
STEPS = "steps:"
"""The prefix of the aspect of a template: its steps. Steps of priority 0 do not count, as no service runs them."""

ONCE = "once:"
"""The prefix of the aspect of a template, or runbook, that a service ran and that the design did not choose."""

GONE = "gone:"
"""The prefix of an aspect that the record has and the design no longer: only a new installation is without it."""

_MARKS = frozenset({DESIGN, ALL_STEPS})
_NO_TASKS = {"software": ""}
_NOTHING = frozenset[str]()


class Given(Struct, frozen=True):
    """What a node was given, by which action; an adopted node by none.

    ``aspects``: records of earlier releases lack those of the documents. ``revisions``: of the aspects that came later
    than ``revision``. ``provisioner``: the one that installed the node, empty where it is not known.
    """

    action: ActionId
    revision: Revision | None
    aspects: Aspects
    revisions: Mapping[str, int] = field(default_factory=dict)
    provisioner: str = ""
    adopted_by: str = ""

    def revision_of(self, aspect: str) -> Revision | None:
        """Return the revision that an aspect is of."""
        later = self.revisions.get(aspect)
        return self.revision if later is None else Revision(later)


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
    """Return the aspects in which a node would have to be given something else, of those that are asked for.

    A server whose record names no software was given none.
    """
    changed = [aspect for aspect, digest in wanted.items() if given.get(aspect) != digest]
    if not changed and ALL_STEPS not in wanted:
        return _NOTHING  # of most of 10,000 nodes
    found = [aspect for aspect in changed if aspect not in _MARKS and _had(given, aspect) != wanted[aspect]]
    return frozenset((*found, *(f"{GONE}{aspect}" for aspect in vanished(given, wanted))))


def vanished(given: Aspects, wanted: Aspects) -> Sequence[str]:
    """Return the aspects of the templates that the design chose for a node and chooses no more."""
    if ALL_STEPS not in wanted:
        return ()
    return [aspect for aspect in given if aspect.startswith(STEPS) and aspect not in wanted]


def once(aspects: Aspects, chosen: Collection[str]) -> Aspects:
    """Return the aspects of templates that a service runs: ``chosen`` ones count for the design, others do not."""
    return {
        aspect if aspect in chosen else f"{ONCE}{aspect.removeprefix(STEPS)}": digest
        for aspect, digest in aspects.items()
    }


def _had(given: Aspects, aspect: str) -> str | None:
    if aspect in given or not aspect.startswith(STEPS):
        return given.get(aspect, _NO_TASKS.get(aspect))
    return given.get(f"{ONCE}{aspect.removeprefix(STEPS)}")


def older_specification(nodes: Sequence[str]) -> str:
    """Return the sentence about servers that an action leaves as they are although its design differs."""
    run = "server runs" if len(nodes) == 1 else "servers run"
    return f"{len(nodes)} {run} an older specification: {in_short(nodes)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
