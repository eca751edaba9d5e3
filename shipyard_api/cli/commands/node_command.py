"""``shipyard node run NODES -- COMMAND``: one command on many nodes, with the habits of clush and pssh."""

import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import click

from shipyard_api.cli.commands.request import path_segment
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.output.shapes import JsonObject
from shipyard_api.cli.output.wording import printable, printable_lines
from shipyard_api.node_sets import fold

if TYPE_CHECKING:
    from shipyard_api.cli.client import Api

TASK = "command"
NO_STATUS = 255
"""The exit code for a node without an exit status, as that of ssh."""

_WHOLE = {"success": 200, "failed": 4096}
"""Characters of output that a result has; a shorter one is the whole output."""
_FIRST, _LONGEST = 0.2, 2.0  # seconds between two looks
_ENDED = ("Complete", "Failed", "Stopped")
_LINE = "-" * 15


def matching(api: "Api", names: Sequence[str]) -> list[str]:
    """Return the names, and in the place of each pattern (``*``, ``?``) the deployed nodes that it matches.

    Raises ApiError, and UsageError for a pattern that matches none.
    """
    found: list[str] = []
    nodes: list[str] | None = None
    for name in names:
        if not {"*", "?"} & set(name):
            found.append(name)
            continue
        if nodes is None:
            nodes = [str(node["name"]) for node in api.pages("nodes", "nodes") if node.get("status") == "success"]
        some = [node for node in nodes if fnmatchcase(node, name)]
        if not some:
            raise click.UsageError(f"NODES {name!r} matches no deployed node.")
        found += some
    return list(dict.fromkeys(found))


def follow(api: "Api", action: str, *, grouped: bool) -> int:
    """Print the output of each node of a run when it has ended; return the worst exit code.

    ``grouped``: print equal outputs once, after all. Raises ApiError.
    """
    outputs: dict[str, str] = {}
    codes = [0]
    for result in _ended(api, action):
        node, text = str(result["node"]), _output(api, action, result)
        status = result.get("exit_status")
        codes.append(status if isinstance(status, int) else NO_STATUS if result["status"] != "success" else 0)
        outputs[node] = text
        if not grouped:
            _print_lines(node, text)
        if result["status"] != "success":
            click.echo(f"{printable(node)}: {printable(result.get('detail') or result['status'])}", err=True)
    if grouped:
        _print_groups(outputs)
    last = api.read(f"actions/{action}")
    if last.get("action_lifecycle") != "Complete" and max(codes) == 0:
        click.echo(f"The action {action} ended as {printable(last.get('action_lifecycle'))}.", err=True)
        return 1
    return max(codes)


def _ended(api: "Api", action: str) -> Iterator[JsonObject]:
    """Yield the result of each node when it has ended, until the action has."""
    seen: set[str] = set()
    pause = _FIRST
    while True:
        over = api.read(f"actions/{action}").get("action_lifecycle") in _ENDED
        path = f"actions/{action}/tasks"
        results = [
            one for one in api.pages(path, "tasks") if one.get("status") != "running" and one["node"] not in seen
        ]
        for one in results:
            seen.add(str(one["node"]))
            yield one
        if over:
            return
        time.sleep(pause)
        pause = _FIRST if results else min(1.5 * pause, _LONGEST)


def _output(api: "Api", action: str, result: Mapping[str, object]) -> str:
    """Return the output of the command on a node; only its end if the node does not give the rest."""
    tail = str(result.get("tail") or "")
    if len(tail) < _WHOLE.get(str(result["status"]), 0) or not tail:
        return tail
    path = f"actions/{action}/tasks/{TASK}/nodes/{path_segment(str(result['node']))}/output"
    parts: list[str] = []
    offset = 0
    try:
        while True:
            part = api.read(path, [("offset", str(offset))])
            parts.append(str(part.get("text") or ""))
            after = int(part.get("next_offset") or 0)
            if after <= offset or after >= int(part.get("kept") or 0):
                return "".join(parts)
            offset = after
    except ApiError as error:
        click.echo(f"{printable(result['node'])}: only the end of its output: {printable(error)}", err=True)
        return tail


def _print_lines(node: str, text: str) -> None:
    for line in printable_lines(text).splitlines():
        click.echo(f"{printable(node)}: {line}")


def _print_groups(outputs: Mapping[str, str]) -> None:
    nodes_of: dict[str, list[str]] = {}
    for node, text in sorted(outputs.items()):
        nodes_of.setdefault(text, []).append(node)
    for text, nodes in nodes_of.items():
        count = f" ({len(nodes)})" if len(nodes) > 1 else ""
        click.echo(f"{_LINE}\n{printable(fold(nodes))}{count}\n{_LINE}")
        click.echo(printable_lines(text), nl=not text.endswith("\n"))
