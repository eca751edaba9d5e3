"""``shipyard diff site``: what has changed on the site behind Shipyard's back (product, section 9)."""

import click

from shipyard_api.cli.client import Api
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import drift_tables
from shipyard_api.cli.output.answers import Answer
from shipyard_api.cli.output.shapes import list_at, parse_object

DIFFERS, NOT_ASKED = 2, 3
_TIMEOUT = 360.0  # seconds: Drydock and MAAS list large sites for minutes
_SINCE = ("successful-site-action", "last-site-action")


@click.group(
    short_help="Show what has changed on the site behind Shipyard's back.", epilog=examples("shipyard diff site")
)
def diff() -> None:
    """Show what has changed on the site behind Shipyard's back."""


@diff.command(
    "site",
    short_help="Compare the site with what its last action left.",
    epilog=examples("shipyard diff site", "shipyard diff site --since last-site-action -o json"),
)
@click.option(
    "--since", type=click.Choice(_SINCE), default=_SINCE[0], show_default=True, help="The action to compare with."
)
@click.pass_obj
def site(options: GlobalOptions, /, since: str) -> None:
    """Compare what the provisioner and Kubernetes show now with what the last successful site action, and later ones,
    left: nodes that vanished, were released, renamed, powered off or installed again, that are not ready, cordoned, or
    lost labels of the design. Nodes that an action works on are left out. What the committed design asks of nodes is no
    drift, and is listed as to do.

    Exits 2 if anything differs, and 3 if nothing does but a system could not be asked.
    """
    answers: list[Answer] = []

    def asked(api: Api) -> Answer:
        answers.append(api.get("site/differences", [("since", since)]))
        return answers[-1]

    show(options, asked, cli=drift_tables.differences, timeout=_TIMEOUT)
    differences = parse_object(answers[-1].text)
    if list_at(differences, "differences"):
        raise SystemExit(DIFFERS)
    if list_at(differences, "unanswered"):
        raise SystemExit(NOT_ASKED)
