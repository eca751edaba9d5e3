"""A simulator as a program: common options and their checks, the ready file, signals, and serving."""

import argparse
import json
import math
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from shipyard_simulators.scenario import Scenario, ScenarioInvalid, load_scenario, scenario_names
from shipyard_simulators.server import Simulated


def _no_faults(_options: argparse.Namespace) -> Iterable[str]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The description of one simulator.

    ``port``: the default port. ``scenario_note`` and ``log_note`` are added to the help of the options. ``add_options``
    adds the simulator's own options, ``--token`` among them; ``faults`` returns what is wrong with their values.
    ``start`` may raise OSError.
    """

    name: str
    api: str
    description: str
    port: int
    scenario_note: str
    log_note: str
    add_options: Callable[[argparse.ArgumentParser], None]
    start: Callable[[argparse.Namespace, Scenario], Simulated]
    faults: Callable[[argparse.Namespace], Iterable[str]] = _no_faults

    def run(self, arguments: Sequence[str] | None = None) -> int:
        """Serve until a signal arrives. Return 2 for invalid options, after reporting every fault."""
        _exit_on_signals()
        parser = self._parser()
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
        faults += self.faults(options)
        if options.die_with_parent and not hasattr(os, "pidfd_open"):
            faults.append("--die-with-parent: needs Linux")
        if not faults:
            return self._serve(options, scenario)
        for fault in faults:
            sys.stderr.write(f"{parser.prog}: {fault}\n")
        return 2

    def _serve(self, options: argparse.Namespace, scenario: Scenario) -> int:
        if options.die_with_parent:
            _exit_with_parent()
        try:
            simulator = self.start(options, scenario)
            if options.ready_file:
                _announce(options.ready_file, simulator.url)
        except OSError as cause:
            sys.stderr.write(f"{self.name.lower()} simulator: {cause}\n")
            return 2
        sys.stdout.write(f"{self.name} simulator at {simulator.url}{self.api}, scenario {scenario.name}\n")
        sys.stdout.flush()
        with simulator:
            simulator.serve()
        return 0

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"shipyard simulate {self.name.lower()}", description=f"{self.description}, on 127.0.0.1."
        )
        parser.add_argument("--port", type=int, default=self.port, help="port to listen on; 0 takes a free one")
        parser.add_argument(
            "--scenario",
            default="calm",
            help=f"a scenario file, or one of: {', '.join(scenario_names())} {self.scenario_note}",
        )
        parser.add_argument(
            "--time-scale",
            type=float,
            default=1.0,
            help="real seconds per nominal second (default: 1; 0.01 is a hundred times as fast)",
        )
        parser.add_argument(
            "--ready-file", type=Path, help="file for the URL and the process id, written once the simulator listens"
        )
        parser.add_argument("--log-file", type=Path, help=f"file to append {self.log_note} to, one JSON object a line")
        self.add_options(parser)
        parser.add_argument(
            "--die-with-parent", action="store_true", help="exit when the parent process exits, however it exits"
        )
        return parser


def add_token(parser: argparse.ArgumentParser, *, without: str) -> None:
    """Add the option ``--token``; ``without`` describes in the help what happens otherwise."""
    parser.add_argument(
        "--token",
        default=os.environ.get("SIMULATOR_TOKEN") or None,
        help=f"token that clients must send (or SIMULATOR_TOKEN); without it, {without}",
    )


def _announce(ready_file: Path, url: str) -> None:
    """Write the URL and the process id to the ready file, atomically."""
    written = ready_file.with_name(f"{ready_file.name}.{os.getpid()}")
    written.write_text(json.dumps({"url": url, "pid": os.getpid()}) + "\n", encoding="utf-8")
    written.replace(ready_file)


def _exit_on_signals() -> None:
    """Exit with 0 on SIGTERM and SIGINT."""

    def leave(_signum: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)


def _exit_with_parent() -> None:
    """Exit when the parent process ends, however it ends."""
    parent = os.pidfd_open(os.getppid())

    def wait() -> None:
        poll = select.poll()
        poll.register(parent, select.POLLIN)
        poll.poll()
        os._exit(0)

    threading.Thread(target=wait, name="parent", daemon=True).start()
