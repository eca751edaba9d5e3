"""Commands that steer an action that there is: pause, unpause, stop; and retry."""

import difflib

import click

from shipyard_api.cli.commands.syntax import check_action, examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output import action_tables

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_CONTROL = "actions/{action_id}/control/{control_verb}"
_SUMMARIES = {
    "pause": "Start nothing new; what runs is watched to its end.",
    "unpause": "Let a paused action go on.",
    "stop": "End an action; nothing new starts, and what cannot be stopped is watched.",
}


class VerbOr(click.Group):
    """A group in which an unknown word counts as a verb to steer an action with, and is refused as such."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown word in the contract's words, and say what may have been meant."""
        word = args[0]
        if word in self.commands or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(word, self.commands)
        meant = f"Did you mean {' or '.join(near)}?" if near else f"`{ctx.command_path} --help` lists all."
        told = f"There is no command '{word}'. {meant}"
        # Scripts may meet the first of the contract's texts; the other one alone would tell nobody what is wrong.
        verb = "Invalid action.  Please enter pause, unpause, or stop."
        raise click.UsageError(f"{verb}\n{told}" if args[1:] else f"{told}\nMissing argument '[TYPE]'.", ctx)


@click.group(
    cls=VerbOr,
    short_help="Pause, unpause or stop an action.",
    epilog=examples(
        f"shipyard control pause action {_ID}",
        f"shipyard control stop action/{_ID}",
    ),
)
def control() -> None:
    """Pause, unpause or stop an action; `shipyard pause action ID` says the same."""


def _types(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return ["action"] if "action".startswith(incomplete) else []


def _command(verb: str, words: str, *, checked: bool) -> click.Command:
    """Return the command for a verb. ``checked``: the id's form is looked at, as the short form always did."""

    @click.command(
        verb,
        short_help=_SUMMARIES[verb],
        help=_SUMMARIES[verb],
        epilog=examples(f"shipyard {words} action {_ID}", f"shipyard {words} action/{_ID}"),
    )
    @click.argument("type_", metavar="[TYPE]", required=False, shell_complete=_types)
    @click.argument("action_id", required=False)
    @click.pass_obj
    def command(settings: Settings, /, type_: str | None, action_id: str | None) -> None:
        if type_ is not None and action_id is None and "/" in type_:
            action_id = type_.partition("/")[2]
        elif action_id is not None:
            action_id = check_action(action_id) if checked else action_id.removeprefix("action/")
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


pause, unpause, stop = (_command(verb, verb, checked=True) for verb in _SUMMARIES)
for _verb in _SUMMARIES:
    control.add_command(_command(_verb, f"control {_verb}", checked=False))


@click.command(
    short_help="Try a failed action again, without what is deployed already.",
    epilog=examples(
        f"shipyard retry {_ID}",
        f"shipyard retry action/{_ID} --force",
    ),
)
@click.argument("action_id")
@click.option("--force", is_flag=True, help="Do not mind work that is still under way on its nodes.")
@click.pass_obj
def retry(settings: Settings, /, action_id: str, force: bool) -> None:
    """Make a new action of the failed action ACTION_ID: nodes that are deployed are kept, the rest is tried again.

    Says how many before it does so; with --output-format raw or format on stderr.
    """
    action = check_action(action_id)
    from shipyard_api.cli.client import Api, ApiError, fail, show

    try:
        api = Api(settings)
        # What did not fail is refused: then there is nothing to announce.
        if api.read(f"actions/{action}").get("action_lifecycle") in (None, "Failed"):
            nodes = list(api.pages(f"actions/{action}/nodes", "nodes"))
            kept = sum(node.get("status") == "success" for node in nodes)
            deployed = f"{kept} deployed node{'s' * (kept != 1)}"
            told = f"Keeps {deployed} of action {action}, and tries {len(nodes) - kept} again."
            click.echo(told, err=settings.form != "cli")
    except ApiError as error:
        # For a program the answer to the request itself says what is wrong, in the form that was asked for; but what
        # could not be announced must not succeed a moment later.
        if settings.form == "cli" or error.passing:
            fail(settings, error)
    query = [("force", "true")] if force else []
    show(
        settings,
        lambda api: api.post_once(f"actions/{action}/control/retry", query, template=_CONTROL),
        expected=201,
        cli=action_tables.created_action,
    )
