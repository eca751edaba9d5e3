"""``shipyard set``: change the limits of an action while it runs."""

import click

from shipyard_api.cli.commands.actions import parse_parameters
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import ItemGroup, check_action_id, examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import action_tables

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class SetGroup(ItemGroup):
    """The group ``set``, which accepts ``action/ID`` in place of its command."""

    items = {"action": [("action/action id", lambda action: [action])]}  # noqa: RUF012 - a class attribute, as in click's own groups


@click.group(
    "set",
    cls=SetGroup,
    short_help="Change the limits of a running action.",
    epilog=examples(f"shipyard set action/{_ID} drain-timeout=7200"),
)
def set_() -> None:
    """Change the limits of a running action; `shipyard set action/ID NAME=VALUE` is the same."""


@click.command(
    "action",
    short_help="Change the limits of a running action.",
    epilog=examples(
        f"shipyard set action {_ID} drain-timeout=7200 grace-period=600",
        f"shipyard set action/{_ID} on-blocked=fail",
    ),
)
@click.argument("action_id")
@click.argument("limits", metavar="NAME=VALUE...", nargs=-1, required=True)
@click.pass_obj
def set_limits(options: GlobalOptions, /, action_id: str, limits: tuple[str, ...]) -> None:
    """Change limits of the action ACTION_ID, which uses them from its next look at its work on.

    Limits in seconds: drain-timeout, grace-period, clear-labels-timeout, remove-etcd-timeout, etcd-ready-timeout,
    shutdown-kubelet-timeout. What a drain does about pods that a budget keeps: on-blocked=wait, fail or delete.
    """
    path, changes = f"actions/{check_action_id(action_id)}/limits", parse_parameters(limits)
    show(options, lambda api: api.patch(path, changes), cli=action_tables.limits)


set_.add_command(set_limits)
