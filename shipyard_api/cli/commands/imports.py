"""Commands that import from other systems."""

import click

from shipyard_api.cli.commands.programs import become
from shipyard_api.cli.commands.syntax import examples


@click.group(
    "import",
    short_help="Import designs and task graphs of other systems.",
    epilog=examples("shipyard import deckhand --url http://deckhand:9000/api/v1.0 --dry-run"),
)
def import_() -> None:
    """Import what another system holds, when you come from Airship or Fuel."""


@import_.command(
    "deckhand",
    short_help="Import revisions, buckets and tags of a Deckhand.",
    epilog=examples(
        "shipyard import deckhand --url http://deckhand:9000/api/v1.0 --dry-run",
        "shipyard import deckhand --url http://deckhand:9000/api/v1.0",
    ),
)
@click.option("--url", required=True, help="Deckhand's address, ending in /api/v1.0.")
@click.option("--dry-run", is_flag=True, help="Only read, compare and show what would be imported.")
def deckhand(**_: object) -> None:
    """Import revisions, buckets and tags of a Deckhand into the embedded document store, with their numbers.

    Compares what both render, and exits 1 if a revision differs or is left out. A repeated import goes on where the
    last one stopped. A store with other revisions is refused. Works on the database that DATABASE_URL names; the token
    for Deckhand is in the settings.
    """
    become("shipyard_api.imports", "deckhand")
