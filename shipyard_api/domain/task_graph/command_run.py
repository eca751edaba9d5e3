"""A run of one command on some nodes, as a task graph of its own: `shipyard node run NODES -- COMMAND`."""

from collections.abc import Sequence

from shipyard_api.domain.json_types import JsonObject

COMMAND, FORKS, CONNECT_TIMEOUT = "command", "forks", "connect_timeout"
TASK = "command"
"""The id of the task that runs the command."""
ROLE = "command"
"""The role that the nodes of such a run have, whatever others they have in the site."""

_GROUP = "nodes"
_TIMEOUT = 3600  # seconds
_CONNECT_TIMEOUT = 10  # seconds


def command_graph(written: JsonObject) -> Sequence[JsonObject] | None:
    """Return the tasks of a run of a command, None if the run is none. ``written``: the limits of the run."""
    if COMMAND not in written:
        return None
    amount = {"amount": written[FORKS]} if FORKS in written else {}
    return [
        {"id": _GROUP, "type": "group", "role": [ROLE], "parameters": {"strategy": {"type": "parallel", **amount}}},
        {
            "id": TASK,
            "type": "shell",
            "groups": [_GROUP],
            "parameters": {"cmd": written[COMMAND], "timeout": _TIMEOUT, "retries": 0},
        },
    ]


def connect_timeout(written: JsonObject) -> int | None:
    """Return how many seconds a node has to take the command; None for a run of tasks, whose nodes have minutes."""
    if COMMAND not in written:
        return None
    seconds: int = written.get(CONNECT_TIMEOUT, _CONNECT_TIMEOUT)
    return seconds
