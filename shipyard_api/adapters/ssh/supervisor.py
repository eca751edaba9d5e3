"""What is sent to ``supervisor.sh`` on a node, and what it reports, whatever it answers. Pure."""

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.resources import files

from msgspec import Struct

from shipyard_api.adapters.ssh import text
from shipyard_api.ports.provisioner import Marker
from shipyard_api.ports.remote_tasks import TAIL, RemoteResult, RemoteState, RemoteTask

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")

SCRIPT = files(__package__).joinpath("supervisor.sh").read_bytes()


def directory_name(marker: Marker) -> str:
    """Return the name of a marker's directory: readable, unique, and safe in a path, a command and a unit name."""
    digest = hashlib.sha256(marker.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{_UNSAFE.sub('-', marker)[:60].strip('-')}-{digest}".lstrip("-")


def call(verb: str, marker: Marker, window: int, *arguments: str | int, parts: bytes = b"") -> tuple[str, bytes]:
    """Return a command line and its input, for a verb of the supervisor.

    ``window``: the most bytes of output that it answers with. The script comes in by the input, so that neither a limit
    on the length of arguments nor the list of processes has to do with it. Every word is safe as it is, in any shell.
    """
    reader = f'script=$(head -c {len(SCRIPT)}) && eval "$script"'
    words = " ".join(map(str, (verb, directory_name(marker), window, *arguments)))
    return f"/bin/sh -c '{reader}' shipyard {words}", SCRIPT + parts


def start(marker: Marker, task: RemoteTask, window: int) -> tuple[str, bytes]:
    """Return the call that starts a task."""
    parts = {"spec": _spec(task).encode()}
    if task.command is not None:
        parts["command"] = task.command.encode()
    parts |= {f"file.{number}": file.content for number, file in enumerate(task.files)}
    if task.facts is not None:
        parts |= {"facts.json": task.facts.as_json, "facts.yaml": task.facts.as_yaml}
    sizes = [f"{name}:{len(content)}" for name, content in parts.items()]
    return call("start", marker, window, *sizes, parts=b"".join(parts.values()))


def _spec(task: RemoteTask) -> str:
    """Return the task as assignments of the shell, every value quoted."""
    values: Sequence[tuple[str, object]] = (
        ("cwd", task.cwd),
        ("succeeds", " ".join(map(str, sorted(task.succeeds_with)))),
        ("timeout", int(task.timeout)),
        ("retries", int(task.retries)),
        ("interval", int(task.interval)),
    )
    lines = [f"{name}={shlex.quote(str(value))}" for name, value in values]
    places = [
        f'place {shlex.quote(file.path)} "$dir/work/file.{number}" {file.mode:o} {file.directory_mode:o}'
        for number, file in enumerate(task.files)
    ]
    # They are kept beside the tasks, and not below the root of a simulated host.
    facts = [
        f'(top=; place "$facts.{form}" "$dir/work/facts.{form}" 600 700) || exit'
        for form in ("json", "yaml")
        if task.facts
    ]
    return "\n".join([*lines, "write_files() {", ":", *facts, *places, "}", ""])


HEADER = b"shipyard task 1\n"
MOST_HEADER = 4096  # bytes of our lines, and of what a login prints before
OVERDUE = 300.0  # seconds after the timeout within which a healthy supervisor ends its task
ENDS = {
    "timed_out": (RemoteState.TIMED_OUT, "it did not end in {timeout} s, and was ended"),
    "stopped": (RemoteState.STOPPED, "it was stopped"),
}


NO_SPACE = 28
"""The exit status of a call that found no space on the node; its output is the directory."""


class ReportError(ValueError):
    """An answer that the supervisor does not give."""


class Report(Struct, frozen=True):
    """What the supervisor answered.

    ``fields``: words of each line by its name. ``first``, ``last``: bytes kept of the beginning and the end of the
    output, ``total``: bytes in all. ``body``: the part of the output that was asked for.
    """

    fields: Mapping[str, Sequence[str]]
    first: int
    last: int
    total: int
    body: bytes

    @property
    def kept(self) -> int:
        """Bytes of output on the node."""
        return self.first + self.last

    @property
    def ended(self) -> bool:
        """Whether nothing will follow."""
        return self.fields["alive"] != ["yes"]


def refusal(node: str, status: int, output: bytes, errors: bytes) -> str:
    """Return why a call of the supervisor ended with an exit status that is not 0."""
    if status == NO_SPACE and (directory := text.detail(output)):
        return f"no space left on {node}:{directory}"
    return f"exit status {status}: {text.detail(errors or output) or 'no message'}"


def parse(answer: bytes) -> Report:
    """Parse an answer. Raises ReportError."""
    at = 0 if answer.startswith(HEADER) else answer.find(b"\n" + HEADER, 0, 65536) + 1
    head, separator, body = answer[at:].partition(b"\n\n")
    if not head.startswith(HEADER.rstrip()) or not separator or len(head) > MOST_HEADER:
        raise ReportError(f"the node does not answer as the supervisor does: {text.detail(answer) or 'nothing'}")
    lines = [line.split() for line in head.decode("ascii", "replace").splitlines()[1:]]
    fields = {line[0]: line[1:] for line in lines if line}
    if missing := [name for name in ("alive", "boot", "now", "run", "attempt", "end", "output") if name not in fields]:
        raise ReportError(f"the node's report has no {missing[0]}")
    first, last, total = (_number(word) for word in _three(fields["output"]))
    return Report(fields, first, last, total, body)


def result(report: Report, task: RemoteTask) -> RemoteResult:
    """Return what a report says about a task."""
    fields = report.fields
    tail = _tail(report, task)
    attempts, began = _attempt(fields["attempt"])
    if not fields["run"]:
        return RemoteResult(RemoteState.UNKNOWN)
    if fields["run"] == ["stopped"]:
        return RemoteResult(RemoteState.STOPPED, detail="it was stopped before it began")
    restarted = bool(fields["run"][1:2]) and fields["run"][1:2] != fields["boot"][:1]
    seconds = max(0.0, _clock(fields["now"]) - began) if attempts and not restarted else 0.0
    if task.reboots and not _declined(fields["end"], task):
        return _rebooted(task, attempts, seconds, tail, report.total, restarted=restarted)
    if fields["end"]:
        return _ended(report, task, tail)
    if fields["alive"] == ["yes"]:
        if seconds > task.timeout + OVERDUE:
            why = f"it did not end in {task.timeout} s, and its supervisor on the node hangs"
            return RemoteResult(RemoteState.TIMED_OUT, None, attempts, seconds, tail, report.total, why)
        return RemoteResult(RemoteState.RUNNING, None, attempts, seconds, tail, report.total)
    why = "the node was restarted" if restarted else "its supervisor on the node was killed"
    return RemoteResult(RemoteState.LOST, None, attempts, 0.0, tail, report.total, f"{why} while it ran")


def _rebooted(
    task: RemoteTask, attempts: int, seconds: float, tail: str, total: int, *, restarted: bool
) -> RemoteResult:
    """Return the state of a reboot: it is done once the node has another boot than at the claim.

    Until then the supervisor may have ended, because a shutdown ends it before the connections.
    """
    if restarted:
        return RemoteResult(RemoteState.SUCCESS, 0, max(attempts, 1), 0.0, tail, total)
    if seconds < task.timeout:
        return RemoteResult(RemoteState.RUNNING, None, attempts, seconds, tail, total)
    why = f"the node was not restarted within {task.timeout} s"
    return RemoteResult(RemoteState.TIMED_OUT, None, attempts, seconds, tail, total, why)


def _declined(end: Sequence[str], task: RemoteTask) -> bool:
    """Return whether the command that restarts the node failed by itself; a signal is part of a shutdown."""
    match end:
        case ["exit", code, *_] if code.isascii() and code.isdigit() and len(code) < 4:
            return int(code) < 128 and int(code) not in task.succeeds_with
    return False


def _ended(report: Report, task: RemoteTask, tail: str) -> RemoteResult:
    try:
        reason, code, attempts, began, end = report.fields["end"]
        status = None if code == "-" else _number(code)
        state, why = ENDS.get(reason) or _verdict(reason, status, task)
        seconds = max(0.0, _clock([end]) - _clock([began]))
        return RemoteResult(
            state, status, _number(attempts), seconds, tail, report.total, why.format(timeout=task.timeout)
        )
    except ValueError:
        return RemoteResult(
            RemoteState.LOST, tail=tail, size=report.total, detail="its record on the node cannot be read"
        )


def _verdict(reason: str, status: int | None, task: RemoteTask) -> tuple[RemoteState, str]:
    if reason != "exit" or status is None:
        raise ReportError("there is no such end")
    if status in task.succeeds_with:
        return RemoteState.SUCCESS, ""
    return RemoteState.FAILED, f"exit status {status}"


def _tail(report: Report, task: RemoteTask) -> str:
    cut = report.kept > len(report.body)
    before = min(text.margin(task.secrets), len(report.body)) if cut else 0
    return text.readable(report.body, task.secrets, before=before, open_end=not report.ended)[-TAIL:]


def _attempt(words: Sequence[str]) -> tuple[int, float]:
    try:
        return _number(words[0]), _clock(words[1:])
    except (ValueError, IndexError):
        return 0, 0.0


def _three(words: Sequence[str]) -> Sequence[str]:
    if len(words) != 3:
        raise ReportError("the node's report has no sizes of the output")
    return words


def _number(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 16):
        raise ReportError("the node's report has something else in the place of a number")
    return int(word)


def _clock(words: Sequence[str]) -> float:
    whole, _, part = words[0].partition(".") if words else ("", "", "")
    return _number(whole) + _number(part or "0") / 10.0 ** len(part)
