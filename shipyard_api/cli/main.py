"""The command ``shipyard``: global options, all commands, exit codes.

Exit codes: 0 success, 1 an error of the API or no connection, 2 a wrong command line, or a difference found by `diff`.
"""

import io
import os
import sys
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from shipyard_api.cli.commands import (
    action_parts,
    actions,
    approve,
    completion,
    configdocs,
    control,
    demo,
    deploy_templates,
    describe,
    drift,
    fleet,
    forecast,
    help_topics,
    holds,
    imports,
    inventory,
    labels,
    login,
    mcp,
    node_operations,
    nodes,
    plan,
    programs,
    reconcile,
    software,
    tasks,
    wait,
    watch,
)
from shipyard_api.cli.commands.shared_options import add_output_option
from shipyard_api.cli.commands.syntax import ListGroup, examples
from shipyard_api.cli.global_options import GlobalOptions, KeystoneOptions
from shipyard_api.cli.output import answers

if TYPE_CHECKING:
    from uuid import UUID


_SECTIONS = {
    "Documents": ("create", "commit", "get", "explain", "help"),
    "Actions": (
        "plan",
        "forecast",
        "watch",
        "wait",
        "report",
        "describe",
        "logs",
        "pause",
        "unpause",
        "stop",
        "retry",
        "ack",
        "set",
        "reconcile",
        "approve",
        "control",
    ),
    "Nodes": ("diff", "hold", "release", "drain-plan", "node", "deploy-template", "inventory"),
    "Other programs": ("mcp",),
    "Software": ("software", "cluster", "role", "tag"),
    "Several sites": ("fleet",),
    "Who you are": ("login", "logout"),
    "Try it": ("demo", "up"),
    "Run an installation": ("serve", "worker", "db", "token", "config", "import", "simulate", "completion"),
}


