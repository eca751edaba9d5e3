"""``python -m shipyard_api.simulators.drydock``: a Drydock over a simulated site."""

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from shipyard_api.simulators.drydock.server import announce, exit_on_signals, exit_with_parent
from shipyard_api.simulators.drydock.simulator import Simulator
from shipyard_api.simulators.scenario import Scenario, ScenarioInvalid, load_scenario, scenario_names


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes; return 2 for arguments that cannot be used, after naming every fault."""
    exit_on_signals()
    parser = _parser()
    options = parser.parse_args(arguments)
    faults: list[str] = []
    scenario = Scenario()
    try:
        scenario = load_scenario(options.scenario)
    except ScenarioInvalid as cause:
        faults += [f"--scenario {options.scenario}: {fault}" for fault in cause.faults]
    if not 0 <= options.port <= 65_535:
        faults.append(f"--port: {options.port} is not between 0 and 65535")
    if not (math.isfinite(options.time_scale) and options.time_scale > 0):
        faults.append(f"--time-scale: {options.time_scale} is not above 0")
    for option, path in (("--ready-file", options.ready_file), ("--log-file", options.log_file)):
        if path is not None and not path.absolute().parent.is_dir():
            faults.append(f"{option}: there is no directory {path.absolute().parent}")
    if options.die_with_parent and not hasattr(os, "pidfd_open"):
        faults.append("--die-with-parent: needs Linux")
    if not faults:
        return _serve(options, scenario)
    for fault in faults:
        sys.stderr.write(f"{parser.prog}: {fault}\n")
    return 2


def _serve(options: argparse.Namespace, scenario: Scenario) -> int:
    if options.die_with_parent:
        exit_with_parent()
    try:
        simulator = Simulator(
            scenario,
            time_scale=options.time_scale,
            port=options.port,
            log_file=options.log_file,
            design_token=options.design_token,
            token=options.token,
        )
        if options.ready_file:
            announce(options.ready_file, simulator.url)
    except OSError as cause:
        sys.stderr.write(f"drydock simulator: {cause}\n")
        return 2
    sys.stdout.write(f"Drydock simulator at {simulator.url}/api/v1.0, scenario {scenario.name}\n")
    sys.stdout.flush()
    with simulator:
        simulator.serve()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="shipyard simulate drydock",
        description="Speak Drydock's REST API over a simulated site, on 127.0.0.1.",
    )
    parser.add_argument("--port", type=int, default=9001, help="port to listen on; 0 takes a free one")
    parser.add_argument(
        "--scenario",
        default="calm",
        help=f"a scenario file, or one of: {', '.join(scenario_names())} (default: calm)",
    )
    parser.add_argument(
        "--time-scale",
        type=float,
        default=1.0,
        help="seconds that a nominal second takes (default: 1, 0.01 is a hundred times as fast)",
    )
    parser.add_argument("--ready-file", type=Path, help="written with url and pid once the simulator listens")
    parser.add_argument("--log-file", type=Path, help="events are appended here, one JSON object a line")
    parser.add_argument(
        "--design-token",
        default=os.environ.get("SIMULATOR_DESIGN_TOKEN"),
        help="token for fetching designs (or SIMULATOR_DESIGN_TOKEN): it stands for Drydock's own account",
    )
    parser.add_argument(
        "--token",
        default=os.environ.get("SIMULATOR_TOKEN"),
        help="token that clients have to send (or SIMULATOR_TOKEN); without one, everybody is let in",
    )
    parser.add_argument(
        "--die-with-parent", action="store_true", help="end when the starting process ends, however it ends"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
