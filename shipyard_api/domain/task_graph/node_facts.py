"""What tasks may know of their site: a file for each node, and the values of ``{NAME}`` on it (seed 002, Data model).

The files hold no secrets: of the settings only those that conditions read, with every secret text masked.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from shipyard_api.domain.exact_secrets import without_secrets
from shipyard_api.domain.findings import Finding, error, in_short
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import NodeFiles, check_command, differs_by_node, keys_in
from shipyard_api.domain.task_graph.conditions import Facts, has_value, paths_in, value_of
from shipyard_api.domain.task_graph.roles import ClusterNode, Primaries, effective_names
from shipyard_api.domain.task_graph.run_values import RunValues
from shipyard_api.domain.task_graph.tasks import Domain, Task, TaskId

Addresses = Mapping[NodeName, Mapping[str, str]]
"""Address of each node by network."""

NO_VALUES = RunValues()
_ADDRESS, _VALUES = "ADDRESS.", "VALUES."


@dataclass(frozen=True)
class SiteFacts:
    """The nodes of a site as its tasks see them. ``nodes``: roles, tags and primaries of each, by domain.

    ``settings``: what conditions read, nested as in the cluster. ``values``: those of the run.
    """

    nodes: Mapping[NodeName, JsonObject] = field(default_factory=dict)
    addresses: Addresses = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)
    values: RunValues = field(default_factory=RunValues)

    @classmethod
    def of(
        cls,
        nodes: Iterable[ClusterNode],
        primaries: Primaries,
        addresses: Addresses,
        settings: JsonObject,
        secrets: Collection[str],
        values: RunValues = NO_VALUES,
    ) -> "SiteFacts":
        """Return the facts of a site. ``secrets``: texts that no file may have in it."""
        described = {
            node.name: {
                "roles": list(node.roles),
                "tags": list(node.tags),
                "primary_roles": _primaries(node, Domain.ROLES, primaries),
                "primary_tags": _primaries(node, Domain.TAGS, primaries),
            }
            for node in nodes
        }
        node_addresses = {name: addresses.get(name, {}) for name in described}
        return cls(described, node_addresses, masked(settings, secrets), values.knowing(secrets))

    def files(self, node: NodeName) -> NodeFiles:
        """Return the two files of a node: the same facts as JSON and as YAML."""
        values = {name: value for name, value in self.values.on(node).items() if name not in self.values.secret}
        node_facts = {"name": node, **self.nodes.get(node, {}), "addresses": dict(self.addresses.get(node, {}))}
        node_facts |= {"values": values} if values else {}
        as_json, as_yaml = self._shared
        return NodeFiles(
            f'{{"node": {json.dumps(node_facts)}, {as_json}}}\n'.encode(),
            "".join([*_yaml({"node": node_facts}), as_yaml]).encode(),
        )

    def keys(self, node: NodeName) -> Mapping[str, str]:
        """Return the values of ``{NAME}`` in parameters that differ by node."""
        addresses = {_ADDRESS + network: where for network, where in self.addresses.get(node, {}).items()}
        return {"NODE": node, **addresses, **self.values.keys(node)}

    @cached_property
    def _shared(self) -> tuple[str, str]:
        """What all files have, once for all nodes."""
        shared = {"roles": self._carriers("roles"), "tags": self._carriers("tags"), "settings": self.settings}
        return json.dumps(shared)[1:-1], "".join(_yaml(shared))

    def _carriers(self, kind: str) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
        """Return for every role or tag the addresses of the nodes that carry it, ``primary-x`` included."""
        carriers: dict[str, dict[str, Mapping[str, str]]] = {}
        for node, facts in self.nodes.items():
            for name in (*facts[kind], *(f"primary-{role}" for role in facts[f"primary_{kind}"])):
                carriers.setdefault(name, {})[node] = dict(self.addresses.get(node, {}))
        return dict(sorted(carriers.items()))


def setting_keys(models: Mapping[str, Mapping[str, Any]]) -> Mapping[str, str]:
    """Return the value of each ``{SETTINGS.x.y}`` that is no list and no object."""
    return dict(_flat("SETTINGS", models.get("settings", {})))


def read_settings(tasks: Iterable[Task], facts: Facts) -> JsonObject:
    """Return the settings that the conditions of tasks read, nested as in the cluster."""
    settings: dict[str, Any] = {}
    for task in tasks:
        for path in () if isinstance(task.condition, bool) else paths_in(task.condition):
            if path.model == "settings" and path.steps and has_value(path, facts):
                inner = settings
                for step in path.steps[:-1]:
                    inner = inner.setdefault(step, {})
                inner[path.steps[-1]] = value_of(path, facts)
    return settings


def node_faults(
    documents: Mapping[TaskId, JsonObject], nodes_of: Mapping[TaskId, Sequence[NodeName]], facts: SiteFacts
) -> Iterator[Finding]:
    """Return a finding for each task that cannot run on one of its nodes with the values of that node.

    ``documents``: those that do not differ by node have been checked.
    """
    for task, document in documents.items():
        if differs_by_node(document):
            yield from _unknown_keys(task, document, nodes_of.get(task, ()), facts) or _unusable(
                document, nodes_of.get(task, ()), facts
            )


def masked(value: Any, secrets: Collection[str]) -> Any:
    """Return a JSON value without these texts."""
    if isinstance(value, str):
        return without_secrets(value, secrets)
    if isinstance(value, list):
        return [masked(item, secrets) for item in value]
    return {name: masked(item, secrets) for name, item in value.items()} if isinstance(value, Mapping) else value


def _unknown_keys(task: TaskId, document: JsonObject, nodes: Sequence[NodeName], facts: SiteFacts) -> Sequence[Finding]:
    findings = []
    for key in sorted(key for key in keys_in(document) if key.startswith((_ADDRESS, _VALUES))):
        lacking = [node for node in nodes if key not in facts.keys(node)]
        if lacking:
            kind, _, name = key.partition(".")
            what = f"fixed address in '{name}'" if kind == "ADDRESS" else f"value '{name}' in this run"
            message = f"Task '{task}' uses {{{key}}}, and node {in_short(lacking, 1)} has no {what}."
            findings.append(error("NoValue", message))
    return findings


def _unusable(document: JsonObject, nodes: Sequence[NodeName], facts: SiteFacts) -> Sequence[Finding]:
    """Return the fault on the first node that has one."""
    for node in nodes:
        if faults := check_command(document, facts.keys(node)):
            return [replace(fault, message=f"On node {node}: {fault.message}") for fault in faults]
    return ()


def _primaries(node: ClusterNode, domain: Domain, primaries: Primaries) -> list[str]:
    names = zip(node.names(domain), effective_names(node, domain, primaries), strict=True)
    return [name for name, effective in names if name != effective]


def _flat(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(f"{prefix}.{name}", inner)
    elif isinstance(value, str):
        yield prefix, value
    elif value is not None and not isinstance(value, list):
        yield prefix, json.dumps(value)


def _yaml(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yield an object as lines of YAML: objects in blocks, everything else as JSON, which is YAML, too."""
    for name, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield f"{indent}{json.dumps(name)}:\n"
            yield from _yaml(inner, f"{indent}  ")
        else:
            yield f"{indent}{json.dumps(name)}: {json.dumps(inner)}\n"