class ShipyardGroup(control.ControlVerbGroup):
    """The command itself; its help text lists the commands in the order of use."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse arguments that are not UTF-8, for all commands: they can be neither sent nor printed."""
        for argument in args:
            if not argument.isascii() and any("\ud800" <= character <= "\udfff" for character in argument):
                raise click.UsageError(f"The argument {argument!a} is not UTF-8.", ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; Ctrl-C exits with 130, as shells do."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            raise SystemExit(130) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, with those for Keystone in a section of their own, and then the commands."""
        records = [(parameter, parameter.get_help_record(ctx)) for parameter in self.get_params(ctx)]
        for title, keystone in (("Options", False), ("Options for Keystone", True)):
            with formatter.section(title):
                formatter.write_dl(
                    [record for parameter, record in records if record and keystone is _is_keystone(parameter)]
                )
        for title, names in _SECTIONS.items():
            rows = [(name, self.commands[name].get_short_help_str(limit=90)) for name in names]
            with formatter.section(title):
                formatter.write_dl(rows)


def _is_keystone(parameter: click.Parameter) -> bool:
    return str(parameter.name).startswith("os_")


@click.group(
    name="shipyard",
    cls=ShipyardGroup,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
    epilog=examples(
        "shipyard create configdocs design --directory=site --replace",
        "shipyard commit configdocs",
        "shipyard create action deploy_site",
        "shipyard get actions",
    )
    + "\n\n`shipyard help` explains how the commands work together.",
)
@click.version_option(package_name="shipyard", message="%(prog)s %(version)s", help="Print the release and exit.")
@click.option("--url", envvar="SHIPYARD_URL", show_envvar=True, help="The server's address.")
@click.option("--token", envvar="SHIPYARD_TOKEN", show_envvar=True, help="Authenticates you to the server.")
@click.option("--context-marker", type=click.UUID, help="A UUID that marks this request in the logs of all services.")
@click.option("--debug/--no-debug", default=False, help="Log requests and answers on stderr.")
@click.option(
    "--output-format",
    "form",
    type=click.Choice(answers.FORMS),
    default="cli",
    show_default=True,
    help="For people (cli), the formatted answer (format), or the unchanged answer (raw).",
)
@click.option(
    "--verbosity", "-v", type=click.IntRange(0, 5), default=1, show_default=True, help="How many notes to show."
)
@click.option("--os-auth-url", envvar="OS_AUTH_URL", show_envvar=True, help="A Keystone v3 that knows the server.")
@click.option("--os-username", envvar="OS_USERNAME", show_envvar=True, help="Your user name.")
@click.option("--os-password", envvar="OS_PASSWORD", show_envvar=True, help="Your password.")
@click.option(
    "--os-user-domain-name",
    envvar="OS_USER_DOMAIN_NAME",
    show_envvar=True,
    default="default",
    show_default=True,
    help="The domain of your user.",
)
@click.option("--os-project-name", envvar="OS_PROJECT_NAME", show_envvar=True, help="The project to work in.")
@click.option(
    "--os-project-domain-name",
    envvar="OS_PROJECT_DOMAIN_NAME",
    show_envvar=True,
    default="default",
    show_default=True,
    help="The domain of the project.",
)
@click.option(
    "--os-domain-name", envvar="OS_DOMAIN_NAME", show_envvar=True, help="A domain to work in, without a project."
)
@click.option("--os-auth-token", envvar="OS_AUTH_TOKEN", show_envvar=True, help="A token in place of a password.")
@click.pass_context
def shipyard(
    context: click.Context,
    /,
    url: str | None,
    token: str | None,
    context_marker: "UUID | None",
    debug: bool,
    form: str,
    verbosity: int,
    **keystone: str | None,
) -> None:
    """Take a bare-metal site from documents to running servers, group by group.

    New here? `shipyard demo` runs a whole deployment with everything embedded.
    """
    marker = str(context_marker) if context_marker else None
    values = {name.removeprefix("os_"): value for name, value in keystone.items() if value}
    keystone_options = KeystoneOptions(
        token=values.pop("auth_token", None),
        token_as_is=context.get_parameter_source("os_auth_token") is ParameterSource.ENVIRONMENT,
        **values,
    )
    context.obj = GlobalOptions(
        url=url,
        token=token,
        context_marker=marker,
        verbosity=verbosity,
        form=form,
        debug=debug,
        keystone=keystone_options,
    )


@shipyard.group(
    short_help="Load documents, or start an action.",
    epilog=examples(
        "shipyard create configdocs design --directory=site --replace",
        "shipyard create action deploy_site",
    ),
)
def create() -> None:
    """Load documents into the buffer, or start an action."""


@shipyard.group(short_help="Commit the loaded documents.", epilog=examples("shipyard commit configdocs"))
def commit() -> None:
    """Commit the loaded documents."""


@shipyard.group(
    cls=ListGroup,
    short_help="List actions, workflows, nodes or holds, or print documents.",
    epilog=examples(
        "shipyard get actions",
        "shipyard get node compute11",
        "shipyard get configdocs",
        "shipyard get site-statuses",
    ),
)
def get() -> None:
    """List actions, workflows, nodes or holds, or print documents."""


@shipyard.group(
    "describe",
    cls=describe.DescribeGroup,
    short_help="Show one action, step, validation, note, workflow or node.",
    epilog=examples(
        "shipyard describe action/01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "shipyard describe step/01ARZ3NDEKTSV4RRFFQ69G5FAV/preflight",
        "shipyard describe node/compute11",
    ),
)
def describe_() -> None:
    """Show one item. Items as commands print them work, too: action/ID, step/ID/STEP, validation/ID/ID, notedetails/ID,
    workflow/ID, plan/ID and node/NAME.
    """


holds.release.add_command(tasks.tasks_of("release"))
create.add_command(configdocs.create)
create.add_command(actions.create)
commit.add_command(configdocs.commit)
get.add_command(configdocs.get)
get.add_command(configdocs.get_rendered)
get.add_command(actions.get)
get.add_command(action_parts.get_groups)
get.add_command(action_parts.get_steps)
get.add_command(plan.get_plans)
get.add_command(action_parts.events)
get.add_command(describe.get)
get.add_command(nodes.get_nodes)
get.add_command(nodes.get_statuses)
get.add_command(holds.get_holds)
get.add_command(node_operations.etcd_health)
for command in (
    describe.action,
    describe.step,
    describe.validation,
    describe.note_details,
    describe.workflow,
    nodes.describe,
    plan.describe,
):
    describe_.add_command(command)
for command in (
    plan.plan,
    configdocs.explain,
    forecast.forecast,
    action_parts.logs,
    watch.watch,
    wait.wait,
    control.pause,
    control.unpause,
    control.stop,
    control.retry,
    control.ack,
    control.set_,
    reconcile.reconcile,
    approve.approve,
    control.control,
    nodes.report,
    drift.diff,
    fleet.fleet,
    holds.hold,
    holds.release,
    login.login,
    login.logout,
    node_operations.drain_plan,
    deploy_templates.deploy_template,
    node_operations.node,
    inventory.inventory,
    mcp.mcp,
    software.software,
    labels.cluster,
    labels.role,
    labels.tag,
    demo.demo,
    help_topics.help_,
    completion.completion,
    programs.up,
    programs.serve,
    programs.worker,
    programs.db,
    programs.token,
    programs.config,
    imports.import_,
    programs.simulate,
):
    shipyard.add_command(command)


for command in (
    drift.diff,
    fleet.fleet,
    node_operations.node,
    node_operations.drain_plan,
    deploy_templates.deploy_template,
):
    add_output_option(command)
for command in (
    create,
    commit,
    get,
    describe_,
    plan.plan,
    configdocs.explain,
    forecast.forecast,
    action_parts.logs,
    control.retry,
    control.ack,
    control.control,
    nodes.report,
):
    add_output_option(command)
for command in (software.software, labels.cluster, labels.role, labels.tag):
    add_output_option(command)
for command in (control.pause, control.unpause, control.stop, holds.hold, holds.release):
    add_output_option(command)
for command in (control.set_, reconcile.reconcile, approve.approve):
    add_output_option(command)

# Below `get` it has the option -o already.
action_parts.logs.add_command(action_parts.events, "action")


def main() -> None:
    """Run the command line of this process.

    A failed write to stdout is an error of one line, a bug of ours a traceback; the exit code of both is 1.
    """
    # A shell's ">&-" closes the stream; the command must still do its work.
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: PTH123, SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="replace")
    try:
        shipyard(prog_name="shipyard")
    except OSError as error:
        click.echo(f"Error: {error}", err=True)
        # The unwritten output is still in the buffer; flushing it at exit would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except Exception:  # noqa: BLE001 - printed whole
        import traceback

        traceback.print_exc()
        click.echo("Internal error: this is a bug in the shipyard command. Please report the lines above.", err=True)
        sys.exit(1)
