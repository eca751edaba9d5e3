"""A line of an action's journal as a line of text: what somebody reads who looks for what happened at night.

Everything that the line holds is told, every node by its name, so that one can search for it. Whatever a peer said
stays in its line: no line break and no control character of anybody gets out.
"""

from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any

from shipyard_api.domain.notes import Line

Facts = Mapping[str, Any]

_WIDEST_KIND = len("work left behind")


def log_line(line: Line, worker: str) -> str:
    """Return the line: when, what kind of event, what happened; ``worker`` is the program that wrote it down."""
    teller: Callable[[Facts], str] = _TELLERS.get(line.kind, _words)
    try:
        told = f"by {worker}" if line.kind == "step_started" else teller(line.facts)
    except (KeyError, TypeError, AttributeError):
        # Written by another release, which may call things by other names.
        told = _words(line.facts)
    at = line.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    return _one_line(f"{at}Z {line.kind.replace('_', ' '):<{_WIDEST_KIND}} {told}".rstrip())


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _words(value: Any) -> str:
    """Return any stored value in words; a key of an object stands before its value."""
    if isinstance(value, Mapping):
        return "; ".join(f"{str(key).replace('_', ' ')}: {_words(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(f"({_words(item)})" if isinstance(item, Mapping) else _words(item) for item in value)
    return "none" if value is None else str(value)


def _intended(facts: Facts) -> str:
    what = _words(facts["effect"])
    return f"attempt {facts['attempt']}, marker {facts['marker']}{f': {what}' if what else ''}"


def _step_ended(facts: Facts) -> str:
    skipped = f"will not run: {', '.join(facts['skipped'])}" if facts["skipped"] else ""
    return _joined(facts["state"], facts["detail"], skipped)


def _broke(facts: Facts) -> str:
    return f"internal error, {facts['in_a_row']} in a row: {facts['detail']}"


def _members_known(facts: Facts) -> str:
    return f"{facts['groups']} groups, {facts['nodes']} nodes"


def _batch(facts: Facts) -> str:
    batch = facts.get("batch", 1)
    return f"group {facts['group']}, {facts['phase']}{f', batch {batch}' if batch != 1 else ''}"


def _phase_started(facts: Facts) -> str:
    return f"{_batch(facts)}: job {facts['job']}, {_nodes(facts['nodes'])}"


def _phase_running(facts: Facts) -> str:
    return f"{_batch(facts)}: the provisioner is at it"


def _phase_ended(facts: Facts) -> str:
    return f"{_batch(facts)}: {_joined(facts['status'], facts['message'])}"


def _join_awaited(facts: Facts) -> str:
    where = _batch({**facts, "phase": "deploy"})
    return f"{where}: to be ready in Kubernetes: {_nodes(facts['nodes'])}"


def _group_changed(facts: Facts) -> str:
    missed = [f"{one['criterion']}: {one['needed']} needed, {one['actual']} there" for one in facts["shortfalls"]]
    # The detail of a group that missed its criteria says the same in other words.
    why = facts["detail"] or "; ".join(missed)
    return f"group {facts['group']}: {_joined(_because(facts), why)}"


def _nodes_changed(facts: Facts) -> str:
    details = facts["details"]
    named = [f"{node} ({details[node]})" if details.get(node) else node for node in facts["nodes"]]
    return f"group {facts['group']}, {facts['phase']}: {_because(facts)}: {_nodes(named)}"


def _rollout_ended(facts: Facts) -> str:
    critical = frozenset(facts.get("critical", ()))
    told = [facts["verdict"]]
    for status, names in facts["groups"].items():
        marked = [f"{name} (critical)" if name in critical else name for name in names]
        told.append(f"groups {status}: {', '.join(marked)}")
    told += [f"nodes {status}: {', '.join(names)}" for status, names in facts["nodes"].items()]
    return "; ".join(told)


def _job_started(facts: Facts) -> str:
    return f"{facts['operation']}: job {facts['job']}"


def _work_left_behind(facts: Facts) -> str:
    where = "the site" if facts["nodes"] is None else _nodes(facts["nodes"])
    return f"{facts['operation']}, job {facts['job']}, may go on and nobody waits for it: {facts['why']}; on {where}"


def _nodes_kept(facts: Facts) -> str:
    return f"left alone, deployed by {facts['action']}: {_nodes(facts['nodes'])}"


def _finding(facts: Facts) -> str:
    found_by = f" ({facts['source']})" if facts["source"] else ""
    about = [f"{one['schema']} {one['name']}" for one in facts["documents"]]
    where = ", ".join([*about, *([facts["path"]] if facts["path"] else [])])
    return f"{facts['level']} {facts['name']}{found_by}: {_joined(facts['message'], where)}"


def _noted(facts: Facts) -> str:
    return f"{facts['kind']}: {facts['text']}"


def _attempt_failed(facts: Facts) -> str:
    return f"attempt {facts['attempt']}: {facts['why']}; asking again in {facts['pause']:g} s"


def _because(facts: Facts) -> str:
    return f"{facts['status']} ({facts['reason']})" if facts["reason"] else str(facts["status"])


def _nodes(names: list[str]) -> str:
    return f"{len(names)} node{'' if len(names) == 1 else 's'}: {', '.join(names)}"


def _joined(*parts: str) -> str:
    """Return all that is said, once: some details only repeat the state."""
    return "; ".join(dict.fromkeys(part for part in parts if part))


_TELLERS: Mapping[str, Callable[[Facts], str]] = {
    "intended": _intended,
    "step_ended": _step_ended,
    "broke": _broke,
    "members_known": _members_known,
    "phase_started": _phase_started,
    "phase_running": _phase_running,
    "phase_ended": _phase_ended,
    "join_awaited": _join_awaited,
    "group_changed": _group_changed,
    "nodes_changed": _nodes_changed,
    "rollout_ended": _rollout_ended,
    "job_started": _job_started,
    "work_left_behind": _work_left_behind,
    "nodes_kept": _nodes_kept,
    "finding": _finding,
    "noted": _noted,
    "attempt_failed": _attempt_failed,
}
