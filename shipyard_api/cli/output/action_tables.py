"""Answers about actions, their parts and workflows, as pages to the letter of the contract (shipyard-cli, 5.4). Pure.

Column order and the prefixes ``action/`` and ``step/`` are read by scripts in the field. A field that the answer lacks
is shown as None: other servers than ours give fewer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shipyard_api.cli.output.answers import parsed
from shipyard_api.cli.output.printout import Page, Table, fields, sections, table

JsonObject = Mapping[str, Any]


def actions(text: str) -> Page:
    """Return the table of ``get actions``, oldest first."""
    return _actions_page(parsed(text))


def created_action(text: str) -> Page:
    """Return the same table for the one action that ``create action`` made, and what the server warns of."""
    found = parsed(text)
    page = _actions_page([found])
    warnings = [f"- Warning: {one.get('message')}" for one in found.get("warnings") or []]
    if not warnings:
        return page
    apart = "" if str(page).endswith("\n\n") else "\n\n"
    return Page([*page.parts, apart + "\n".join(warnings)])


def _actions_page(found: list[JsonObject]) -> Page:
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
    return sections(table(rows, headers), footnotes.part())


def _tally(steps: Sequence[JsonObject]) -> str:
    states = [step.get("state") for step in steps]
    good, bad = states.count("success"), states.count("failed")
    return f"{good}/{bad}/{len(states) - good - bad}"


def action(text: str) -> Page:
    """Return the sections of ``describe action``."""
    found = parsed(text)
    about = fields(
        [
            ("Name:", found.get("name")),
            ("Action:", f"action/{found.get('id')}"),
            ("Lifecycle:", found.get("action_lifecycle")),
            ("Parameters:", found.get("parameters")),
            ("Datetime:", found.get("datetime")),
            ("Dag Status:", found.get("dag_status")),
            ("Context Marker:", found.get("context_marker")),
            ("User:", found.get("user")),
        ]
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
    return sections(
        about,
        table(steps, ("Steps", "Index", "State", "Footnotes")),
        footnotes.part(),
        table(commands, ("Commands", "User", "Datetime")),
        _validations(found.get("validations") or []),
        _notes_section("Action", found.get("notes")),
        end="\n",
    )


def step(text: str, action_id: str) -> Page:
    """Return the sections of ``describe step``."""
    found = parsed(text)
    rows = [
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
        rows.append(("Detail:", found["detail"]))
    return sections(fields(rows), _notes_section("Step", found.get("notes")), end="\n")


def validation(text: str) -> Page:
    """Return what ``describe validation`` shows, as the validations of an action are shown."""
    return Page([_validations([parsed(text)])])


def _validations(found: Sequence[JsonObject]) -> str:
    if not found:
        return "Validations: None"
    blocks = (
        f"{one.get('validation_name')} : validation/{one.get('action_id')}/{one.get('id')}\n\n{one.get('details')}\n\n"
        for one in found
    )
    return f"Validations: {chr(10).join(blocks)}"


def workflows(text: str) -> Page:
    """Return the table of ``get workflows``, in the server's order."""
    rows = [(one.get("workflow_id"), one.get("state")) for one in parsed(text)]
    return Page([table(rows, ("Workflows", "State"))])


def workflow(text: str) -> Page:
    """Return the sections of ``describe workflow``: the run, its steps, and the runs that it started."""
    found = parsed(text)
    steps = [(one.get("task_id"), one.get("state")) for one in found.get("steps") or []]
    below = [_run(one) for one in found.get("sub_dags") or []]
    return sections(
        _run(found),
        table(steps, ("Steps", "State")),
        sections("Subworkflows:", *below) if below else "Subworkflows: None",
        end="\n",
    )


def _run(found: JsonObject) -> Table:
    return fields(
        [
            ("Workflow:", found.get("workflow_id")),
            ("State:", found.get("state")),
            ("Dag ID:", found.get("dag_id")),
            ("Execution Date:", found.get("execution_date")),
            ("Start Date:", found.get("start_date")),
            ("End Date:", found.get("end_date")),
            ("External Trigger:", found.get("external_trigger")),
        ]
    )


def note_details(text: str) -> str:
    """Return the details of a note, with a line break for each literal backslash and n."""
    return text.replace("\\n", "\n")


def notes(found: Iterable[JsonObject]) -> list[str]:
    """Return one text per note, with a pointer to its details if it has any."""
    texts = []
    for note in found:
        try:
            text = f"> {note['sub_type']}:{note['subject']}({note['note_timestamp']}): {note['note_val']}"
            more = f"\n  - Info available with 'describe notedetails/{note['note_id']}'"
            text += more if note["resolved_url_value"] else ""
        except (KeyError, TypeError):
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
        """Return the number for a row with these notes, or nothing if there is none."""
        if not found:
            return ""
        self._texts.append("\n".join(notes(found)))
        return f"({len(self._texts)})"

    def part(self) -> Table | str:
        """Return the table, or nothing if no row has a number."""
        if not self._texts:
            return ""
        rows = [(f"({number})", text) for number, text in enumerate(self._texts, 1)]
        return table(rows, (f"{self._title} Footnotes", "Note"))
