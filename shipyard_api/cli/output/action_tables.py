"""Tables of actions, their parts and workflows, to the letter of the contract (shipyard-cli, 5.4). Pure.

Scripts read the column order and the prefixes ``action/`` and ``step/``. A missing field is printed as None, because
other servers return fewer fields.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from shipyard_api.cli.output.names import FEW, listed
from shipyard_api.cli.output.printout import Printout, TextTable, fields, sections, table
from shipyard_api.cli.output.shapes import (
    JsonObject,
    list_at,
    object_at,
    objects_at,
    parse_object,
    parse_objects,
    required,
)
from shipyard_api.cli.output.wording import case_rows, news, teardown_texts, waiting_rows

_NOTE_FIELDS = {"sub_type", "subject", "note_timestamp", "note_val", "note_id", "resolved_url_value"}


# How notes write a stage (contract: shipyard-actions, 8.7): Stage.NOT_STARTED.
_STAGE = re.compile(r"\bStage\.([A-Z_]+)")

# For ``--sort``: the orders of a list of actions.
ACTION_ORDERS = {
    "created": "id",
    "name": "name",
    "lifecycle": "action_lifecycle",
    "user": "user",
}


def actions(text: str, *, order: str = "created", wide: bool = False) -> Printout:
    """Return the table of ``get actions``, oldest first or in another order; ``wide``: with more columns."""
    return _actions_printout(parse_objects(text), order=order, wide=wide)


def created_action(text: str) -> Printout:
    """Return the same table for the action that ``create action`` created, and the server's warnings."""
    # The answer to POST has no lifecycle in the contract, and an action begins as Pending.
    created = {"action_lifecycle": "Pending", **parse_object(text)}
    printout = _actions_printout([created])
    warnings = [f"- Warning: {warning.get('message')}" for warning in objects_at(created, "warnings")]
    if not warnings:
        return printout
    gap = "" if str(printout).endswith("\n\n") else "\n\n"
    return Printout([*printout.parts, gap + "\n".join(warnings)])


def _actions_printout(actions: Sequence[JsonObject], *, order: str = "created", wide: bool = False) -> Printout:
    headers = ("Name", "Action", "Lifecycle", "Execution Time", "Step Succ/Fail/Oth", "Footnotes")
    wide_columns = ("User", "Parameters", "Context Marker") if wide else ()
    key = ACTION_ORDERS[order]
    footnotes = _Footnotes("Action")
    rows = [
        (
            action.get("name"),
            f"action/{required(action, 'id')}",
            action.get("action_lifecycle"),
            action.get("dag_execution_date"),
            _tally(objects_at(action, "steps")),
            footnotes.add(list_at(action, "notes")),
            *((action.get("user"), _parameters(action), action.get("context_marker")) if wide else ()),
        )
        for action in sorted(actions, key=lambda action: (str(action.get(key)), str(required(action, "id"))))
    ]
    return sections(table(rows, headers + wide_columns), footnotes.part())


def _parameters(action: JsonObject) -> str:
    return " ".join(f"{name}={value}" for name, value in _folded(object_at(action, "parameters")).items())


def _folded(parameters: Any) -> Any:
    """Return parameters with a text in place of each long list."""
    if not isinstance(parameters, dict):
        return parameters
    is_long = {name: isinstance(value, list) and len(value) > FEW for name, value in parameters.items()}
    return {name: listed(value) if is_long[name] else value for name, value in parameters.items()}


def _tally(steps: Sequence[JsonObject]) -> str:
    states = [step.get("state") for step in steps]
    good, bad = states.count("success"), states.count("failed")
    return f"{good}/{bad}/{len(states) - good - bad}"


def action(text: str, causes: Sequence[TextTable] = ()) -> Printout:
    """Return the sections of ``describe action``. ``causes``: tables that say why it failed."""
    body = parse_object(text)
    about = fields(
        [
            ("Name:", body.get("name")),
            ("Action:", f"action/{body.get('id')}"),
            ("Lifecycle:", body.get("action_lifecycle")),
            ("Parameters:", _folded(body.get("parameters"))),
            ("Datetime:", body.get("datetime")),
            ("Dag Status:", body.get("dag_status")),
            ("Context Marker:", body.get("context_marker")),
            ("User:", body.get("user")),
            *waiting_rows(news(body).waiting_for),
            *case_rows(news(body)),
            *((f"Teardown {node}:", text) for node, text in teardown_texts(body).items()),
        ]
    )
    footnotes = _Footnotes("Step")
    steps = _steps(body, footnotes)
    commands = [
        (item.get("command"), item.get("user"), item.get("datetime")) for item in objects_at(body, "command_audit")
    ]
    return sections(
        about,
        *causes,
        table(steps, ("Steps", "Index", "State", "Footnotes")),
        footnotes.part(),
        table(commands, ("Commands", "User", "Datetime")),
        _validations(objects_at(body, "validations")),
        _notes_section("Action", list_at(body, "notes")),
        end="\n",
    )


