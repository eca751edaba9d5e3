"""``python -m shipyard_simulators.etcd``: the simulated etcd cluster as a program."""

import argparse
import sys
from pathlib import Path

from shipyard_simulators.etcd.simulator import EtcdSimulator
from shipyard_simulators.program import Program
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--member", action="append", metavar="NAME", help="a member; repeatable (default: m1 to m3)")
    files = {"ca": "authority of members and clients", "cert": "members' certificate", "key": "certificate's key"}
    for name, what in files.items():
        parser.add_argument(f"--{name}", type=Path, help=f"PEM file of the {what}; members speak TLS with all three")


def _faults(options: argparse.Namespace) -> list[str]:
    given = [options.ca, options.cert, options.key]
    faults = [f"{file}: there is no such file" for file in given if file and not file.is_file()]
    if any(given) and not all(given):
        faults.append("--ca, --cert, --key: give all three or none")
    return faults


def _start(options: argparse.Namespace, _scenario: Scenario) -> EtcdSimulator:
    return EtcdSimulator(
        names=options.member or ("m1", "m2", "m3"),
        time_scale=options.time_scale,
        port=options.port,
        log_file=options.log_file,
        tls=(options.ca, options.cert, options.key) if options.ca else None,
    )


PROGRAM = Program(
    name="etcd",
    api="/simulator/members",
    description="Speak the JSON gateway of an etcd cluster whose members exist in memory only",
    port=2379,
    scenario_note="(default: calm; etcd has no part in it)",
    log_note="requests",
    add_options=_add_options,
    faults=_faults,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
