"""Commands that show one action, step, validation, note or workflow."""

from dataclasses import replace
from datetime import datetime

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import LATEST, ItemGroup, check_action_id, check_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import action_tables, answers, node_tables
from shipyard_api.cli.output.printout import TextTable
from shipyard_api.cli.output.shapes import JsonObject, parse_object

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_WORKFLOW = "deploy_site__2026-11-21T01:23:55.745506"


class DescribeGroup(ItemGroup):
    """The group ``describe``, which accepts items such as ``step/ID/STEP`` in place of its commands."""

    items = {  # noqa: RUF012 - a class attribute, as in click's own groups
        "action": [("action/action id", lambda action: [action])],
        "step": [("step/action id/step id", lambda action, step: [step, "--action", action])],
        "validation": [
            ("validation/validation id/action id", lambda ids, action: [ids, "--action", action]),
        ],
        "notedetails": [("notedetails/note id", lambda note: [note])],
        "workflow": [("workflow/workflow id", lambda workflow: [workflow])],
        "plan": [("plan/plan id", lambda plan: [plan])],
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
@click.argument("action_id", metavar="[ACTION_ID]", default=LATEST)
@click.pass_obj
def action(options: GlobalOptions, /, action_id: str) -> None:
    """Show the action ACTION_ID, or without it the newest one; action/ACTION_ID is the same."""
    path = f"actions/{check_action_id(action_id)}"
    causes: list[TextTable] = []

    def with_causes(api: Api) -> answers.Answer:
        answer = api.get(path)
        if options.form == "cli" and answer.status == 200 and _has_failures(api, path, parse_object(answer.text)):
            report = api.get(f"{path}/report")
            # A server of upstream has no reports.
            causes.extend(node_tables.causes(report.text) if report.status == 200 else [])
        return answer

    show(options, with_causes, cli=lambda text: action_tables.action(text, causes))


def _has_failures(api: Api, path: str, action: JsonObject) -> bool:
    """Return whether something failed in an action: a success may tolerate nodes that did, as its overview shows."""
    if action.get("dag_status") != "success":
        return action.get("dag_status") == "failed"
    overview = api.get(f"{path}/overview")
    return overview.status == 200 and bool(parse_object(overview.text).get("way_back"))


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
def step(options: GlobalOptions, /, step_id: str, action_id: str | None) -> None:
    """Show the step STEP_ID of an action; step/ACTION_ID/STEP_ID is the same."""
    known = check_action_id(action_id)

    show(
        options,
        lambda api: api.get(f"actions/{known}/steps/{path_segment(step_id)}"),
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
def validation(options: GlobalOptions, /, validation_id: str, action_id: str | None) -> None:
    """Show the validation VALIDATION_ID of an action; validation/VALIDATION_ID/ACTION_ID is the same.

    validation/ACTION_ID/VALIDATION_ID, as tables print it, works too.
    """
    first, other = check_id(validation_id, kind="validation"), check_action_id(action_id)

    def in_either_order(api: Api) -> answers.Answer:
        answer = api.get(f"actions/{other}/validations/{first}")
        if answer.status != 404:
            return answer
        swapped = api.get(f"actions/{first}/validations/{other}")
        return swapped if swapped.status == 200 else answer

    show(options, in_either_order, cli=action_tables.validation)


@click.command(
    "notedetails",
    short_help="Show the details of a note.",
    epilog=examples(
        "shipyard describe notedetails 01BTTMFVDKZFRJM80FGD7J1AKN",
        "shipyard describe notedetails/01BTTMFVDKZFRJM80FGD7J1AKN",
    ),
)
@click.argument("note_id")
@click.pass_obj
def note_details(options: GlobalOptions, /, note_id: str) -> None:
    """Show the details of the note NOTE_ID; notedetails/NOTE_ID, as notes print it, is the same."""
    check_id(note_id, kind="note")

    show(
        options,
        lambda api: as_text(api.get(f"notedetails/{note_id}")),
        cli=action_tables.note_details,
        kind=answers.TEXT,
    )


@click.command(
    "workflow",
    short_help="Show a workflow: its steps and subworkflows.",
    epilog=examples(
        f"shipyard describe workflow {_WORKFLOW}",
        f"shipyard describe workflow/{_WORKFLOW}",
    ),
)
@click.argument("workflow_id")
@click.pass_obj
def workflow(options: GlobalOptions, /, workflow_id: str) -> None:
    """Show the workflow WORKFLOW_ID, as `shipyard get workflows` lists it; workflow/WORKFLOW_ID is the same."""
    _check_workflow_id(workflow_id)

    path = f"workflows/{path_segment(workflow_id)}"
    show(options, lambda api: api.get(path), cli=action_tables.workflow)


def as_text(answer: answers.Answer) -> answers.Answer:
    """Return an answer that contains text with that content type: the API labels it as JSON (contract: rest, 1)."""
    relabel = answer.status == 200 and ("json" in answer.content_type.lower() or not answer.content_type)
    return replace(answer, content_type="text/plain") if relabel else answer


def _check_workflow_id(value: str) -> None:
    """Refuse what cannot be the id of a workflow. The time may lack a fraction or have a zone, as servers list it."""
    _, step_id, at = value.partition("__")
    if not step_id:
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


@click.command(
    "workflows",
    short_help="List the workflows of the last 30 days.",
    epilog=examples(
        "shipyard get workflows",
        "shipyard get workflows --since=2026-11-01",
    ),
)
@click.option(
    "--since",
    metavar="DATE",
    help="Begun at or after it, such as 2026-11-21T08:00. (default: 30 days ago)",
)
@click.pass_obj
def get(options: GlobalOptions, /, since: str | None) -> None:
    """List workflows, the runs of actions. The default is those that began in the last 30 days."""
    query = [("since", since)] if since else []

    show(options, lambda api: api.get("workflows", query), cli=action_tables.workflows)
