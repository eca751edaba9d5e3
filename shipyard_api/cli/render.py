"""Answers as text, in the forms and to the letter of the contract (shipyard-cli, chapters 4 and 5). Pure.

Column order, the prefixes ``action/`` and ``step/``, and the summary line of a Status are read by scripts in the field.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shipyard_api.cli.snapshot import printable

JsonObject = Mapping[str, Any]

FORMS = ("format", "raw", "cli")
_INDENT = " " * 8
_LEVELS = (("error", "fatal"), ("warn", "warning"), ("info", "debug"))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API said to one request."""

    method: str
    status: int
    content_type: str
    text: str


def answer(said: Answer, form: str, *, expected: int, cli: Callable[[str], str]) -> tuple[str, bool]:
    """Return the text to print, and whether the request succeeded.

    ``cli`` turns the body of an expected answer into text of the form ``cli``; the other forms need no help.
    """
    good = said.status == expected
    if said.status == 401:
        return "Error: Command requires authentication. Check credential values", False
    if said.status == 403:
        return "Error: Unauthorized to perform this action.", False
    try:
        if said.method == "POST" and said.status in (400, 409):
            return status(said.text, word="Error"), False
        if form == "raw":
            return said.text, good
        if form == "format":
            return formatted(said), good
        if good:
            return cli(said.text), True
        return status(said.text, word="Error") or f"Error: Not specified\nReason: status {said.status}", False
    except ValueError:
        return f"Error: Unable to decode response. Value: {said.text}", False
    except (AttributeError, KeyError, TypeError) as error:
        return f"Error: Unable to invoke action due to: the answer has an unexpected shape ({error!r})", False


def formatted(said: Answer) -> str:
    """Return the body laid out by its content type: JSON with sorted keys, else YAML in block style."""
    if "json" in said.content_type.lower():
        return json.dumps(parsed(said.text), sort_keys=True, indent=4)
    import yaml

    try:
        documents = list(yaml.safe_load_all(said.text))
    except yaml.YAMLError as error:
        raise ValueError("not YAML") from error
    return yaml.safe_dump_all(documents, width=79, indent=4, default_flow_style=False)


def status(text: str, *, word: str) -> str:
    """Return a Status object as text; ``word`` is ``Error`` or ``Status``. Raises ValueError if it is none."""
    if not text:
        return ""
    body = parsed(text)
    if not isinstance(body, dict):
        raise ValueError("a Status must be an object")  # noqa: TRY004 - as for any body that cannot be read
    lines = [
        f"{word}: {body.get('message', 'Not specified')}",
        f"Reason: {body.get('reason', 'Not specified')}",
    ]
    details = body.get("details")
    if details:
        counts = [0, 0, 0, 0]
        for message in sorted(details.get("messageList", []), key=_level):
            counts[_level(message)[0]] += 1
            lines += _message(message)
        lines += ["", "####  Errors: {}, Warnings: {}, Infos: {}, Other: {}  ####".format(*counts)]
    return "\n".join(lines)


