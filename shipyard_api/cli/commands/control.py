"""Commands that control an existing action: pause, unpause, stop, retry and ack, and change its limits."""

import difflib

import click

from shipyard_api.cli.client import Api, json_content
from shipyard_api.cli.commands import shared_options
from shipyard_api.cli.commands.actions import parse_parameters, start
from shipyard_api.cli.commands.request import fail, path_segment, show
from shipyard_api.cli.commands.syntax import ItemGroup, check_action_id, examples, full_action_id, is_action_id
from shipyard_api.cli.errors import ApiError
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import action_tables
from shipyard_api.cli.output.names import listed
from shipyard_api.cli.output.shapes import JsonObject, as_object, list_at, object_at, objects_at
from shipyard_api.cli.output.wording import printable

_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_CONTROL = "actions/{action_id}/control/{control_verb}"
_SUMMARIES = {
    "pause": "Start no new work; running work is watched until it ends.",
    "unpause": "Resume a paused action.",
    "stop": "Stop an action: start no new work, and watch what cannot be stopped.",
}


class ControlVerbGroup(click.Group):
    """A group that refuses an unknown command as an unknown control verb (contract: shipyard-cli, 1)."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown command in the contract's words, and suggest similar commands."""
        word = args[0]
        if word in self.commands or word.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)

        def is_item(argument: str) -> bool:
            return "/" in argument or is_action_id(argument)

        near = difflib.get_close_matches(word, self.commands)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"`{ctx.command_path} --help` lists all."
        unknown = f"There is no command '{word}'. {hint}"
        # Scripts may match the contract's texts, which alone would not name the fault.
        if not args[1:]:
            raise click.UsageError(f"{unknown}\nMissing argument '[TYPE]'.", ctx)
        is_verb = is_item(args[1]) or (bool(args[2:]) and is_item(args[2]))
        verb = "Invalid action.  Please enter pause, unpause, or stop.\n" if is_verb else ""
        raise click.UsageError(f"{verb}{unknown}", ctx)


@click.group(
    cls=ControlVerbGroup,
    short_help="Pause, unpause or stop an action.",
    epilog=examples(
        f"shipyard control pause action {_ID}",
        f"shipyard control stop action/{_ID}",
    ),
)
def control() -> None:
    """Pause, unpause or stop an action; `shipyard pause action ID` is the same."""


def _complete_type(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return ["action"] if "action".startswith(incomplete) else []


def _command(verb: str, words: str, *, checked: bool) -> click.Command:
    """Return the command for a verb. ``checked``: check the id's form, as upstream's short form does."""

    @click.command(
        verb,
        short_help=_SUMMARIES[verb],
        help=_SUMMARIES[verb],
        epilog=examples(f"shipyard {words} {_ID}", f"shipyard {words} action {_ID}", f"shipyard {words} action/{_ID}"),
    )
    @click.argument("type_", metavar="[TYPE]", required=False, shell_complete=_complete_type)
    @click.argument("action_id", required=False)
    @click.pass_obj
    def command(options: GlobalOptions, /, type_: str | None, action_id: str | None) -> None:
        if type_ is not None and action_id is None and "/" in type_:
            action_id = full_action_id(type_.partition("/")[2])
        elif type_ is not None and action_id is None and is_action_id(type_):
            action_id = full_action_id(type_)
        elif action_id is not None:
            checks = check_action_id if checked else full_action_id
            action_id = checks(action_id.removeprefix("action/"))
        if not type_ or not action_id:
            raise click.UsageError("A type and id must be entered.")
        action = action_id

        show(
            options,
            lambda api: api.post(f"actions/{path_segment(action)}/control/{verb}"),
            expected=202,
            cli=lambda _: f"{verb} successfully submitted for action {action}",
        )

    return command


pause, unpause, stop = (_command(verb, verb, checked=True) for verb in _SUMMARIES)
for _verb in _SUMMARIES:
    control.add_command(_command(_verb, f"control {_verb}", checked=False))


@click.command(
    short_help="Retry a failed action without its deployed nodes.",
    epilog=examples(
        f"shipyard retry {_ID}",
        f"shipyard retry action/{_ID} --force",
    ),
)
@click.argument("action_id")
@click.option(
    "--force",
    is_flag=True,
    help="Start even if work on its nodes is still running, a newer action has overtaken it, or nodes are held.",
)
@shared_options.stored_plan
@shared_options.watch
@click.pass_obj
def retry(options: GlobalOptions, /, action_id: str, force: bool, plan: list[tuple[str, str]], watch: bool) -> None:
    """Start a new action that retries ACTION_ID, which failed or has failed nodes: deployed nodes are kept.

    First prints how many nodes are kept, with --output-format raw or format on stderr.
    """
    action = check_action_id(action_id)
    query = [("force", "true")] if force else []
    try:
        api = Api(options)
        now = as_object(json_content(api.post("plans", query, json={"retry": action})), "the body")
        # What the server would refuse is not announced.
        if now.get("refused") is None:
            click.echo(_announced(api, action, now), err=options.form != "cli")
    except ApiError as error:
        # In the other forms the answer to the retry itself describes the error, in that form. A temporary error ends
        # the command here: a retry that was not announced must not succeed a moment later.
        if options.form == "cli" or error.temporary:
            fail(options, error)
    query += plan
    start(options, lambda api: api.post_once(f"actions/{action}/control/retry", query, template=_CONTROL), watch=watch)


def _announced(api: Api, action: str, plan: JsonObject) -> str:
    """Return what a retry will do, by its plan."""
    totals = as_object(plan.get("totals"), "totals")
    kept, nodes = int(totals.get("kept") or 0), int(totals.get("nodes") or 0)
    if nodes:
        deployed = f"{kept} deployed node{'s' * (kept != 1)}"
        return f"Keeps {deployed} of action {action} and retries {nodes - kept}."
    runs = [run for batch in objects_at(object_at(plan, "software"), "batches") for run in objects_at(batch, "runs")]
    names = sorted({str(node) for run in runs for node in list_at(run, "nodes")})
    if not names:
        return f"Runs action {action} again: it deploys no nodes."
    tasks = sorted({str(task) for run in runs for task in list_at(run, "tasks")})
    command = object_at(api.read(f"actions/{action}"), "parameters").get("command") if tasks == ["command"] else None
    what = f"the command `{command}`" if command else f"task{'s' * (len(tasks) != 1)} {listed(tasks)}"
    return printable(f"Runs {what} of action {action} again on {listed(names)}.")


@click.command(
    short_help="Acknowledge the failures of an action.",
    epilog=examples(f"shipyard ack action/{_ID}", f'shipyard ack {_ID} --reason "the disk is ordered"'),
)
@click.argument("action_id")
@click.option("--reason", default="", help="Why the failure is accepted, or what happens next.")
@click.pass_obj
def ack(options: GlobalOptions, /, action_id: str, reason: str) -> None:
    """Record that you have seen what failed in ACTION_ID; `describe action` shows who did so first, and when."""
    action = check_action_id(action_id)
    query = [("reason", reason)] if reason else []
    show(
        options,
        lambda api: api.post(f"actions/{action}/control/acknowledge", query),
        expected=202,
        cli=lambda _: f"acknowledge successfully submitted for action {action}",
    )


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
