"""What all programs need. It imports little of what API and worker do, so that `shipyard token` starts sooner."""

import sys
from collections.abc import Callable

import click

from shipyard_api.adapters.procrastinate.wakeup import ProcrastinateWakeup
from shipyard_api.domain.error_kinds import ShipyardError
from shipyard_api.ports.state.errors import StoreUnavailable, UnsuitableDatabase
from shipyard_api.storage.unit_of_work import Store, connect
from shipyard_api.usecases.tokens import ApiTokens, TokenFault
from shipyard_api.wiring.settings import Settings, SettingsError
from shipyard_api.wiring.site_files import VARIABLE

SITES = click.option(
    "--sites",
    type=click.Path(file_okay=False),
    envvar=VARIABLE,
    help="Work for many sites: a directory with one settings file for each, NAME.conf.",
)
"""The option of programs that work for many sites."""


def run_program(program: Callable[[], int | None]) -> int:
    """Run a program and return its exit code. Faults that an operator can fix are one line each; bugs keep a traceback.

    2: invalid settings, or a database that this release cannot work with. 1: unreachable database, refused request.
    """
    try:
        return program() or 0
    except SettingsError as error:
        sys.stderr.write("".join(f"Error: {fault}\n" for fault in error.faults))
        return 2
    except UnsuitableDatabase as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    except (ShipyardError, TokenFault, StoreUnavailable, OSError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


def tokens(settings: Settings) -> ApiTokens:
    """Return the API tokens; needs only the database."""
    return ApiTokens(store(settings))


def store(settings: Settings) -> Store:
    """Return the store, on one connection."""
    if not settings.database.url:
        raise SettingsError(["DATABASE_URL is not set"])
    return Store(connect(settings.database.url, pool_size=1), ProcrastinateWakeup())


class Interrupt:
    """The handler of signals that end the program.

    Python drops what a handler raises inside of some callbacks, such as those around a fork: then ``check`` raises it.
    """

    def __init__(self) -> None:
        self._asked = False

    def __call__(self, _number: int, _frame: object) -> None:
        """Raise KeyboardInterrupt where the program is."""
        self._asked = True
        self.check()

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal has arrived, whatever became of it."""
        if self._asked:
            raise KeyboardInterrupt
