"""``python -m shipyard_simulators.drydock``: the simulated Drydock as a program."""

import argparse
import os
import sys

from shipyard_simulators.drydock.simulator import DrydockSimulator
from shipyard_simulators.drydock.task_views import API
from shipyard_simulators.program import Program, add_token
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--design-token",
        default=os.environ.get("SIMULATOR_DESIGN_TOKEN"),
        help="token that Drydock sends when it fetches designs (or SIMULATOR_DESIGN_TOKEN)",
    )
    add_token(parser, without="any client is accepted")


def _start(options: argparse.Namespace, scenario: Scenario) -> DrydockSimulator:
    return DrydockSimulator(
        scenario,
        time_scale=options.time_scale,
        port=options.port,
        log_file=options.log_file,
        design_token=options.design_token,
        token=options.token,
    )


PROGRAM = Program(
    name="Drydock",
    api=API,
    description="Speak Drydock's REST API over a simulated site",
    port=9001,
    scenario_note="(default: calm)",
    log_note="events",
    add_options=_add_options,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
