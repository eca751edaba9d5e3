"""``python -m shipyard_simulators.ironic``: the simulated Ironic as a program."""

import argparse
import os
import sys
from pathlib import Path

from shipyard_simulators.ironic.conductor import Limits
from shipyard_simulators.ironic.node import DRIVERS
from shipyard_simulators.ironic.saved import StateUnreadable
from shipyard_simulators.ironic.simulator import IronicSimulator
from shipyard_simulators.ironic.site import SiteUnreadable, read_site
from shipyard_simulators.ironic.versions import LATEST, MINIMUM
from shipyard_simulators.ironic.wire import API
from shipyard_simulators.program import Program, add_token
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_token(parser, without="no token is required")
    parser.add_argument("--auth", choices=("none", "basic"), default="none", help="authentication (default: none)")
    parser.add_argument("--basic-user", default=os.environ.get("SIMULATOR_BASIC_USER") or "admin")
    parser.add_argument(
        "--basic-password",
        default=os.environ.get("SIMULATOR_BASIC_PASSWORD"),
        help="for --auth basic (or SIMULATOR_BASIC_PASSWORD)",
    )
    parser.add_argument("--site", type=Path, help="a site design as a YAML stream; its nodes are enrolled at the start")
    parser.add_argument("--site-driver", choices=DRIVERS, default="redfish", help="the driver of these nodes")
    parser.add_argument(
        "--site-state", choices=("enroll", "manageable", "available"), default="enroll", help="their first state"
    )
    parser.add_argument("--state", type=Path, help="file that keeps nodes over a restart")
    parser.add_argument("--highest-version", type=int, default=LATEST, metavar="MINOR", help=f"default: {LATEST}")
    limits = Limits()
    parser.add_argument(
        "--most-deploying",
        type=int,
        default=limits.deploying,
        help="limit of concurrent operations; more are rejected with 503",
    )
    parser.add_argument(
        "--most-cleaning",
        type=int,
        default=limits.cleaning,
        help="limit of concurrent operations; more are rejected with 503",
    )
    parser.add_argument("--workers", type=int, default=limits.workers, help="threads of the conductor")


def _faults(options: argparse.Namespace) -> list[str]:
    faults = []
    if options.auth == "basic" and not options.basic_password:
        faults.append("--auth basic: needs --basic-password or SIMULATOR_BASIC_PASSWORD")
    if not MINIMUM <= options.highest_version <= LATEST:
        faults.append(f"--highest-version: {options.highest_version} is not between {MINIMUM} and {LATEST}")
    for option in ("most_deploying", "most_cleaning", "workers"):
        if getattr(options, option) < 0:
            faults.append(f"--{option.replace('_', '-')}: {getattr(options, option)} is below 0")
    if options.site is not None:
        try:
            read_site(options.site)
        except SiteUnreadable as cause:
            faults.append(f"--site: {cause}")
    if options.state is not None and not options.state.absolute().parent.is_dir():
        faults.append(f"--state: there is no directory {options.state.absolute().parent}")
    return faults


def _start(options: argparse.Namespace, scenario: Scenario) -> IronicSimulator:
    try:
        return IronicSimulator(
            scenario,
            time_scale=options.time_scale,
            port=options.port,
            log_file=options.log_file,
            site=read_site(options.site) if options.site is not None else (),
            driver=options.site_driver,
            site_state=options.site_state,
            basic=(options.basic_user, options.basic_password) if options.auth == "basic" else None,
            token=options.token,
            highest=options.highest_version,
            limits=Limits(options.most_deploying, options.most_cleaning, options.workers),
            state_file=options.state,
        )
    except StateUnreadable as cause:
        raise OSError(f"--state: {cause}") from cause


PROGRAM = Program(
    name="Ironic",
    api=API,
    description="Speak Ironic's bare metal API over simulated nodes",
    port=6385,
    scenario_note="(default: calm)",
    log_note="events",
    add_options=_add_options,
    faults=_faults,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
