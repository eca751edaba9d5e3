"""``python -m shipyard_simulators.kubernetes``: the simulated Kubernetes API server as a program."""

import argparse
import sys
from pathlib import Path

import yaml

from shipyard_simulators.kubernetes.manifests import ordinary
from shipyard_simulators.kubernetes.simulator import KubernetesSimulator
from shipyard_simulators.kubernetes.versions import VERSIONS
from shipyard_simulators.kubernetes.wire import API
from shipyard_simulators.program import Program, add_token
from shipyard_simulators.scenario import Scenario

_NODE = "drydock/BaremetalNode/v1"


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_token(parser, without="any client is accepted")
    parser.add_argument("--site", type=Path, help="a site design as a YAML stream; its nodes are expected to join")
    parser.add_argument(
        "--node", action="append", default=[], metavar="NAME", help="a node that is expected to join; may be repeated"
    )
    parser.add_argument(
        "--follow", type=Path, metavar="LOG", help="event log of a simulated provisioner; only what it deploys joins"
    )
    parser.add_argument("--version", choices=tuple(VERSIONS), default="1.31", help="of Kubernetes (default: 1.31)")


def _faults(options: argparse.Namespace) -> list[str]:
    try:
        _nodes(options)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        return [f"--site: {options.site} cannot be read: {' '.join(str(cause).split())}"]
    return []


def _nodes(options: argparse.Namespace) -> list[str]:
    """Return the names of the expected nodes, those of the design first."""
    documents = yaml.safe_load_all(options.site.read_text(encoding="utf-8")) if options.site else ()
    of_design = [
        str(each["metadata"].get("name"))
        for each in documents
        if isinstance(each, dict) and each.get("schema") == _NODE and isinstance(each.get("metadata"), dict)
    ]
    return [*sorted(of_design), *options.node]


def _start(options: argparse.Namespace, scenario: Scenario) -> KubernetesSimulator:
    simulator = KubernetesSimulator(
        scenario,
        time_scale=options.time_scale,
        port=options.port,
        log_file=options.log_file,
        nodes=_nodes(options) if options.follow is None else options.node,
        follow=options.follow,
        token=options.token,
        version=options.version,
    )
    if options.site:
        simulator.add(*ordinary(len(_nodes(options))))
    return simulator


PROGRAM = Program(
    name="Kubernetes",
    api=API,
    description="Speak the Kubernetes API over nodes and pods that exist in memory only",
    port=8001,
    scenario_note="(default: calm)",
    log_note="events",
    add_options=_add_options,
    faults=_faults,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
