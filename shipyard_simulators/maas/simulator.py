"""The whole MAAS simulator and its port."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.maas.accounts import Accounts, ApiUser
from shipyard_simulators.maas.app import create_app
from shipyard_simulators.maas.region import Region
from shipyard_simulators.maas.seeding import seed_machines
from shipyard_simulators.maas.site import MachineSeed
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Simulated, in_thread

_LOOK_EVERY = 0.1


class MaasSimulator(Simulated):
    """A simulated MAAS. It listens on 127.0.0.1 from the start and answers while ``serve`` runs.

    ``machines``: those of the site; the scenario may add more. ``accounts``: the users; the first one owns machines
    that have an owner from the start; None accepts any key. ``time_scale``: real seconds per nominal second; ``clock``
    replaces it. ``state``: a file that keeps the region over a restart.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        machines: Sequence[MachineSeed] = (),
        accounts: Sequence[ApiUser] = (),
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        state: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or Clock(time_scale)
        log = EventLog(log_file)
        self._region = Region(scenario or Scenario(), clock, Accounts(accounts), log, state=state)
        seed_machines(self._region, machines)
        self._stopped = threading.Event()
        self._time = threading.Thread(target=self._look, name="maas simulator, time", daemon=True)
        # A body without a Content-Type differs from one whose type is no form.
        super().__init__(create_app(self._region, clock, log), port, log, untyped="")

    def requests(self) -> list[dict[str, Any]]:
        """Return every request so far, as the log has it."""
        return [each for each in self._log.events() if each["event"] == "request"]

    def history(self) -> list[dict[str, Any]]:
        """Return every change of every machine so far, in the order of time."""
        return list(self._region.read(lambda: list(self._region.history)))

    def events(self) -> list[dict[str, Any]]:
        """Return the log so far: requests and changes of machines, in the order in which they were written."""
        return list(self._region.read(self._log.events))

    def _begin(self) -> None:
        self._time.start()

    def _end(self) -> None:
        self._stopped.set()
        # Its last look must not fall into the time of a successor with the same file.
        self._time.join()

    def _look(self) -> None:
        """Log and save what becomes due, also while no request arrives."""
        while not self._stopped.wait(_LOOK_EVERY):
            self._region.read(lambda: None)

    def _close(self) -> None:
        self._stopped.set()


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[MaasSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of MaasSimulator."""
    return in_thread(MaasSimulator(scenario, **options))
