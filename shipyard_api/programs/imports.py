"""Import the designs of another system: ``python -m shipyard_api.programs.imports deckhand …``.

The command line starts this program for `shipyard import deckhand`. It works on the database directly: revisions keep
their numbers, times and tags, which callers of the API cannot choose.
"""

import os
import sys
from dataclasses import replace

import click

from shipyard_api.adapters.schema_files.data_schemas import DataSchemas
from shipyard_api.ports.documents import NoSecretKey, Overtaken, SecretsLocked, UnknownRevision
from shipyard_api.ports.errors import PeerError
from shipyard_api.programs import launch
from shipyard_api.settings.plugins import DESIGN_STORES
from shipyard_api.settings.types import Address
from shipyard_api.storage.schema import check_database
from shipyard_api.usecases.configdocs.import_revisions import (
    ComparedRevision,
    ImportRefused,
    ImportRevisions,
    Outcome,
    named,
)
from shipyard_api.wiring import design_stores
from shipyard_api.wiring.settings import SettingsError, load

_SOURCE = "deckhand"
_COMPARED = {
    Outcome.EQUAL: "renders alike",
    Outcome.IN_NEITHER: "renders neither in Deckhand nor here",
    Outcome.ONLY_THERE: "renders only in Deckhand",
    Outcome.ONLY_HERE: "renders only here",
}


@click.group()
def main() -> None:
    """Import the designs of another system."""


@main.command()
@click.option("--url", required=True, help="Deckhand's address, ending in /api/v1.0.")
@click.option("--dry-run", is_flag=True, help="Only read, compare and show what would be imported.")
def deckhand(url: str, dry_run: bool) -> None:
    """Import revisions, buckets and tags of a Deckhand into the embedded document store, with their numbers.

    Compares what both render, and exits 1 if a revision differs or is left out. A repeated import goes on where the
    last one stopped. A store with other revisions is refused. Works on the database that DATABASE_URL names; the token
    for Deckhand is in the settings.
    """
    settings = load(os.environ)
    _, options = settings.plugin(DESIGN_STORES, _SOURCE)
    try:
        sections = {**settings.of_plugins, _SOURCE: replace(options, url=Address(url))}
    except ValueError as error:
        raise SettingsError([f"--url: {error}"]) from error
    settings = replace(settings, of_plugins=sections)
    target = design_stores.embedded_designs(settings)
    check_database(settings.database.url)
    revisions = ImportRevisions(
        # The target makes the fingerprints.
        source=design_stores.other_store(settings, _SOURCE, fingerprint_key=""),
        target=target,
        importer=design_stores.revision_import(settings),
        compile_schema=DataSchemas(),
        can_encrypt=bool(design_stores.keys(settings)),
    )
    _import(revisions, dry_run=dry_run)


def _import(revisions: ImportRevisions, *, dry_run: bool) -> None:
    if head := revisions.begun():
        click.echo(f"the store has the revisions up to {head}")
    seen: list[ComparedRevision] = []
    for revision in revisions.run(store=not dry_run):
        seen.append(revision)
        click.echo(_line(revision))
    left_out = sum(1 for revision in seen if revision.left_out)
    unsound = sum(1 for revision in seen if not revision.is_sound) - left_out
    word = "would be imported" if dry_run else "imported"
    click.echo(f"{len(seen) - left_out} revision(s) {word}, {unsound} of them render differently; {left_out} left out")
    if unsound or left_out:
        raise SystemExit(1)


def _line(revision: ComparedRevision) -> str:
    tags = f" [{', '.join(sorted(revision.record.tags))}]" if revision.record.tags else ""
    about = f"revision {revision.record.revision}{tags}: {', '.join(revision.collections) or 'empty'}"
    if revision.left_out:
        return f"{about}: left out, {revision.left_out}"
    if revision.outcome is Outcome.DIFFERENT:
        count = f"{len(revision.different)} of {revision.rendered} document(s)"
        return f"{about}: {count} render differently: {named(revision.different)}"
    count = f"{revision.rendered} document(s), " if revision.outcome is Outcome.EQUAL else ""
    why = f": {revision.finding}" if revision.finding else ""
    return f"{about}: {count}{_COMPARED[revision.outcome]}{why}"


def run() -> int | None:
    """Run the command and return its exit code; faults of both stores are one line each."""
    try:
        main(prog_name="shipyard import")
    except NoSecretKey as error:
        first = error.documents[0]
        raise SettingsError(
            [f"[secrets] keys is not set, and the source has secrets, such as {first.schema} '{first.name}'"]
        ) from error
    except (ImportRefused, Overtaken, SecretsLocked, UnknownRevision, PeerError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(launch.run_program(run))
