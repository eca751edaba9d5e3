"""The whole Ironic simulator and its port."""

import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from shipyard_simulators.clock import Clock
from shipyard_simulators.events import EventLog
from shipyard_simulators.ironic import saved
from shipyard_simulators.ironic.app import create_app
from shipyard_simulators.ironic.conductor import Conductor, Limits
from shipyard_simulators.ironic.site import SiteNode, enrol, put
from shipyard_simulators.ironic.versions import LATEST
from shipyard_simulators.scenario import Scenario
from shipyard_simulators.server import Simulated, in_thread

_SAVE_EVERY = 0.2


class IronicSimulator(Simulated):
    """A simulated Ironic. It listens on 127.0.0.1 from the start and answers while ``serve`` runs.

    ``time_scale``: real seconds per nominal second; ``clock`` replaces it. ``site``: the first nodes, all of ``driver``
    and in ``site_state``. ``basic``: user and password of http_basic; ``token``: the X-Auth-Token that clients must
    send; without both, any client is accepted. ``highest``: the latest minor version. ``state_file``: keeps nodes over
    a restart; if it exists, the site is not read.
    """

    def __init__(
        self,
        scenario: Scenario | None = None,
        *,
        time_scale: float = 1.0,
        port: int = 0,
        log_file: Path | None = None,
        site: Iterable[SiteNode] = (),
        driver: str = "redfish",
        site_state: str = "enroll",
        basic: tuple[str, str] | None = None,
        token: str | None = None,
        highest: int = LATEST,
        limits: Limits | None = None,
        state_file: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or Clock(time_scale)
        log = EventLog(log_file)
        self._conductor = Conductor(scenario or Scenario(), clock, log, limits)
        self._state_file = state_file
        if state_file is None or not saved.load(self._conductor, state_file):
            enrol(self._conductor, site, driver=driver, state=site_state)
        app = create_app(self._conductor, clock, log, highest=highest, basic=basic, token=token)
        super().__init__(app, port, log)
        self._ended = threading.Event()
        self._saving = threading.Thread(target=self._save, name="saving", daemon=True)

    def events(self) -> list[dict[str, Any]]:
        """Return the event log so far."""
        return self._conductor.events()

    def restart(self) -> list[str]:
        """Crash the conductor and start it again. Return the nodes whose operation was interrupted."""
        return self._conductor.restart()

    def put(self, node: str, **values: Any) -> None:
        """Set fields of a node directly, and cancel its operation."""
        self._conductor.look(lambda _registry: put(self._conductor, node, values))

    def _begin(self) -> None:
        self._conductor.start()
        if self._state_file is not None:
            self._saving.start()

    def _end(self) -> None:
        self._conductor.stop()

    def _close(self) -> None:
        self._ended.set()
        if self._saving.ident is not None:
            self._saving.join()

    def _save(self) -> None:
        """Save the nodes regularly, so that a killed program loses little, and once more at the end."""
        while self._state_file is not None:
            ended = self._ended.wait(_SAVE_EVERY)
            saved.save(self._conductor, self._state_file)
            if ended:
                return


def running(scenario: Scenario | None = None, **options: Any) -> AbstractContextManager[IronicSimulator]:
    """Run a simulator in a thread of this process while the block lasts; options are those of IronicSimulator."""
    return in_thread(IronicSimulator(scenario, **options))
