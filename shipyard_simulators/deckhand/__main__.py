"""``python -m shipyard_simulators.deckhand``: the simulated Deckhand as a program."""

import argparse
import sys

from shipyard_simulators.deckhand.behaviour import Behaviour
from shipyard_simulators.deckhand.rights import RIGHTS
from shipyard_simulators.deckhand.simulator import DeckhandSimulator
from shipyard_simulators.deckhand.wire import API
from shipyard_simulators.program import Program, add_token
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_token(parser, without="any token is accepted")
    parser.add_argument(
        "--deny",
        action="append",
        default=[],
        metavar="RIGHT",
        help="a right to withhold from all callers; may be repeated",
    )
    rendering = parser.add_mutually_exclusive_group()
    rendering.add_argument("--correct-rendering", action="store_true", help="delete at the path, always copy (default)")
    rendering.add_argument(
        "--with-defects",
        action="store_true",
        help="delete by value and share substituted objects, as the real Deckhand does",
    )
    parser.add_argument(
        "--well-behaved",
        action="store_true",
        help="without the real Deckhand's defects in rollback, tags, conflicts, cache and concurrent writes",
    )


def _faults(options: argparse.Namespace) -> list[str]:
    return [
        f"--deny: {right} is not a right; rights are {', '.join(RIGHTS)}"
        for right in options.deny
        if right not in RIGHTS
    ]


def _start(options: argparse.Namespace, scenario: Scenario) -> DeckhandSimulator:
    behaviour = Behaviour()
    if options.with_defects:
        behaviour = behaviour.with_defects()
    if options.well_behaved:
        behaviour = behaviour.well_behaved()
    return DeckhandSimulator(
        scenario,
        behaviour=behaviour,
        time_scale=options.time_scale,
        port=options.port,
        log_file=options.log_file,
        token=options.token,
        denied=frozenset(options.deny),
    )


PROGRAM = Program(
    name="Deckhand",
    api=API,
    description="Speak Deckhand's REST API over documents in memory",
    port=9002,
    scenario_note="; only its service faults are used",
    log_note="requests",
    add_options=_add_options,
    faults=_faults,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
