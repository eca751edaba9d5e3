"""The operator's part of a scenario: additions to the demo's design, holds, and answers to approvals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from shipyard_api.cli.client import Api, json_content
from shipyard_api.cli.commands.request import path_segment
from shipyard_api.cli.commands.watch import ShowSnapshot
from shipyard_api.cli.output.snapshot import Snapshot

CONFIGURATION = "shipyard/DeploymentConfiguration/v1"
_LEAD = timedelta(seconds=30)
"""The least time from the load of a design to the reference minute of its windows."""
_LOOKS = 10
"""How often a wait for an approval is shown before it is answered, so that a person sees it."""


def with_parts(documents: bytes, parts: Mapping[str, Any], now: datetime) -> bytes:
    """Return a design whose deployment configuration has these parts of ``physical_provisioner``, such as a ``policy``.

    A window that starts at ``+N`` or ``-N`` starts that many minutes from the first full minute that is half a minute
    away. Raises LookupError if the design has no deployment configuration.
    """
    import yaml

    loaded = list(yaml.load_all(documents, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    changed = [
        document for document in loaded if isinstance(document, dict) and document.get("schema") == CONFIGURATION
    ]
    if not changed:
        raise LookupError(f"the design has no {CONFIGURATION}, which {' and '.join(parts)} of the scenario belong into")
    if "policy" in parts:
        parts = {**parts, "policy": _at_times(parts["policy"], now)}
    for document in changed:
        document["data"].setdefault("physical_provisioner", {}).update(parts)
    return yaml.safe_dump_all(loaded, sort_keys=False, encoding="utf-8")


def _at_times(policy: Mapping[str, Any], now: datetime) -> Mapping[str, Any]:
    windows = policy.get("windows")
    if not windows:
        return policy
    minute = (now + _LEAD).astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)

    def opened(window: Mapping[str, Any]) -> Mapping[str, Any]:
        start = str(window["start"])
        if start[:1] not in "+-":
            return window
        return {**window, "zone": "UTC", "start": f"{minute + timedelta(minutes=int(start)):%H:%M}"}

    return {**policy, "windows": {**windows, "open": [opened(entry) for entry in windows["open"]]}}


def place(api: Api, holds: Sequence[Mapping[str, str]]) -> None:
    """Place the holds of a scenario. Raises ApiError if the API refuses one."""
    for hold in holds:
        body = {key: value for key, value in hold.items() if key != "node"}
        json_content(api.post(f"nodes/{path_segment(hold['node'])}/holds", json=body), expected=201)


@dataclass
class Operator:
    """Shows an action, and answers its approvals with those of a scenario, each once it was shown."""

    api: Api
    view: ShowSnapshot
    answers: Sequence[Mapping[str, Any]]
    _shown: int = field(default=0, init=False)

    def __call__(self, snapshot: Snapshot, note: str) -> None:
        """Show the snapshot, and answer the approval that it showed before."""
        waiting = snapshot.action.get("waiting_for") or {}
        asks = self.answers and str(waiting.get("what", "")).startswith("approval ")
        self._shown = self._shown + 1 if asks else 0
        if self._shown > _LOOKS:
            answer = {"approve": True, **self.answers[0]}
            self.answers, self._shown = self.answers[1:], 0
            path = f"actions/{path_segment(str(snapshot.action['id']))}/approvals"
            json_content(self.api.post(path, json=answer))
            note = f"the demo answers as the operator: {'approve' if answer['approve'] else 'refuse'}"
        self.view(snapshot, note)
