"""Commands that look at one thing: an action, a step, a validation, the details of a note, a workflow."""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import click

from shipyard_api.cli.commands.syntax import Items, check_action, check_id, examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output import action_tables, answers

if TYPE_CHECKING:
    from shipyard_api.cli.client import Api

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_RUN = "deploy_site__2026-11-21T01:23:55.745506"


class Describe(Items):
    """The group of these commands, which are also asked for by items such as ``step/ID/STEP``."""

    items = {  # noqa: RUF012 - as in click's own groups, what a class offers stands in the class
        "action": [("action/action id", lambda action: [action])],
        "step": [("step/action id/step id", lambda action, step: [step, "--action", action])],
        "validation": [
            ("validation/validation id/action id", lambda one, action: [one, "--action", action]),
        ],
        "notedetails": [("notedetails/note id", lambda note: [note])],
        "workflow": [("workflow/workflow id", lambda workflow: [workflow])],
        "node": [("node/node name", lambda node: [node])],
    }


@click.command(
    "action",
    short_help="Show an action: its state, steps, commands and notes.",
    epilog=examples(
        f"shipyard describe action {_ID}",
        f"shipyard describe action/{_ID}",
        f"shipyard -v 5 describe action/{_ID}",
    ),
)
@click.argument("action_id")
@click.pass_obj
def action(settings: Settings, /, action_id: str) -> None:
    """Show the action ACTION_ID; action/ACTION_ID is the same."""
    path = f"actions/{check_action(action_id)}"
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get(path), expected=200, cli=action_tables.action)


@click.command(
    "step",
    short_help="Show a step of an action.",
    epilog=examples(
        f"shipyard describe step preflight -a {_ID}",
        f"shipyard describe step/{_ID}/preflight",
    ),
)
@click.argument("step_id")
@click.option("--action", "-a", "action_id", help="The action that the step belongs to. (required)")
@click.pass_obj
def step(settings: Settings, /, step_id: str, action_id: str | None) -> None:
    """Show the step STEP_ID of an action; step/ACTION_ID/STEP_ID is the same."""
    known = check_action(action_id)
    from shipyard_api.cli.client import segment, show

    show(
        settings,
        lambda api: api.get(f"actions/{known}/steps/{segment(step_id)}"),
        expected=200,
        cli=lambda text: action_tables.step(text, known),
    )


@click.command(
    "validation",
    short_help="Show a failed validation of an action.",
    epilog=examples(
        "shipyard describe validation 01BTTMFVDKZFRJM80FGD7J1AKV -a 01BTTMFVDKZFRJM80FGD7J1AKN",
        "shipyard describe validation/01BTTMFVDKZFRJM80FGD7J1AKV/01BTTMFVDKZFRJM80FGD7J1AKN",
    ),
)
@click.argument("validation_id")
@click.option("--action", "-a", "action_id", help="The action that was validated. (required)")
@click.pass_obj
def validation(settings: Settings, /, validation_id: str, action_id: str | None) -> None:
    """Show the validation VALIDATION_ID of an action; validation/VALIDATION_ID/ACTION_ID is the same.

    Tables print validation/ACTION_ID/VALIDATION_ID. That works too: if there is no such validation, the two ids are
    tried the other way round.
    """
    first, other = check_id(validation_id, kind="validation"), check_action(action_id)
    from shipyard_api.cli.client import show

    def either_way(api: "Api") -> answers.Answer:
        said = api.get(f"actions/{other}/validations/{first}")
        if said.status != 404:
            return said
        turned = api.get(f"actions/{first}/validations/{other}")
        return turned if turned.status == 200 else said

    show(settings, either_way, expected=200, cli=action_tables.validation)


@click.command(
    "notedetails",
    short_help="Show what a note leads to.",
    epilog=examples(
        "shipyard describe notedetails 01BTTMFVDKZFRJM80FGD7J1AKN",
        "shipyard describe notedetails/01BTTMFVDKZFRJM80FGD7J1AKN",
    ),
)
@click.argument("note_id")
@click.pass_obj
def note_details(settings: Settings, /, note_id: str) -> None:
    """Show the details of the note NOTE_ID; notedetails/NOTE_ID, as notes print it, is the same."""
    check_id(note_id, kind="note")
    from shipyard_api.cli.client import show

    show(
        settings,
        lambda api: as_text(api.get(f"notedetails/{note_id}")),
        expected=200,
        cli=action_tables.note_details,
        kind=answers.TEXT,
    )


@click.command(
    "workflow",
    short_help="Show a workflow: its steps, and the workflows it started.",
    epilog=examples(
        f"shipyard describe workflow {_RUN}",
        f"shipyard describe workflow/{_RUN}",
    ),
)
@click.argument("workflow_id")
@click.pass_obj
def workflow(settings: Settings, /, workflow_id: str) -> None:
    """Show the workflow WORKFLOW_ID, as `shipyard get workflows` lists it; workflow/WORKFLOW_ID is the same."""
    _check_workflow(workflow_id)
    from shipyard_api.cli.client import segment, show

    path = f"workflows/{segment(workflow_id)}"
    show(settings, lambda api: api.get(path), expected=200, cli=action_tables.workflow)


def as_text(said: answers.Answer) -> answers.Answer:
    """Return an answer that holds text as plain text, since the API calls even that JSON (contract: rest, 1)."""
    named = said.status == 200 and ("json" in said.content_type.lower() or not said.content_type)
    return replace(said, content_type="text/plain") if named else said


def _check_workflow(given: str) -> None:
    """Refuse what cannot be the id of a workflow. A time may have no fraction, or a zone: such are listed, too."""
    _, found, at = given.partition("__")
    if not found:
        raise click.UsageError(
            "Invalid ID. The ID must cotain a double underscore "  # codespell:ignore cotain
            "separating the workflow name from the execution date"
        )
    try:
        good = "T" in at and bool(datetime.fromisoformat(at))
    except ValueError:
        good = False
    if not good:
        raise click.UsageError("Invalid ID. The date portion of the ID must conform to YYYY-MM-DDTHH:mm:ss.SSSSSS")