def parsed(text: str) -> Any:
    """Return the text's JSON. Raises ValueError, also for nesting too deep to read."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _level(message: JsonObject) -> tuple[int, str]:
    """Return the class of a message (0 to 3) and the word in it, so that equal words stay together."""
    word = message.get("level")
    word = ("error" if message.get("error") else "info") if word is None else str(word).lower()
    for number, words in enumerate(_LEVELS):
        if word in words:
            return number, word
    return len(_LEVELS), ""


def _message(message: JsonObject) -> list[str]:
    if message.get("kind") == "ValidationMessage":
        lines = [f"- {message.get('level')}: {message.get('name')}", f"{_INDENT}Message: {message.get('message')}"]
        if message.get("diagnostic"):
            lines.append(f"{_INDENT}Diagnostic: {message['diagnostic']}")
        lines += [
            f"{_INDENT}Document: {document.get('schema')} - {document.get('name')}"
            for document in message.get("documents") or []
        ]
    else:
        word = "Error" if message.get("error") else str(message.get("level") or "Info").capitalize()
        lines = [f"- {word}: {message.get('message')}"]
    if message.get("source"):
        lines.append(f"{_INDENT}Source: {message['source']}")
    return lines


def table(rows: Iterable[Sequence[object]], headers: Sequence[str] = (), *, gap: int = 8) -> str:
    """Return left-aligned columns without borders; a cell may have several lines."""
    cells = [[str(cell).split("\n") for cell in row] for row in ([headers] if headers else []) + list(rows)]
    widths = [max(len(line) for cell in column for line in cell) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        for number in range(max(len(cell) for cell in row)):
            parts = (cell[number] if number < len(cell) else "" for cell in row)
            lines.append("".join(part.ljust(width + gap) for part, width in zip(parts, widths, strict=True)))
    return "\n".join(lines)


def actions(text: str) -> str:
    """Return the table of ``get actions``, oldest first."""
    return _actions_table(parsed(text))


def created_action(text: str) -> str:
    """Return the same table for the one action that ``create action`` made."""
    return _actions_table([parsed(text)])


def _actions_table(found: list[JsonObject]) -> str:
    headers = ("Name", "Action", "Lifecycle", "Execution Time", "Step Succ/Fail/Oth", "Footnotes")
    footnotes = _Footnotes("Action")
    rows = [
        (
            action.get("name"),
            f"action/{action['id']}",
            action.get("action_lifecycle"),
            action.get("dag_execution_date"),
            _tally(action.get("steps") or []),
            footnotes.add(action.get("notes")),
        )
        for action in sorted(found, key=lambda action: str(action["id"]))
    ]
    return f"{table(rows or [('None', '', '', '', '', '')], headers)}\n\n{footnotes.text()}"


def _tally(steps: Sequence[JsonObject]) -> str:
    states = [step.get("state") for step in steps]
    good, bad = states.count("success"), states.count("failed")
    return f"{good}/{bad}/{len(states) - good - bad}"


def action(text: str) -> str:
    """Return the sections of ``describe action``."""
    found = parsed(text)
    fields = (
        ("Name:", found.get("name")),
        ("Action:", f"action/{found.get('id')}"),
        ("Lifecycle:", found.get("action_lifecycle")),
        ("Parameters:", found.get("parameters")),
        ("Datetime:", found.get("datetime")),
        ("Dag Status:", found.get("dag_status")),
        ("Context Marker:", found.get("context_marker")),
        ("User:", found.get("user")),
    )
    footnotes = _Footnotes("Step")
    steps = [
        (
            f"step/{found.get('id')}/{step.get('id')}",
            step.get("index"),
            step.get("state"),
            footnotes.add(step.get("notes")),
        )
        for step in found.get("steps") or []
    ]
    commands = [
        (item.get("command"), item.get("user"), item.get("datetime")) for item in found.get("command_audit") or []
    ]
    sections = (
        table(fields),
        table(steps or [("None", "", "", "")], ("Steps", "Index", "State", "Footnotes")),
        footnotes.text(),
        table(commands or [("None", "", "")], ("Commands", "User", "Datetime")),
        _validations(found.get("validations") or []),
        _notes_section("Action", found.get("notes")),
    )
    return "\n\n".join(sections) + "\n"


def step(text: str, action_id: str) -> str:
    """Return the sections of ``describe step``."""
    found = parsed(text)
    fields = [
        ("Name:", found.get("task_id")),
        ("Task ID:", f"step/{action_id}/{found.get('task_id')}"),
        ("Index:", found.get("index")),
        ("State:", found.get("state")),
        ("Start Date:", found.get("start_date")),
        ("End Date:", found.get("end_date")),
        ("Duration:", found.get("duration")),
        ("Try Number:", found.get("try_number")),
        ("Operator:", found.get("operator")),
    ]
    # Ours, and last: why a step failed is what its reader wants to know.
    if found.get("detail"):
        fields.append(("Detail:", found["detail"]))
    return f"{table(fields)}\n\n{_notes_section('Step', found.get('notes'))}\n"


def collections(text: str) -> str:
    """Return the comparison of two versions of ``get configdocs``."""
    found = parsed(text)
    headers = ("Collection", "Base", "New")
    if not found:
        return table([("None", "", "")], headers)
    last = found[-1]
    title = (
        f"   Comparing Base: {last.get('base_version')} (Deckhand revision {last.get('base_revision')})\n"
        f"    \t to New: {last.get('new_version')} (Deckhand revision {last.get('new_revision')})\n"
    )
    rows = [(row.get("collection_name"), row.get("base_status"), row.get("new_status")) for row in found]
    return title + table(rows, headers, gap=10)


def difference(text: str) -> str:
    """Return a unified diff as it stands below the comparison of two versions."""
    return "\n" + (text.removesuffix("\n") or "No document differs.")


def painted(text: str) -> str:
    """Return a unified diff in the colours that people know from other tools."""
    import click

    looks: tuple[tuple[tuple[str, ...], JsonObject], ...] = (
        (("--- ", "+++ "), {"bold": True}),
        (("@@ ",), {"fg": "cyan"}),
        (("-",), {"fg": "red"}),
        (("+",), {"fg": "green"}),
    )

    def dressed(line: str) -> str:
        return next((click.style(line, **look) for starts, look in looks if line.startswith(starts)), line)

    return "\n".join(dressed(line) for line in text.split("\n"))


def harmless(text: str) -> str:
    """Return a text of the server, of any number of lines, without characters that a terminal would obey."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def _validations(found: Sequence[JsonObject]) -> str:
    if not found:
        return "Validations: None"
    blocks = (
        f"{one.get('validation_name')} : validation/{one.get('action_id')}/{one.get('id')}\n\n{one.get('details')}\n\n"
        for one in found
    )
    return f"Validations: {chr(10).join(blocks)}"


def notes(found: Iterable[JsonObject]) -> list[str]:
    """Return one text per note, with a pointer to its details if it has any."""
    texts = []
    for note in found:
        try:
            text = f"> {note['sub_type']}:{note['subject']}({note['note_timestamp']}): {note['note_val']}"
            if note["resolved_url_value"]:
                text += f"\n  - Info available with 'describe notedetails/{note['note_id']}'"
        except KeyError:
            text = f"!!! Unparseable Note: {note}"
        texts.append(text)
    return texts


def _notes_section(title: str, found: Sequence[JsonObject] | None) -> str:
    return "\n".join([f"{title} Notes:", *notes(found)]) if found else ""


class _Footnotes:
    """Numbers for the rows that have notes, and the table that explains the numbers."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._texts: list[str] = []

    def add(self, found: Sequence[JsonObject] | None) -> str:
        if not found:
            return ""
        self._texts.append("\n".join(notes(found)))
        return f"({len(self._texts)})"

    def text(self) -> str:
        if not self._texts:
            return ""
        rows = [(f"({number})", text) for number, text in enumerate(self._texts, 1)]
        return table(rows, (f"{self._title} Footnotes", "Note"))
