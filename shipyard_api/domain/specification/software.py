"""The software of nodes as an aspect: the tasks that run on each, with the values of that node in them."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from shipyard_api.domain.findings import Finding, in_short, info, warning
from shipyard_api.domain.json_types import JsonObject
from shipyard_api.domain.nodes import NodeName
from shipyard_api.domain.task_graph.commands import keys_in
from shipyard_api.domain.task_graph.tasks import TaskId


def is_whole(written: JsonObject) -> bool:
    """Return whether a run with these limits runs all tasks of the graph on its nodes."""
    return not written.keys() - {"nodes"}


def software_digests(
    tasks: Mapping[TaskId, Sequence[NodeName]],
    documents: Mapping[TaskId, JsonObject],
    keys: Callable[[NodeName], Mapping[str, str]],
    fingerprint: Callable[[bytes], str],
    every: Collection[NodeName] = (),
) -> Mapping[NodeName, str]:
    """Return the digest of each node on which a task runs; empty for others of ``every``.

    ``tasks``: the nodes of each. ``documents``: the tasks, whose parameters may have secrets. ``keys``: returns the
    values of a node's own keys. ``fingerprint``: the keyed digest.
    """
    by_node: defaultdict[NodeName, list[str]] = defaultdict(list)
    for task, nodes in tasks.items():
        names = keys_in(documents[task])
        line = f"{task} {fingerprint(_text(documents[task]))}"
        for node in nodes:
            used = {name: value for name, value in keys(node).items() if name in names} if names else {}
            by_node[node].append(f"{line} {fingerprint(_text(used))}" if used else line)
    found = {
        node: hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()[:32] for node, lines in by_node.items()
    }
    return {**dict.fromkeys(every, ""), **found}


def not_undone(given: Mapping[NodeName, str], wanted: Mapping[NodeName, str]) -> Sequence[Finding]:
    """Return the finding about servers that have run other tasks than theirs are now: nothing undoes these.

    ``given``: the digests of their records; ``wanted``: those of the tasks that would run.
    """
    ran = sorted(node for node, digest in given.items() if digest and wanted.get(node, digest) != digest)
    if not ran:
        return ()
    none_left = sum(not wanted[node] for node in ran)
    left = f"; {none_left} of them have no task any more" if none_left else ""
    message = (
        f"{len(ran)} server(s) have run other tasks before: {in_short(ran)}{left}. Nothing undoes what a task did that "
        "is changed or removed; only a new installation is without it."
    )
    return ((warning if none_left else info)("TasksNotUndone", message),)


def _text(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()
