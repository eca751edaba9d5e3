"""Printing on stdout: the contract's text, or on a terminal the same with colours and fitted tables."""

import os
import sys

import click

from shipyard_api.cli.output.printout import Printout
from shipyard_api.cli.output.wording import printable_lines


def print_output(output: str | Printout, *, form: str) -> None:
    """Print an output. No text of the server controls a terminal, except in the form ``raw``."""
    if form == "raw" or not sys.stdout.isatty():
        # With color=True click removes no escape sequences: pipes and files get the text as it was received.
        click.echo(str(output), color=True)
    elif isinstance(output, Printout) and form == "cli" and _colours_wanted():
        from shipyard_api.cli.output.tables import print_to_terminal

        print_to_terminal(output)
    else:
        click.echo(printable_lines(str(output)), color=True)


def _colours_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