def steps(text: str) -> Printout:
    """Return the steps of an action, as ``describe action`` shows them."""
    footnotes = _Footnotes("Step")
    rows = _steps(parse_object(text), footnotes)
    return sections(table(rows, ("Steps", "Index", "State", "Footnotes")), footnotes.part())


def _steps(entity: JsonObject, footnotes: "_Footnotes") -> list[tuple[object, ...]]:
    return [
        (
            f"step/{entity.get('id')}/{step.get('id')}",
            step.get("index"),
            step.get("state"),
            footnotes.add(list_at(step, "notes")),
        )
        for step in objects_at(entity, "steps")
    ]


def limits(text: str) -> Printout:
    """Return a line for each limit of an action."""
    return Printout([table(list(parse_object(text).items()), ("Limit", "Value"))])


def step(text: str, action_id: str) -> Printout:
    """Return the sections of ``describe step``."""
    body = parse_object(text)
    rows = [
        ("Name:", body.get("task_id")),
        ("Task ID:", f"step/{action_id}/{body.get('task_id')}"),
        ("Index:", body.get("index")),
        ("State:", body.get("state")),
        ("Start Date:", body.get("start_date")),
        ("End Date:", body.get("end_date")),
        ("Duration:", body.get("duration")),
        ("Try Number:", body.get("try_number")),
        ("Operator:", body.get("operator")),
    ]
    # Not in the contract, so it comes last: why a step failed.
    if body.get("detail"):
        rows.append(("Detail:", body["detail"]))
    return sections(fields(rows), _notes_section("Step", list_at(body, "notes")), end="\n")


def validation(text: str) -> Printout:
    """Return the text of ``describe validation``, in the form of an action's validations."""
    return Printout([_validations([parse_object(text)])])


def _validations(validations: Sequence[JsonObject]) -> str:
    if not validations:
        return "Validations: None"
    blocks = (
        f"{validation.get('validation_name')} : validation/{validation.get('action_id')}/{validation.get('id')}\n\n"
        f"{validation.get('details')}\n\n"
        for validation in validations
    )
    return f"Validations: {chr(10).join(blocks)}"


def workflows(text: str) -> Printout:
    """Return the table of ``get workflows``, in the server's order."""
    rows = [(workflow_entry.get("workflow_id"), workflow_entry.get("state")) for workflow_entry in parse_objects(text)]
    return Printout([table(rows, ("Workflows", "State"))])


def workflow(text: str) -> Printout:
    """Return the sections of ``describe workflow``: the workflow, its steps and its subworkflows."""
    body = parse_object(text)
    steps = [(step.get("task_id"), step.get("state")) for step in objects_at(body, "steps")]
    subworkflows = [_workflow_fields(workflow_entry) for workflow_entry in objects_at(body, "sub_dags")]
    return sections(
        _workflow_fields(body),
        table(steps, ("Steps", "State")),
        sections("Subworkflows:", *subworkflows) if subworkflows else "Subworkflows: None",
        end="\n",
    )


def _workflow_fields(entity: JsonObject) -> TextTable:
    return fields(
        [
            ("Workflow:", entity.get("workflow_id")),
            ("State:", entity.get("state")),
            ("Dag ID:", entity.get("dag_id")),
            ("Execution Date:", entity.get("execution_date")),
            ("Start Date:", entity.get("start_date")),
            ("End Date:", entity.get("end_date")),
            ("External Trigger:", entity.get("external_trigger")),
        ]
    )


def note_details(text: str) -> str:
    """Return the details of a note, with each literal backslash-n as a line break."""
    return text.replace("\\n", "\n")


def note_texts(notes: Iterable[Any]) -> list[str]:
    """Return one text per note, with a pointer to its details if it has any."""
    texts = []
    for note in notes:
        if not (isinstance(note, dict) and note.keys() >= _NOTE_FIELDS):
            texts.append(f"!!! Unparseable Note: {note}")
            continue
        value = _STAGE.sub(lambda match: match[1].lower().replace("_", " "), str(note["note_val"]))
        text = f"> {note['sub_type']}:{note['subject']}({note['note_timestamp']}): {value}"
        pointer = f"\n  - Info available with 'describe notedetails/{note['note_id']}'"
        texts.append(text + (pointer if note["resolved_url_value"] else ""))
    return texts


def _notes_section(title: str, notes: Sequence[Any]) -> str:
    return "\n".join([f"{title} Notes:", *note_texts(notes)]) if notes else ""


class _Footnotes:
    """Numbers for the rows that have notes, and the table of these notes."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._texts: list[str] = []

    def add(self, notes: Sequence[Any]) -> str:
        """Return the number for a row with these notes, or "" without notes."""
        if not notes:
            return ""
        self._texts.append("\n".join(note_texts(notes)))
        return f"({len(self._texts)})"

    def part(self) -> TextTable | str:
        """Return the table, or "" if no row has notes."""
        if not self._texts:
            return ""
        rows = [(f"({number})", text) for number, text in enumerate(self._texts, 1)]
        return table(rows, (f"{self._title} Footnotes", "Note"))
