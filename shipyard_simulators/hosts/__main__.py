"""``python -m shipyard_simulators.hosts``: simulated hosts as a program."""

import argparse
import logging
import resource
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from shipyard_simulators.addresses import read_addresses
from shipyard_simulators.hosts.simulator import HostsSimulator
from shipyard_simulators.program import Program
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site", type=Path, help="a site design as a YAML stream; its nodes are the hosts")
    parser.add_argument(
        "--directory", type=Path, help="where keys and hosts are kept (default: a temporary one, deleted at the end)"
    )
    parser.add_argument("--ssh-port", type=int, default=2222, help="port of the jump host; 0 takes a free one")
    parser.add_argument(
        "--follow", type=Path, metavar="LOG", help="event log of a simulated provisioner; only what it deploys is there"
    )


def _faults(options: argparse.Namespace) -> list[str]:
    faults = []
    try:
        _addresses(options)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        faults.append(f"--site: {options.site} cannot be read: {' '.join(str(cause).split())}")
    if not 0 <= options.ssh_port <= 65_535:
        faults.append(f"--ssh-port: {options.ssh_port} is not between 0 and 65535")
    if not Path("/proc/self/environ").exists():
        faults.append("simulated hosts need Linux")
    return faults


def _addresses(options: argparse.Namespace) -> Mapping[str, tuple[str, ...]]:
    found = read_addresses(options.site) if options.site else {}
    return {name: tuple(own.values()) for name, own in found.items()}


def _start(options: argparse.Namespace, scenario: Scenario) -> HostsSimulator:
    # A client that closes its jump host leaves answers without a reader; asyncio warns of each.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    # A connection takes two file descriptors, and a command three.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    simulator = HostsSimulator(
        scenario,
        addresses=_addresses(options),
        directory=options.directory.absolute() if options.directory else None,
        time_scale=options.time_scale,
        port=options.port,
        ssh_port=options.ssh_port,
        log_file=options.log_file,
        follow=options.follow,
    )
    sys.stdout.write(f"SSH: jump host shipyard@127.0.0.1:{simulator.ssh_port}, keys in {simulator.directory}\n")
    return simulator


PROGRAM = Program(
    name="hosts",
    api="/simulator/hosts",
    description="Run tasks over SSH on hosts that are directories of this machine",
    port=9003,
    scenario_note="(default: calm)",
    log_note="events",
    add_options=_add_options,
    faults=_faults,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
