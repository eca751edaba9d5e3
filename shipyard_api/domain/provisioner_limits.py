"""What a provisioner cannot do, and the nodes of a design that it therefore cannot deploy (product, section 3)."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from shipyard_api.domain.documents.machines import BAREMETAL_NODE
from shipyard_api.domain.findings import DocumentRef, Finding, Level, in_short
from shipyard_api.domain.nodes import NodeName

_TO_DO = "rename these BaremetalNode documents"


class ProvisionerLimits(Struct, frozen=True):
    """The limits that the adapter of a provisioner declares; the defaults are none.

    ``system``: its name, as operators know it. ``longest_name``: the most characters of a node name. ``names``: a
    pattern that a name must match as a whole; ``names_are`` is the same in words, after "node names". ``ignores_case``:
    names that differ only in case are one machine. ``preserves_storage``: a destroy can keep all disks but the
    operating system's. ``relabels``: it sets the labels of Kubernetes nodes itself.
    ``no_rebuild``: why it cannot install deployed machines again, as the end of a sentence; empty: it can.
    ``no_service``: the same of steps on machines that stay deployed; ``no_clean``: of steps on machines before their
    deployment; ``no_power_cycle``: of switching a machine off and on while it works on it; ``no_reboot``: of doing that
    with machines that stay deployed, once for each job; ``no_retry``: of beginning work on a machine again.
    ``released_by_deploy``: its labels, in lower case, of machines that its preparation refuses for ever and its
    deployment releases.
    """

    system: str = "the provisioner"
    longest_name: int | None = None
    names: re.Pattern[str] | None = None
    names_are: str = ""
    ignores_case: bool = False
    preserves_storage: bool = True
    relabels: bool = False
    no_rebuild: str = "it has no such operation"
    no_service: str = "it has no such operation"
    no_clean: str = "it has no such operation"
    no_power_cycle: str = "it has no such operation"
    no_reboot: str = "it has no such operation"
    no_retry: str = "it has no such operation"
    released_by_deploy: frozenset[str] = frozenset()

    def too_long(self, name: str) -> bool:
        """Return whether the name has more characters than the provisioner stores."""
        return self.longest_name is not None and len(name) > self.longest_name

    def accepts(self, name: str) -> bool:
        """Return whether a node may have this name."""
        return not self.too_long(name) and (self.names is None or self.names.fullmatch(name) is not None)


NO_LIMITS = ProvisionerLimits()


def check_names(
    limits: ProvisionerLimits, nodes: Collection[NodeName], deployed: Collection[NodeName]
) -> tuple[Finding, ...]:
    """Return a finding for each limit that nodes break: an error for nodes to deploy, a warning for the others."""
    ordered = sorted(nodes)
    long = [name for name in ordered if limits.too_long(name)]
    odd = [name for name in ordered if limits.names is not None and not limits.names.fullmatch(name)]
    findings = []
    for level, names in _by_level(long, deployed):
        shown = in_short(f"{name} ({len(name)})" for name in names)
        message = f"{limits.system} accepts node names of at most {limits.longest_name} characters. Longer: {shown}."
        findings.append(_finding("NodeNameTooLong", level, f"{message} Shorten them: {_TO_DO}.", names))
    for level, names in _by_level(odd, deployed):
        message = f"{limits.system} accepts only node names {limits.names_are}. Others: {in_short(names)}."
        findings.append(_finding("NodeNameNotAccepted", level, f"{message} To correct them, {_TO_DO}.", names))
    if limits.ignores_case:
        findings.extend(_twins(limits, ordered, deployed))
    return tuple(findings)


def _twins(limits: ProvisionerLimits, nodes: Sequence[NodeName], deployed: Collection[NodeName]) -> Iterator[Finding]:
    alike: defaultdict[str, list[NodeName]] = defaultdict(list)
    for name in nodes:
        alike[name.lower()].append(name)
    for names in alike.values():
        if len(names) > 1:
            level = Level.ERROR if any(name in deployed for name in names) else Level.WARNING
            message = f"{', '.join(names)} are one machine to {limits.system}, which ignores upper and lower case."
            yield _finding("NodesShareName", level, f"{message} Rename all but one of the documents.", names)


def _by_level(names: Sequence[NodeName], deployed: Collection[NodeName]) -> Iterator[tuple[Level, Sequence[NodeName]]]:
    affected = [name for name in names if name in deployed]
    others = [name for name in names if name not in deployed]
    yield from ((level, held) for level, held in ((Level.ERROR, affected), (Level.WARNING, others)) if held)


def _finding(name: str, level: Level, message: str, nodes: Sequence[NodeName]) -> Finding:
    return Finding(name, level, message, documents=tuple(DocumentRef(BAREMETAL_NODE, node) for node in nodes))
