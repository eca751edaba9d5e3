"""An action, its groups and its nodes as the API told them at one moment, and what people want to know of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

JsonObject = Mapping[str, Any]

NODE_WORDS = {"success": "deployed", "prepared": "prepared", "failure": "failed", "not_started": "not started"}
ACTIVE = frozenset({"preparing", "deploying"})
_ENDED = frozenset({"Complete", "Failed"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Entities as in the REST contract; groups and nodes in the server's order."""

    action: JsonObject
    groups: Sequence[JsonObject] = ()
    nodes: Sequence[JsonObject] = ()

    @property
    def lifecycle(self) -> str:
        """Return the word for the action as a whole, such as Processing."""
        return str(self.action.get("action_lifecycle") or "Pending")

    @property
    def ended(self) -> bool:
        """Say whether nothing more will happen."""
        return self.lifecycle in _ENDED

    @property
    def succeeded(self) -> bool:
        """Say whether the action ended, and ended well."""
        return self.lifecycle == "Complete" and self.action.get("verdict", "success") == "success"

    @property
    def steps(self) -> Sequence[JsonObject]:
        """Return the steps in their order."""
        return self.action.get("steps") or ()

    @property
    def current_step(self) -> JsonObject | None:
        """Return the step that matters now: one that failed, else the last one running (a member before its group)."""
        for state in ("failed", "running"):
            found = [step for step in self.steps if step.get("state") == state]
            members = [step for step in found if "." in str(step.get("id"))]
            if found:
                return (members or found)[-1]
        return None

    @property
    def node_counts(self) -> Counter[str]:
        """Return how many nodes have each status."""
        return Counter(str(node.get("status")) for node in self.nodes)

    @property
    def failed_nodes(self) -> list[JsonObject]:
        """Return the nodes that failed, in the server's order."""
        return [node for node in self.nodes if node.get("status") == "failure"]

    def elapsed(self, now: datetime) -> timedelta | None:
        """Return how long the action has been going on, or took; None if the answers do not say."""
        began = moment(self.action.get("datetime"))
        if began is None:
            return None
        until = now
        if self.ended:
            ends = [moment(phase.get("ended_at")) for group in self.groups for phase in group.get("phases") or ()]
            until = moment(self.action.get("ended_at")) or max(filter(None, ends), default=now)
        return max(until - began, timedelta())


def moment(text: object) -> datetime | None:
    """Return a time of the API, in any of its spellings; a time without a zone is UTC."""
    try:
        parsed = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def words(status: object) -> str:
    """Return a status of the wire as words for people."""
    return printable(str(status).replace("_", " "))


def printable(text: object) -> str:
    """Return a text of the server without characters that a terminal would obey."""
    return "".join(character if character.isprintable() else "�" for character in str(text))


def clock(span: timedelta) -> str:
    """Return a span as 0:42, 12:34 or 1:02:03."""
    minutes, seconds = divmod(int(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def explained(item: JsonObject) -> str:
    """Return why a group or node failed: the reason, and the detail if there is one."""
    reason, detail = words(item.get("reason") or "failed"), " ".join(str(item.get("detail") or "").split())
    return printable(f"{reason}: {detail}" if detail else reason)


def changes(before: Snapshot | None, after: Snapshot, now: datetime) -> list[str]:
    """Return one line for everything that is different now: for logs, pipes and screen readers."""
    lines = []
    if before is None:
        lines.append(f"action {after.action.get('name')} {after.action.get('id')}")
    turned = before is None or before.lifecycle != after.lifecycle
    if turned and not after.ended:
        lines.append(f"action is {after.lifecycle}")
    states = {step.get("id"): step.get("state") for step in before.steps} if before else {}
    lines += [
        f"step {step['id']} is {words(step['state'])}"
        for step in after.steps
        if step.get("state") and states.get(step.get("id")) != step["state"]
    ]
    seen = {group.get("name"): group for group in before.groups} if before else {}
    for group in after.groups:
        old = seen.get(group.get("name"), {"status": "not_started"})
        if (old.get("status"), old.get("nodes", {})) != (group.get("status"), group.get("nodes", {})):
            changed_status = old.get("status") != group.get("status")
            if changed_status or group.get("status") in ACTIVE:
                lines.append(f"group {group['name']} is {_group_line(group)}")
    failed = {node.get("name") for node in before.failed_nodes} if before else set()
    lines += [
        f"node {node['name']} failed ({explained(node)})"
        for node in after.failed_nodes
        if node.get("name") not in failed
    ]
    if turned and after.ended:
        lines.append(f"action is {after.lifecycle}")
    elapsed = after.elapsed(now)
    stamp = clock(elapsed) if elapsed is not None else "-"
    return [f"{stamp:>7}  {printable(line)}" for line in lines]


def _group_line(group: JsonObject) -> str:
    counts: JsonObject = group.get("nodes") or {}
    told = [f"{counts[status]} {word}" for status, word in NODE_WORDS.items() if counts.get(status)]
    line = words(group.get("status"))
    if group.get("status") == "failed":
        line += f" ({explained(group)})"
    total = counts.get("total", 0)
    return f"{line}, {total} node{'s' * (total != 1)}" + (f": {', '.join(told)}" if told else "")
