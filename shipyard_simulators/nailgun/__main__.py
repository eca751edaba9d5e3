"""``python -m shipyard_simulators.nailgun``: the simulated nailgun as a program."""

import argparse
import json
import sys
from pathlib import Path

from shipyard_simulators.nailgun.simulator import API, NailgunSimulator
from shipyard_simulators.nailgun.site import FuelSite, Version
from shipyard_simulators.program import Program, add_token
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_token(parser, without="any client is accepted")
    versions = [one.value for one in Version]
    parser.add_argument("--fuel", choices=versions, default=Version.TAGS.value, help="its version (default: 10.0)")
    parser.add_argument("--tasks", type=Path, help="JSON file with the tasks of the release, a list")


def _faults(options: argparse.Namespace) -> list[str]:
    if options.tasks is None:
        return []
    try:
        tasks = json.loads(options.tasks.read_text("utf-8"))
    except (OSError, ValueError) as error:
        return [f"--tasks {options.tasks}: {error}"]
    if isinstance(tasks, list) and all(isinstance(task, dict) and "id" in task for task in tasks):
        return []
    return [f"--tasks {options.tasks}: it is not a list of tasks with ids"]


def _start(options: argparse.Namespace, _scenario: Scenario) -> NailgunSimulator:
    tasks = json.loads(options.tasks.read_text("utf-8")) if options.tasks else ()
    return NailgunSimulator(
        FuelSite(version=Version(options.fuel), tasks=tasks),
        time_scale=options.time_scale,
        port=options.port,
        log_file=options.log_file,
        token=options.token,
    )


PROGRAM = Program(
    name="nailgun",
    api=API,
    description="Speak the reading part of nailgun's API, the server of Fuel",
    port=8000,
    scenario_note="(default: calm; nailgun has no part in it)",
    log_note="requests",
    add_options=_add_options,
    faults=_faults,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
