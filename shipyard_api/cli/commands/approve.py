"""``shipyard approve``: let the next wave of an action begin, or stop it; sign a stored plan."""

from http import HTTPStatus
from typing import Any

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import approval_tables, plan_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.shapes import parse_object

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@click.command(
    "approve",
    short_help="Let the next wave of an action begin; approve a stored plan.",
    epilog=examples(
        f"shipyard approve {_ID}",
        f"shipyard approve {_ID} --wave canary --reason 'quiet for an hour'",
        f"shipyard approve {_ID} --refuse --reason 'fans too loud'",
        f"shipyard approve plan/{shared_options.PLAN_ID} --show",
        f"shipyard approve plan/{shared_options.PLAN_ID} --reason 'as discussed'",
    ),
)
@click.argument("action_id", metavar="ACTION_ID|plan/ID")
@click.option("--wave", help="The wave that has ended; needed if several wait.")
@click.option("--group", help="The group of the wave; needed if several wait.")
@click.option("--refuse", is_flag=True, help="Begin no further node of the group instead.")
@click.option("--reason", help="Kept with the answer, in the notes of the action or with the plan.")
@click.option("--show", "only_show", is_flag=True, help="Only show the plan or the waiting gate.")
@click.pass_obj
def approve(
    options: GlobalOptions,
    /,
    action_id: str,
    wave: str | None,
    group: str | None,
    refuse: bool,
    reason: str | None,
    only_show: bool,
) -> None:
    """Approve what follows a wave of the action ACTION_ID, where its rollout policy asks for a person.

    plan/ID is a plan that another person has stored with `shipyard plan --store`, plan/latest the newest one. Read it
    first, with --show.
    """
    if action_id.startswith("plan/"):
        if wave or group or refuse:
            raise click.UsageError("A plan has no waves, and is refused by not approving it.")
        _approve_plan(options, shared_options.check_plan_id(action_id), reason, only_show=only_show)
        return
    path = f"actions/{check_action_id(action_id)}/approvals"
    given = {"wave": wave, "group": group, "reason": reason}
    answer: dict[str, Any] = {"approve": not refuse} | {name: text for name, text in given.items() if text}
    show(
        options,
        lambda api: api.get(path) if only_show else api.post(path, json=answer),
        cli=approval_tables.approvals if only_show else approval_tables.answered,
    )


def _approve_plan(options: GlobalOptions, plan: str, reason: str | None, *, only_show: bool) -> None:
    """Show a stored plan or sign it, by the hash that it has."""
    path = f"plans/{plan}"

    def request(api: Api) -> Answer:
        answer = api.get(path)
        if only_show or answer.status != HTTPStatus.OK:
            return answer
        signed = {"hash": parse_object(answer.text).get("hash"), **({"reason": reason} if reason else {})}
        return api.post(f"{path}/approvals", json=signed)

    table = plan_tables.stored_plan if only_show else plan_tables.signatures
    show(options, request, cli=table)
