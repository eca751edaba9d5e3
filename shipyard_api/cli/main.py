"""The command ``shipyard``: global options, all commands, exit codes.

Exit codes: 0 success, 1 an error of the API or no connection, 2 a wrong command line.
"""

from typing import TYPE_CHECKING

import click

from shipyard_api.cli import actions, configdocs, control, demo, documents_read, nodes, render, server, topics, watch
from shipyard_api.cli.settings import Settings

if TYPE_CHECKING:
    from uuid import UUID


@click.group(name="shipyard", context_settings={"help_option_names": ["--help"], "max_content_width": 100})
@click.option("--url", envvar="SHIPYARD_URL", show_envvar=True, help="The server's address.")
@click.option("--token", envvar="SHIPYARD_TOKEN", show_envvar=True, help="Proves to the server who you are.")
@click.option("--context-marker", type=click.UUID, help="A UUID that marks this request in everybody's logs.")
@click.option("--debug/--no-debug", default=False, help="Say on stderr what is asked and answered.")
@click.option("--output-format", "form", type=click.Choice(render.FORMS), default="cli", show_default=True)
@click.option(
    "--verbosity", "-v", type=click.IntRange(0, 5), default=1, show_default=True, help="How many notes to show."
)
@click.pass_context
def shipyard(
    context: click.Context,
    url: str | None,
    token: str | None,
    context_marker: "UUID | None",
    debug: bool,
    form: str,
    verbosity: int,
) -> None:
    """Take a bare-metal site from documents to running servers, group by group.

    New here? `shipyard demo` plays a whole deployment with everything embedded.
    """
    marker = str(context_marker) if context_marker else None
    context.obj = Settings(url=url, token=token, context_marker=marker, verbosity=verbosity, form=form, debug=debug)


@shipyard.group(short_help="Load documents, or start an action.")
def create() -> None:
    """Load documents into the buffer, or start an action."""


@shipyard.group(short_help="Put the loaded documents in force.")
def commit() -> None:
    """Put the loaded documents in force."""


@shipyard.group(short_help="List actions or nodes, or look at documents.")
def get() -> None:
    """List actions or nodes, or look at documents."""


@shipyard.group(cls=actions.Describe, short_help="Look at one action, step or node.")
def describe() -> None:
    """Look at one action, step or node. action/ID, step/ID/STEP and node/NAME, as commands print them, work too."""


create.add_command(configdocs.create)
create.add_command(actions.create)
commit.add_command(configdocs.commit)
get.add_command(documents_read.get)
get.add_command(documents_read.get_rendered)
get.add_command(actions.get)
get.add_command(nodes.get_nodes)
get.add_command(nodes.get_statuses)
describe.add_command(actions.describe)
describe.add_command(actions.describe_step)
describe.add_command(nodes.describe)
for command in (
    watch.watch,
    control.pause,
    control.unpause,
    control.stop,
    control.retry,
    control.control,
    nodes.report,
    demo.demo,
    topics.help_,
    server.up,
    server.serve,
    server.worker,
    server.db,
    server.token,
    server.config,
    server.simulate,
):
    shipyard.add_command(command)


def main() -> None:
    """Run the command line of this process."""
    shipyard(prog_name="shipyard")
