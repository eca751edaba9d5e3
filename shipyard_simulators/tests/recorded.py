"""Stories of requests, each with the answer that a real peer gave, or must give by its documentation.

A file of stories is a YAML list. A story has a name, perhaps the ``scenario`` that a simulator needs for it, and
steps, a line each:

- ``ask``: method and path; ``send``: the body; and what else the peer's player knows, such as a version. Recorded are
  the ``status``, the ``headers`` that the step names, and the ``body``; of a success only what ``show`` names, at any
  depth. UUIDs, times and the peer's address are placeholders; a request may use those of earlier answers.
  An error in the peer's usual form is recorded as its ``fault``, the text.
- other steps are carried out by the peer's player, which returns what is recorded as ``result``: such as a wait.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import yaml

_UUID = re.compile(r"(?!00000000-)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")
_ANSWER = ("status", "headers", "body", "fault", "result")

Step = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What a peer answered."""

    status: int
    headers: Mapping[str, str]
    text: str


class Player(Protocol):
    """A peer, real or simulated, that stories are played to. ``unordered``: the members whose lists have no order.

    ``hidden``: by their word, more texts that differ each time, as they are in JSON.
    """

    url: str
    hidden: Mapping[str, re.Pattern[str]]
    unordered: tuple[str, ...]

    def ask(self, method: str, path: str, body: Any, step: Step) -> Answer: ...

    def act(self, step: Step) -> Any: ...

    def told(self, status: int, body: Any) -> dict[str, Any]: ...


def stories(file: Path) -> list[Any]:
    """Return the stories of a file."""
    return list(yaml.safe_load(file.read_text()))


def answered(steps: list[Step], player: Player) -> Iterator[Step]:
    """Play the steps; yield each with the answer of this peer."""
    names = _Names(player.url, {"uuid": _UUID, **player.hidden})
    for step in steps:
        known = {key: value for key, value in step.items() if key not in _ANSWER}
        if "ask" not in step:
            result = player.act(known)
            yield known if result is None else {**known, "result": result}
            continue
        method, path = names.filled(step["ask"]).split(" ", 1)
        body = json.loads(names.filled(json.dumps(step.get("send"))))
        answer = player.ask(method, path, body, step)
        known["status"] = answer.status
        if "headers" in step:
            told = {name: answer.headers.get(name) for name in step["headers"]}
            known["headers"] = json.loads(names.hidden(json.dumps(told)))
        if answer.text:
            seen = _settled(json.loads(answer.text), player.unordered)
            told = player.told(answer.status, seen) if answer.status >= 400 else {"body": _part(seen, step.get("show"))}
            known |= json.loads(names.hidden(json.dumps(told)))
        yield known


def differences(steps: list[Step], player: Player) -> list[dict[str, Step]]:
    """Play the steps; return those that this peer answers in another way, with its answers."""
    pairs = zip(steps, answered(steps, player), strict=True)
    return [{"told": step, "simulated": answer} for step, answer in pairs if step != answer]


def written(file: Path, told: list[Any]) -> str:
    """Return the text of a file with these stories, below its first comment."""
    comment = [line for line in file.read_text().splitlines() if line.startswith("#")]
    lines = [*comment]
    for story in told:
        lines.append("")
        for key, value in story.items():
            text = "" if key == "steps" else f" {_flow(value)}"
            lines.append(f"{'- ' if key == 'story' else '  '}{key}:{text}")
        lines.extend(f"  - {_flow(step)}" for step in story["steps"])
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return text.removesuffix("...\n").strip()


@dataclass
class _Names:
    """The placeholders of a story."""

    url: str
    patterns: Mapping[str, re.Pattern[str]]
    names: dict[str, str] = field(default_factory=dict)

    def hidden(self, text: str) -> str:
        text = _TIME.sub("<time>", text.replace(self.url, "<url>"))
        for word, pattern in self.patterns.items():
            text = pattern.sub(partial(self._name, word), text)
        return text

    def _name(self, word: str, found: re.Match[str]) -> str:
        count = sum(name.startswith(f"<{word} ") for name in self.names.values())
        return self.names.setdefault(found[0], f"<{word} {count + 1}>")

    def filled(self, text: str) -> str:
        for hidden, name in self.names.items():
            text = text.replace(name, hidden)
        return text


def _settled(body: Any, unordered: tuple[str, ...]) -> Any:
    """Sort the lists that have no order."""
    if isinstance(body, list):
        return [_settled(item, unordered) for item in body]
    if not isinstance(body, dict):
        return body
    return {
        key: sorted(value) if key in unordered and isinstance(value, list) else _settled(value, unordered)
        for key, value in body.items()
    }


def _part(body: Any, names: Any) -> Any:
    """Return the named members of the body, at any depth, and the lists that were empty before."""
    if names is None:
        return body
    if isinstance(body, list):
        return list(filter(None, (_part(item, names) for item in body if isinstance(item, dict | list))))
    if any(name in body for name in names):
        return {name: body[name] for name in names if name in body}
    parts = {key: _part(value, names) for key, value in body.items() if isinstance(value, dict | list)}
    return {key: part for key, part in parts.items() if part or body[key] == []}
