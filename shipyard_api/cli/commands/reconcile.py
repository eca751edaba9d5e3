"""``shipyard reconcile``: say whose jobs are of which the database may have lost the record."""

from functools import partial

import click

from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import reconciliation_tables

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_JOB = "6b9cbd47-5a2d-4a1c-9f0c-1d2e3f405162"


@click.command(
    "reconcile",
    short_help="Say whose jobs at the provisioner are.",
    epilog=examples(
        f"shipyard reconcile {_ID}",
        f"shipyard reconcile {_ID} --ours {_JOB}",
        f"shipyard reconcile {_ID} --not-ours {_JOB}",
    ),
)
@click.argument("action_id")
@click.option("--ours", multiple=True, metavar="JOB", help="A job that this action began: take it up.")
@click.option("--not-ours", multiple=True, metavar="JOB", help="A job of another client: send the work again.")
@click.pass_obj
def reconcile(options: GlobalOptions, /, action_id: str, ours: tuple[str, ...], not_ours: tuple[str, ...]) -> None:
    """Show the jobs of the provisioner that the action ACTION_ID may have begun, or say whose they are.

    After the database has lost its last writes, an action asks the provisioner what it has been sent. Where that cannot
    be seen, the action sends nothing to these nodes and waits for this answer until the time limit of the phase. Look
    at the jobs at the provisioner: who created them, when, and for which nodes.
    """
    action = check_action_id(action_id)
    path, answers = f"actions/{action}/reconciliation", {"ours": list(ours), "others": list(not_ours)}
    said = bool(ours or not_ours)
    show(
        options,
        lambda api: api.patch(path, answers) if said else api.get(path),
        cli=partial(reconciliation_tables.reconciliation, action_id=action),
    )
