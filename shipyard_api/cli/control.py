"""Commands that steer an action that there is: pause, unpause, stop; and retry."""

import click

from shipyard_api.cli import render
from shipyard_api.cli.actions import check_id
from shipyard_api.cli.settings import Settings

_SUMMARIES = {
    "pause": "Start nothing new; what runs is watched to its end.",
    "unpause": "Let a paused action go on.",
    "stop": "End an action; nothing new starts, and what cannot be stopped is watched.",
}


@click.group(short_help="Pause, unpause or stop an action.")
def control() -> None:
    """Pause, unpause or stop an action; `shipyard pause action ID` says the same."""


def _command(verb: str, *, checked: bool) -> click.Command:
    """Return the command for a verb. ``checked``: the id's form is looked at, as the short form always did."""

    @click.command(verb, short_help=_SUMMARIES[verb], help=_SUMMARIES[verb])
    @click.argument("type_", metavar="[TYPE]", required=False)
    @click.argument("action_id", required=False)
    @click.pass_obj
    def command(settings: Settings, /, type_: str | None, action_id: str | None) -> None:
        if type_ is not None and action_id is None and "/" in type_:
            action_id = type_.partition("/")[2]
        elif checked and action_id is not None:
            check_id(action_id)
        if not type_ or not action_id:
            raise click.UsageError("A type and id must be entered.")
        action = action_id
        from shipyard_api.cli.client import segment, show

        show(
            settings,
            lambda api: api.post(f"actions/{segment(action)}/control/{verb}"),
            expected=202,
            cli=lambda _: f"{verb} successfully submitted for action {action}",
        )

    return command


pause, unpause, stop = (_command(verb, checked=True) for verb in _SUMMARIES)
for _verb in _SUMMARIES:
    control.add_command(_command(_verb, checked=False))


@click.command(short_help="Try a failed action again, without what is deployed already.")
@click.argument("action_id")
@click.option("--force", is_flag=True, help="Do not mind work that is still under way on its nodes.")
@click.pass_obj
def retry(settings: Settings, /, action_id: str, force: bool) -> None:
    """Make a new action of the failed action ACTION_ID: nodes that are deployed are kept, the rest is tried again."""
    action = check_id(action_id.removeprefix("action/"))
    from shipyard_api.cli.client import Api, ApiError, show

    if settings.form == "cli":
        try:
            nodes = list(Api(settings).pages(f"actions/{action}/nodes", "nodes"))
        except ApiError as error:
            click.echo(str(error))
            raise SystemExit(1) from error
        kept = sum(node["status"] == "success" for node in nodes)
        click.echo(f"Keeps {kept} deployed nodes of action {action}, and tries {len(nodes) - kept} again.")
    query = [("force", "true")] if force else []
    show(
        settings,
        lambda api: api.post(f"actions/{action}/control/retry", query),
        expected=201,
        cli=render.created_action,
    )
