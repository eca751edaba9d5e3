"""Commands that change documents: load them into the buffer, commit the buffer."""

import click

from shipyard_api.cli import document_files
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output import answers


@click.command(
    "configdocs",
    short_help="Load documents into the buffer, as one collection.",
    epilog=examples(
        "shipyard create configdocs design --directory=site --recurse --replace",
        "shipyard create configdocs secrets --filename=secrets.yaml --append",
    ),
)
@click.argument("collection")
@click.option("--append", is_flag=True, help="Add the collection to what the buffer holds.")
@click.option("--replace", is_flag=True, help="Empty the buffer first.")
@click.option("--filename", "filenames", multiple=True, type=click.Path(exists=True), help="A YAML file. (repeatable)")
@click.option(
    "--directory",
    "directories",
    multiple=True,
    type=click.Path(exists=True),
    help="A directory of YAML files. (repeatable)",
)
@click.option("--recurse", is_flag=True, help="Look into the directories below, too.")
@click.option("--empty-collection", is_flag=True, help="Load no document: the next commit deletes the collection.")
@click.pass_obj
def create(
    settings: Settings,
    /,
    collection: str,
    append: bool,
    replace: bool,
    filenames: tuple[str, ...],
    directories: tuple[str, ...],
    recurse: bool,
    empty_collection: bool,
) -> None:
    """Load YAML documents into the buffer, as the whole content of COLLECTION.

    Without --append or --replace the buffer must be empty. Nothing is in force before `shipyard commit configdocs`.
    """
    if append and replace:
        raise click.UsageError("Either append or replace may be selected but not both")
    query = [("buffermode", "append" if append else "replace")] if append or replace else []
    if empty_collection:
        query.append(("empty-collection", "True"))
        stream = document_files.Stream(b"", ())
    else:
        stream = document_files.joined(document_files.chosen(filenames, directories, recurse=recurse))
    from shipyard_api.cli.client import segment, show

    show(
        settings,
        lambda api: api.post(f"configdocs/{segment(collection)}", query, yaml=stream.body),
        expected=201,
        cli=lambda text: answers.done("Configuration documents added.", text),
        explained=lambda said: document_files.places(stream, said.text),
    )


@click.command(
    "configdocs",
    short_help="Validate the buffer and commit it.",
    epilog=examples("shipyard commit configdocs --dryrun", "shipyard commit configdocs"),
)
@click.option("--force", "-f", is_flag=True, help="Commit even if validation fails.")
@click.option("--dryrun", is_flag=True, help="Only validate.")
@click.pass_obj
def commit(settings: Settings, /, force: bool, dryrun: bool) -> None:
    """Validate everything in the buffer, and put it in force if no error was found."""
    if force and dryrun:
        raise click.UsageError("Either force or dryrun may be selected but not both.")
    title = "Configuration documents committed."
    if dryrun:
        title = "Configuration documents were not committed. Currently in dryrun mode."
    from shipyard_api.cli.client import show

    show(
        settings,
        lambda api: api.post("commitconfigdocs", [("force", str(force)), ("dryrun", str(dryrun))]),
        expected=200,
        cli=lambda text: answers.done(title, text),
    )
