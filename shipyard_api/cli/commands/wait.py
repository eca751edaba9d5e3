"""``shipyard wait``: block until an action ends, for scripts; ``watch`` shows what happens meanwhile."""

import math
import time

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.request import fail
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions

_PAUSE = 2.0  # seconds between two reads
_OUTAGE_LIMIT = 300.0  # seconds without an answer; restarting or replacing a server takes less
_ENDED = {"Complete": 0, "Failed": 1}


@click.command(
    short_help="Wait until an action ends.",
    epilog=examples(
        "shipyard wait",
        "shipyard wait 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "shipyard wait action/01ARZ3NDEKTSV4RRFFQ69G5FAV --timeout 3600",
    ),
)
@shared_options.newest_action
@click.option("--timeout", type=click.FloatRange(min=0), help="Seconds to wait at most. (default: no limit)")
@click.pass_obj
def wait(options: GlobalOptions, /, action_id: str, timeout: float | None) -> None:
    """Wait until an action, or without ACTION the newest one, ends and print how.

    Exit code 0 if it succeeded, 1 if it failed or is not over in time.
    """
    action = check_action_id(action_id)
    try:
        lifecycle = _end(Api(options), action, math.inf if timeout is None else timeout)
    except ApiError as error:
        fail(options, error)
    click.echo(f"action/{action} {lifecycle}")
    raise SystemExit(_ENDED[lifecycle])


def _end(api: Api, action: str, timeout: float) -> str:
    """Return the lifecycle of the action once it has ended. Raises ApiError, also after ``timeout`` seconds."""
    began = answered = time.monotonic()
    lifecycle = ""
    while True:
        try:
            lifecycle, answered = str(api.read(f"actions/{action}").get("action_lifecycle")), time.monotonic()
        except ApiError as error:
            if not (lifecycle and error.temporary) or time.monotonic() - answered > _OUTAGE_LIMIT:
                raise
        if lifecycle in _ENDED:
            return lifecycle
        left = began + timeout - time.monotonic()
        if left <= 0:
            raise ApiError(f"Error: action {action} is {lifecycle} after {timeout:g} s")
        time.sleep(min(left, _PAUSE))
