"""``python -m shipyard_simulators.promenade``: the simulated Promenade as a program."""

import argparse
import sys

from shipyard_simulators.program import Program, add_token
from shipyard_simulators.promenade.simulator import PromenadeSimulator
from shipyard_simulators.promenade.wire import API
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_token(parser, without="any client is accepted")
    parser.add_argument("--node", action="append", default=[], metavar="NAME", help="a node; may be repeated")
    parser.add_argument("--no-teardown", action="store_true", help="leave out the teardown API, as released ones do")


def _start(options: argparse.Namespace, scenario: Scenario) -> PromenadeSimulator:
    return PromenadeSimulator(
        scenario,
        time_scale=options.time_scale,
        port=options.port,
        log_file=options.log_file,
        nodes=options.node,
        teardown=not options.no_teardown,
        token=options.token,
    )


PROGRAM = Program(
    name="Promenade",
    api=API,
    description="Speak Promenade's API over nodes that exist in memory only",
    port=9002,
    scenario_note="(default: calm)",
    log_note="requests",
    add_options=_add_options,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
