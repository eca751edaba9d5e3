"""Notes: the lines of the journal as the clients of the REST API know them (contract: shipyard-rest, chapter 8).

A note is a view of one line, so nothing can be lost and the two cannot disagree. Its id is a ULID that says which line
that is, so that a note is found again by the line's key.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from shipyard_api.domain.actions import ActionId, ActionName, StepId
from shipyard_api.domain.documents import Revision
from shipyard_api.domain.findings import Level
from shipyard_api.domain.groups import GroupStatus, Phase, PhaseStatus
from shipyard_api.domain.nodes import NodeStatus

LENGTH = 26
LONGEST_SUBJECT = 128
MOST = 5
SUMMARY = 1
"""An action is shown with its steps' notes up to this verbosity. What is noted on itself has none above it."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's: without I, L, O and U
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_LINE = 2**63 - 1  # the keys of the journal are signed
_PER_LINE = 2**16


class Linked(Enum):
    """What a note can lead to more about."""

    JOB = "job"
    NODE = "node"


@dataclass(frozen=True, slots=True)
class Link:
    """The provisioner's job or machine about which there is more."""

    what: Linked
    name: str


@dataclass(frozen=True, slots=True)
class Note:
    """One note, about a step of an action or (``step`` is None) the action itself; 1 to 5 is its verbosity."""

    id: str
    action: ActionId
    step: StepId | None
    subject: str
    sub_type: str
    text: str
    verbosity: int
    at: datetime
    link: Link | None = None

    @property
    def assoc_id(self) -> str:
        """What the note is about, in the form that clients know."""
        return f"step/{self.action}/{self.step}" if self.step else f"action/{self.action}"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the journal of an action."""

    id: int
    step: StepId | None
    kind: str
    at: datetime
    facts: Mapping[str, Any]


# The least verbosity at which a line of the kind matters: the start of a phase tells the job of what is noted later.
_LEAST = {
    "rollout_ended": 1,
    "work_left_behind": 1,
    "late": 1,
    "noted": 1,
    "finding": 1,
    "phase_started": 2,
    "join_awaited": 2,
    "phase_ended": 3,
    "nodes_changed": 3,
    "job_started": 5,
}


def kinds(verbosity: int) -> tuple[str, ...]:
    """Return the kinds of the lines that notes up to this verbosity are made from."""
    return tuple(kind for kind, least in _LEAST.items() if least <= verbosity)


def creation(action: ActionId, revision: Revision | None, at: datetime) -> Note:
    """Return the note of an action's creation. It is a view of the action's own row, and so has the action's id."""
    text = "No configdocs are committed" if revision is None else f"Configdoc revision {revision}"
    return Note(action, action, None, action, "action metadata", text, 1, at)


def notes(action: ActionId, name: ActionName, lines: Iterable[Line], verbosity: int = MOST) -> Iterator[Note]:
    """Yield the notes, up to a verbosity, of lines of one action, which are given in order.

    A line on its own gives the same ids as among others; only the subject may then lack the job. What is not as we
    write it, in a line of another release, says nothing.
    """
    jobs = _Jobs()
    for line in lines:
        jobs.learn(line)
        for told in _TELLERS.get(line.kind, _nothing)(line.facts, jobs):
            if told.verbosity <= verbosity and told.number < _PER_LINE:
                default = name.value if line.kind == "rollout_ended" else line.step or action
                yield Note(
                    note_id(line.at, line.id, told.number),
                    action,
                    line.step,
                    (told.subject or default)[:LONGEST_SUBJECT],
                    told.sub_type,
                    told.text,
                    told.verbosity,
                    line.at,
                    told.link,
                )


def note_id(at: datetime, line: int, number: int) -> str:
    """Return the id of a line's note: milliseconds (48 bits), key of the line (64), number of the note in it (16)."""
    value = (at - _EPOCH) // timedelta(milliseconds=1) << 80 | line << 16 | number
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))


def line_of(note: str) -> int | None:
    """Return the key of the line that a note with this id could be a view of; None if there can be none."""
    if len(note) != LENGTH or not set(note) <= set(_ALPHABET) or note[0] > "7":
        return None
    value = 0
    for character in note:
        value = value << 5 | _ALPHABET.index(character)
    line = value >> 16 & (1 << 64) - 1
    return line if 0 < line <= _LARGEST_LINE else None


Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Told:
    """What a line says in one note; without a subject it is about its step or action."""

    verbosity: int
    sub_type: str
    text: str
    subject: str = ""
    number: int = 0
    link: Link | None = None


@dataclass(slots=True)
class _Jobs:
    """The job that was given a batch of nodes, by batch and by node."""

    of_batches: dict[tuple[str, ...], str] = field(default_factory=dict)
    of_nodes: dict[tuple[str, str], str] = field(default_factory=dict)

    def learn(self, line: Line) -> None:
        """Remember what a line says of a job."""
        if line.kind == "phase_started":
            job, phase = _word(line.facts, "job"), _word(line.facts, "phase")
            self.of_batches[_batch(line.facts)] = job
            self.of_nodes.update(dict.fromkeys(((phase, node) for node in _names(line.facts.get("nodes"))), job))


def _rollout_ended(facts: Facts, _jobs: _Jobs) -> Iterator[_Told]:
    critical = frozenset(_names(facts.get("critical")))
    nodes, groups = _by_status(facts.get("nodes")), _by_status(facts.get("groups"))
    marked = {
        status: [f"{name}(critical)" if name in critical else name for name in names]
        for status, names in groups.items()
    }
    for number, (sub_type, listed) in enumerate((("Node Deployment", nodes), ("Deployment Groups", marked))):
        if text := _stages(listed):
            yield _Told(1, sub_type, text, number=number)


