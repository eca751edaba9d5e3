"""Task graphs for tests: builders, the seed's examples, and real graphs beside the checkout."""

import json
from pathlib import Path
from typing import Any

import pytest

from shipyard_api.domain.findings import errors
from shipyard_api.domain.task_graph.checks import check_tasks
from shipyard_api.domain.task_graph.graph import TaskGraph
from shipyard_api.domain.task_graph.tasks import parse_tasks

REAL_GRAPHS = Path(__file__).parents[2] / "shared" / "data" / "task-graphs"
PUPPET = {"puppet_manifest": "/etc/puppet/site.pp", "puppet_modules": "/etc/puppet/modules"}


def task(name: str, **fields: Any) -> dict[str, Any]:
    """Return a shell task."""
    return {"id": name, "type": "shell", "parameters": {"cmd": f"run {name}"}, **fields}


def group(name: str, strategy: str = "parallel", amount: int | None = None, **fields: Any) -> dict[str, Any]:
    """Return a group of the role of its name, unless a role or tags are given."""
    chosen = {"type": strategy} if amount is None else {"type": strategy, "amount": amount}
    nodes = {} if "tags" in fields or "role" in fields else {"role": [name]}
    return {"id": name, "type": "group", "parameters": {"strategy": chosen}, **nodes, **fields}


def stage(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "type": "stage", **fields}


def graph(*entries: dict[str, Any]) -> TaskGraph:
    """Return the graph of a document without errors."""
    assert errors(check_tasks(list(entries))) == ()
    return TaskGraph.of(parse_tasks(entries))


def real_graph(name: str) -> list[dict[str, Any]]:
    """Return the tasks of a real deployment graph; skips the test where the data is not there."""
    path = REAL_GRAPHS / f"fuel-library-{name}.json"
    if not path.is_file():
        pytest.skip(f"the real task graphs are not beside this checkout ({path})")
    tasks: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["tasks"]
    return tasks


def evaluated(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a real graph as if Fuel had evaluated what it computes: conditions hold, and relations have no effect."""
    computed = ("condition", "cross-depends", "cross-depended-by")
    return [
        {key: value for key, value in entry.items() if key not in computed or not isinstance(value, dict)}
        for entry in entries
    ]


def _both(name: str, kind: str, **parameters: Any) -> dict[str, Any]:
    groups = ["controller", "primary-controller", "compute", "network", "cinder"]
    return {"id": name, "type": kind, "groups": groups, "required_for": ["deploy"], "parameters": parameters}


SEED_GRAPH: list[dict[str, Any]] = [
    stage("deploy"),
    group("primary-controller", "one_by_one", required_for=["deploy"]),
    group("controller", amount=2, requires=["primary-controller"], required_for=["deploy"]),
    group("cinder", requires=["controller"], required_for=["deploy"]),
    group("compute", requires=["controller"], required_for=["deploy"]),
    group("network", requires=["controller"], required_for=["compute", "deploy"]),
    {
        **_both("setup_services", "puppet", puppet_manifests="/etc/puppet/manifests/controller.pp", timeout=360),
        "requires": ["setup_network"],
    },
    _both("setup_network", "shell", cmd="run_setup_network.sh", timeout=120),
]
"""The worked example of seed 001, with its role ``primar-controller`` spelt ``primary-controller``."""
SEED_GRAPH[6]["parameters"]["puppet_modules"] = "/etc/puppet/modules"

ALTERNATIVE: list[dict[str, Any]] = [
    {
        "id": "primary-controller",
        "type": "puppet",
        "required_for": ["deploy"],
        "role": ["primary-controller"],
        "strategy": {"type": "one_by_one"},
        "parameters": PUPPET,
    },
    {
        "id": "controller",
        "type": "puppet",
        "requires": ["primary-controller"],
        "required_for": ["deploy"],
        "strategy": {"type": "parallel", "amount": 2},
        "parameters": PUPPET,
    },
    *(
        {
            "id": role,
            "type": "puppet",
            "requires": ["controller"],
            "strategy": {"type": "parallel"},
            "parameters": PUPPET,
        }
        for role in ("compute", "cinder", "ceph-osd")
    ),
]
"""The alternative model of seed 001, with the ``puppet_modules`` that it leaves out."""

MAINTENANCE = [
    task("put_compute_into_maintenance_mode", role=["primary-controller"]),
    task("migrate_vms_from_compute", role=["primary-controller"], requires=["put_compute_into_maintenance_mode"]),
    task("reinstall_ovs", role=["compute"], requires=["put_compute_into_maintenance_mode", "migrate_vms_from_compute"]),
    task("make_compute_available", role=["primary-controller"], requires=["reinstall_ovs"]),
]
"""The cross-references of seed 001, with its ``put_vm_into_maintenance_mode`` and ``reinstall_vs`` spelt as the ids."""
