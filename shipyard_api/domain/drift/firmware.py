"""The firmware that a design wants on its nodes: the documents shipyard/FirmwareVersions/v1 (product, section 8).

Steps that install firmware name files, so the versions are documents of their own. Several documents add up.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shipyard_api.domain.documents import Rendering
from shipyard_api.domain.drift.settings import Wanted, WantedValues
from shipyard_api.domain.findings import Finding, error, in_short, warning
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.strategy.selectors import select
from shipyard_api.domain.strategy.strategy import parse_selector

SCHEMA = "shipyard/FirmwareVersions/v1"
SHIPPED = "firmware_versions_v1"
_MOST_NAMED = 5
_SERVICES = {"template", "runbook"}


def read_firmware(
    rendering: Rendering, check: Callable[[str, object], tuple[Finding, ...]]
) -> tuple[WantedValues, tuple[Finding, ...]]:
    """Return the version of each component that nodes have to have, and all findings on the documents.

    ``check``: checks a value against a schema that ships with Shipyard. A document with an error counts for no node.
    """
    baselines = [rendered for rendered in rendering.documents if rendered.document.schema == SCHEMA]
    if not baselines:
        return {}, ()
    machines = rendering.machines
    wanted: defaultdict[NodeName, dict[str, Wanted]] = defaultdict(dict)
    findings: list[Finding] = []
    for rendered in baselines:
        data = rendered.document.data
        if rendered.secret:
            faults = [error("SecretInDeploymentDocument", f"A {SCHEMA} cannot be secret: differences show it.")]
        else:
            faults = list(check(SHIPPED, data)) or list(_service_faults(data))
        chosen = frozenset[NodeName]() if faults else select([parse_selector(at) for at in data["selectors"]], machines)
        if not faults and (unknown := sorted(_named(data) - machines.nodes.keys())):
            message = f"The design has no node {in_short(unknown, _MOST_NAMED)}; correct the names."
            faults.append(warning("FirmwareOfUnknownNode", message, path="/selectors"))
        elif not faults and not chosen:
            faults.append(warning("FirmwareOfNoNode", "No node of the design is selected.", path="/selectors"))
        by = "".join(f"{kind}={data[kind]}" for kind in _SERVICES if kind in data) if chosen else ""
        versions = {name: Wanted(version, by) for name, version in data["versions"].items()} if chosen else {}
        if twice := [node for node in sorted(chosen) if _differ(wanted[node], versions)]:
            message = f"{in_short(twice, _MOST_NAMED)}: another document wants other versions of a component."
            faults = [error("FirmwareVersionsDiffer", message, path="/versions")]
        for node in () if twice else chosen:
            wanted[node].update(versions)
        findings += [fault.about(rendered.document.ref) for fault in faults]
    return {node: versions for node, versions in wanted.items() if versions}, tuple(findings)


def _service_faults(data: Mapping[str, object]) -> Iterator[Finding]:
    if len(_SERVICES & data.keys()) != 1:
        message = "Name the template or the runbook whose service installs these versions: one of them."
        yield error("FirmwareWithoutService", message)


def _named(data: Mapping[str, Any]) -> frozenset[NodeName]:
    return frozenset[NodeName]().union(*(parse_selector(selector).node_names for selector in data["selectors"]))


def _differ(first: Mapping[str, Wanted], second: Mapping[str, Wanted]) -> bool:
    return any(first[name].value != second[name].value for name in first.keys() & second.keys())
