"""The option ``-o`` after a command, as kubectl has it; ``--output-format`` before the command is the contract's."""

from dataclasses import replace

import click

from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output.answers import KUBECTL_FORMS


def add_output_option(command: click.Command) -> None:
    """Let a command, or every command of a group, take ``-o``."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            add_output_option(inner)
        return
    command.params.append(
        click.Option(
            ["-o", "--output"],
            type=click.Choice(KUBECTL_FORMS),
            expose_value=False,
            callback=_choose,
            help="JSON or YAML, only the names, or tables with more columns. (default: --output-format)",
        )
    )


def _choose(context: click.Context, _: click.Parameter, form: str | None) -> None:
    if form and isinstance(context.obj, GlobalOptions):
        context.obj = replace(context.obj, form=form)
