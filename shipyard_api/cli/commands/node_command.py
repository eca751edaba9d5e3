"""``shipyard node run NODES -- COMMAND``: one command on many nodes, with the habits of clush and pssh."""

import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands.request import path_segment
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.output.wording import printable, printable_lines
from shipyard_api.domain.node_sets import fold

TASK = "command"
NO_STATUS = 255
"""The exit code for a node without an exit status, as that of ssh."""

_WHOLE = {"success": 200, "failed": 4096}
"""Characters of output that a result has; a shorter one is the whole output."""
_FIRST, _LONGEST = 0.2, 2.0  # seconds between two looks
LIVE_TIMEOUT = 5.0  # seconds for the output of a node on which the command runs
_ENDED = ("Complete", "Failed", "Stopped")
_LINE = "-" * 15


def matching(api: Api, names: Sequence[str]) -> list[str]:
    """Return the names, and in the place of each pattern (``*``, ``?``) the deployed nodes that it matches.

    Raises ApiError, and UsageError for a pattern that matches none.
    """
    matches: list[str] = []
    nodes: list[str] | None = None
    for name in names:
        if not {"*", "?"} & set(name):
            matches.append(name)
            continue
        if nodes is None:
            nodes = [str(node["name"]) for node in api.pages("nodes", "nodes") if node.get("status") == "success"]
        some = [node for node in nodes if fnmatchcase(node, name)]
        if not some:
            raise click.UsageError(f"NODES {name!r} matches no deployed node.")
        matches += some
    return list(dict.fromkeys(matches))


def follow(api: Api, live: Api, action: str, *, grouped: bool) -> int:
    """Print the output of each node while the command runs, line by line; return the worst exit code.

    ``grouped``: print equal outputs once, after all. ``live``: as ``api``, with a short timeout, to read the output of
    nodes where the command runs. Raises ApiError.
    """
    outputs = _Outputs(api, live, f"actions/{action}/tasks/{TASK}/nodes", grouped=grouped)
    path, pause = f"actions/{action}", _FIRST
    codes: dict[str, int] = {}
    while True:
        last = api.read(path)
        has_news = False
        for result in api.pages(f"{path}/tasks", "tasks"):
            node = str(result["node"])
            if result.get("status") == "running":
                has_news |= outputs.go_on(node)
            elif node not in codes:
                has_news, codes[node] = True, _code(result)
                outputs.end(result)
        if last.get("action_lifecycle") in _ENDED:
            break
        pause = _FIRST if has_news else min(1.5 * pause, _LONGEST)
        time.sleep(pause)
    outputs.print_groups()
    worst = max(codes.values(), default=0)
    if last.get("action_lifecycle") != "Complete" and worst == 0:
        click.echo(f"The action {action} ended as {printable(last.get('action_lifecycle'))}.", err=True)
        return 1
    return worst


def _code(result: Mapping[str, object]) -> int:
    status = result.get("exit_status")
    return status if isinstance(status, int) else NO_STATUS if result["status"] != "success" else 0


class _Outputs:
    """The outputs of the nodes, as far as they are read. Whole lines are printed at once, unless ``grouped``."""

    def __init__(self, api: Api, live: Api, path: str, *, grouped: bool) -> None:
        self._api, self._live, self._path, self._grouped = api, live, path, grouped
        self._texts: dict[str, str] = {}
        self._offsets: dict[str, int] = {}
        self._given_up: set[str] = set()

    def go_on(self, node: str) -> bool:
        """Print the lines that a node has written since; return whether there were any.

        A node that does not give its output now gives it at its end.
        """
        if self._grouped or node in self._given_up:
            return False
        before = self._offsets.get(node, 0)
        try:
            self._read(self._live, node)
        except ApiError:
            self._given_up.add(node)
        self._print_lines(node)
        return self._offsets.get(node, 0) > before

    def end(self, result: Mapping[str, object]) -> None:
        """Take the rest of the output of a node, and print it and why the command failed there."""
        node, tail = str(result["node"]), str(result.get("tail") or "")
        is_whole = len(tail) < _WHOLE.get(str(result["status"]), 0) or not tail
        if is_whole and not self._offsets.get(node):
            self._texts[node] = tail
        else:
            try:
                self._read(self._api, node)
            except ApiError as error:
                part = "not the end" if self._offsets.get(node) else "only the end"
                click.echo(f"{printable(node)}: {part} of its output: {printable(error)}", err=True)
                self._texts[node] = self._texts.get(node) or ("" if self._offsets.get(node) else tail)
        if not self._grouped:
            self._print_lines(node, end=True)
        if result["status"] != "success":
            click.echo(f"{printable(node)}: {printable(result.get('detail') or result['status'])}", err=True)

    def print_groups(self) -> None:
        """Print equal outputs once, if they are grouped; nodes that wrote nothing have none."""
        if self._grouped:
            _print_groups(self._texts)

    def _read(self, api: Api, node: str) -> None:
        while True:
            offset = self._offsets.get(node, 0)
            part = api.read(f"{self._path}/{path_segment(node)}/output", [("offset", str(offset))])
            self._texts[node] = self._texts.get(node, "") + str(part.get("text") or "")
            self._offsets[node] = max(offset, int(part.get("next_offset") or 0))
            if not offset < self._offsets[node] < int(part.get("kept") or 0):
                return

    def _print_lines(self, node: str, *, end: bool = False) -> None:
        lines, newline, rest = self._texts.get(node, "").rpartition("\n")
        self._texts[node] = "" if end else rest
        text = lines + newline + (rest if end else "")
        for line in printable_lines(text).splitlines():
            click.echo(f"{printable(node)}: {line}")


def _print_groups(outputs: Mapping[str, str]) -> None:
    nodes_of: dict[str, list[str]] = {}
    for node, text in sorted((node, text) for node, text in outputs.items() if text):
        nodes_of.setdefault(text, []).append(node)
    for text, nodes in nodes_of.items():
        count = f" ({len(nodes)})" if len(nodes) > 1 else ""
        click.echo(f"{_LINE}\n{printable(fold(nodes))}{count}\n{_LINE}")
        click.echo(printable_lines(text), nl=not text.endswith("\n"))
