"""``python -m shipyard_simulators.maas``: the simulated MAAS region controller as a program."""

import argparse
import os
import sys
from pathlib import Path

from shipyard_simulators.maas.accounts import OPEN_TO_ALL, ApiUser, key_faults
from shipyard_simulators.maas.simulator import MaasSimulator
from shipyard_simulators.maas.site import SiteInvalid, read_site
from shipyard_simulators.maas.wire import API
from shipyard_simulators.program import Program
from shipyard_simulators.scenario import Scenario


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--site", type=Path, help="the machines: a list of them, or the documents of a site design, as YAML or JSON"
    )
    key = "CONSUMER:TOKEN:SECRET"
    parser.add_argument(
        "--api-key",
        action="append",
        default=[],
        metavar=f"[USER=]{key}",
        help="API key of an administrator (or SIMULATOR_API_KEY); may be repeated. Without one, any key is accepted",
    )
    parser.add_argument(
        "--user-key", action="append", default=[], metavar=f"USER={key}", help="API key of a user with fewer rights"
    )
    parser.add_argument("--state", type=Path, help="file that keeps the region over a restart")


def _faults(options: argparse.Namespace) -> list[str]:
    faults = [f"--api-key: {fault}" for _, key in _keys(options.api_key) for fault in key_faults(key)]
    if not options.api_key:
        faults += [f"SIMULATOR_API_KEY: {fault}" for key in _from_environment() for fault in key_faults(key)]
    faults += [f"--user-key: {fault}" for _, key in _keys(options.user_key) for fault in key_faults(key)]
    faults += [f"--user-key: {each} has no user" for each in options.user_key if "=" not in each]
    if options.state is not None and not options.state.absolute().parent.is_dir():
        faults.append(f"--state: there is no directory {options.state.absolute().parent}")
    if options.site is not None:
        try:
            read_site(options.site)
        except SiteInvalid as cause:
            faults += [f"--site {options.site}: {fault}" for fault in cause.faults]
    return faults


def _start(options: argparse.Namespace, scenario: Scenario) -> MaasSimulator:
    keys = options.api_key or _from_environment()
    accounts = [ApiUser(name, key) for name, key in _keys(keys)]
    accounts += [ApiUser(name, key, administrator=False) for name, key in _keys(options.user_key)]
    return MaasSimulator(
        scenario,
        machines=read_site(options.site) if options.site else (),
        accounts=accounts,
        time_scale=options.time_scale,
        port=options.port,
        log_file=options.log_file,
        state=options.state,
    )


def _from_environment() -> list[str]:
    key = os.environ.get("SIMULATOR_API_KEY")
    return [key] if key else []


def _keys(words: list[str]) -> list[tuple[str, str]]:
    """Return pairs of user and key; a key without a user belongs to the owner of the machines."""
    return [(user or OPEN_TO_ALL, key) for user, _, key in (word.rpartition("=") for word in words)]


PROGRAM = Program(
    name="MAAS",
    api=API,
    description="Speak the HTTP API 2.0 of a MAAS region controller over simulated machines",
    port=5240,
    scenario_note="(default: calm)",
    log_note="requests and changes of machines",
    add_options=_add_options,
    faults=_faults,
    start=_start,
)

if __name__ == "__main__":
    sys.exit(PROGRAM.run())
