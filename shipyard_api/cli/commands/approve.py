"""``shipyard approve``: let the next wave of an action begin, or stop it."""

from typing import Any

import click

from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import approval_tables

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@click.command(
    "approve",
    short_help="Let the next wave of an action begin.",
    epilog=examples(
        f"shipyard approve {_ID}",
        f"shipyard approve {_ID} --wave canary --reason 'quiet for an hour'",
        f"shipyard approve {_ID} --refuse --reason 'fans too loud'",
    ),
)
@click.argument("action_id")
@click.option("--wave", help="The wave that has ended; needed if several wait.")
@click.option("--group", help="The group of the wave; needed if several wait.")
@click.option("--refuse", is_flag=True, help="Begin no further node of the group instead.")
@click.option("--reason", help="Kept with the answer, in the notes of the action.")
@click.option("--show", "only_show", is_flag=True, help="Only show what the action waits for.")
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
    """Approve what follows a wave of the action ACTION_ID, where its rollout policy asks for a person."""
    path = f"actions/{check_action_id(action_id)}/approvals"
    given = {"wave": wave, "group": group, "reason": reason}
    answer: dict[str, Any] = {"approve": not refuse} | {name: text for name, text in given.items() if text}
    show(
        options,
        lambda api: api.get(path) if only_show else api.post(path, json=answer),
        expected=200,
        cli=approval_tables.approvals,
    )