def _started(facts: Facts, _jobs: _Jobs) -> Iterator[_Told]:
    if job := _word(facts, "job"):
        yield _Told(5, "Linked Task Info", "job", job, link=Link(Linked.JOB, job))


def _phase_ended(facts: Facts, jobs: _Jobs) -> Iterator[_Told]:
    if message := _word(facts, "message"):
        failed = _word(facts, "status") in (PhaseStatus.FAILURE.value, PhaseStatus.TIMEOUT.value)
        text = _message("group", _word(facts, "group"), message, error=failed)
        yield _Told(3, "Task Message", text, jobs.of_batches.get(_batch(facts), ""))


def _nodes_changed(facts: Facts, jobs: _Jobs) -> Iterator[_Told]:
    if _word(facts, "status") != NodeStatus.FAILURE.value:
        return
    phase, details = _word(facts, "phase"), facts.get("details")
    for position, node in enumerate(_names(facts.get("nodes"))):
        if isinstance(details, Mapping) and (why := _word(details, node)):
            text = _message("node", node, why, error=True)
            yield _Told(3, "Task Message", text, jobs.of_nodes.get((phase, node), ""), 2 * position)
        # Of a node that could not be prepared there may be no data at all; its job says what went wrong.
        if phase == Phase.DEPLOY.value:
            link = Link(Linked.NODE, node)
            yield _Told(5, "Linked Task Info", "detail_logs - builddata", node, 2 * position + 1, link)


def _join_awaited(facts: Facts, jobs: _Jobs) -> Iterator[_Told]:
    job = jobs.of_batches.get(_batch({**facts, "phase": Phase.DEPLOY.value}), "")
    waiting = f"waiting for {_listed(facts.get('nodes'))} to be ready in Kubernetes"
    yield _Told(2, "Join Awaited", _message("group", _word(facts, "group"), waiting, error=False), job)


def _work_left_behind(facts: Facts, _jobs: _Jobs) -> Iterator[_Told]:
    where = "the site" if facts.get("nodes") is None else _listed(facts.get("nodes"))
    text = f"{_word(facts, 'operation')} on {where} may go on, nobody waits for it: {_word(facts, 'why')}"
    yield _Told(1, "Work Left Behind", text, _word(facts, "job"))


def _late(facts: Facts, _jobs: _Jobs) -> Iterator[_Told]:
    told = [f"{_word(facts, 'operation')} that was left behind: {_word(facts, 'state')}"]
    told += [f"{word} {listed}" for word in ("succeeded", "failed") if (listed := _listed(facts.get(word)))]
    yield _Told(1, "Late Result", "; ".join([*told, _word(facts, "message")]).removesuffix("; "), _word(facts, "job"))


def _noted(facts: Facts, _jobs: _Jobs) -> Iterator[_Told]:
    yield _Told(1, _word(facts, "kind"), _word(facts, "text"))


def _finding(facts: Facts, _jobs: _Jobs) -> Iterator[_Told]:
    level = _word(facts, "level")
    verbosity = {Level.ERROR.value: 1, Level.WARNING.value: 2}.get(level)
    if verbosity is not None:
        source = f"{_word(facts, 'source')} " if facts.get("source") else ""
        yield _Told(verbosity, "Finding", f"{source}{level}: {_word(facts, 'message')}", _word(facts, "name"))


def _nothing(_facts: Facts, _jobs: _Jobs) -> Iterator[_Told]:
    return iter(())


_TELLERS: Mapping[str, Callable[[Facts, _Jobs], Iterator[_Told]]] = {
    "rollout_ended": _rollout_ended,
    "work_left_behind": _work_left_behind,
    "late": _late,
    "noted": _noted,
    "finding": _finding,
    "join_awaited": _join_awaited,
    "phase_started": _started,
    "phase_ended": _phase_ended,
    "nodes_changed": _nodes_changed,
    "job_started": _started,
}

# What clients call the ends of nodes and groups; nothing else is shown (contract: shipyard-actions, 8.7).
_STAGES = (
    ("NOT_STARTED", frozenset({NodeStatus.NOT_STARTED.value, GroupStatus.NOT_STARTED.value})),
    ("DEPLOYED", frozenset({NodeStatus.SUCCESS.value, GroupStatus.SUCCESS.value})),
    ("FAILED", frozenset({NodeStatus.FAILURE.value, GroupStatus.FAILED.value})),
)


def _stages(names: Mapping[str, list[str]]) -> str:
    told = []
    for stage, statuses in _STAGES:
        if listed := [name for status, held in names.items() if status in statuses for name in held]:
            told.append(f"Stage.{stage}: {', '.join(listed)}")
    return "; ".join(told)


def _message(kind: str, name: str, message: str, *, error: bool) -> str:
    return f"{kind}:{name}:{message}{' (error)' if error else ''}"


def _batch(facts: Facts) -> tuple[str, ...]:
    return _word(facts, "group"), _word(facts, "phase"), str(facts.get("batch", 1))


def _word(facts: Facts, key: str) -> str:
    value = facts.get(key)
    return value if isinstance(value, str) else ""


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _listed(value: object) -> str:
    return ", ".join(_names(value))


def _by_status(value: object) -> Mapping[str, list[str]]:
    return {str(status): _names(names) for status, names in value.items()} if isinstance(value, Mapping) else {}
