"""``shipyard completion``: the script with which a shell completes commands, options, action names and versions.

It asks no server: what it offers is what this command knows.
"""

import click

from shipyard_api.cli.words import examples

SHELLS = ("bash", "zsh", "fish")


@click.command(
    short_help="Print a script that lets a shell complete commands.",
    epilog=examples(
        'eval "$(shipyard completion bash)"',
        "shipyard completion zsh > ~/.zfunc/_shipyard",
        "shipyard completion fish > ~/.config/fish/completions/shipyard.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the script for SHELL. What it completes: commands, options, names of actions, versions, formats, files."""
    from click.shell_completion import get_completion_class

    if kind := get_completion_class(shell):
        made = kind(context.find_root().command, {}, "shipyard", "_SHIPYARD_COMPLETE")
        # Not source(): for bash that would start a bash to ask for its version.
        click.echo(made.source_template % made.source_vars())
