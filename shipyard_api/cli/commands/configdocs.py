"""Commands about documents: load, commit, compare, print and explain them."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from shipyard_api.cli import document_files
from shipyard_api.cli.commands.request import path_segment, show
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import answers, configdocs_tables, status_text

# In the order in which the contract sends two of them (shipyard-cli, 2.1).
VERSIONS = {
    "buffer": "The documents loaded since the last commit.",
    "committed": "The documents in force.",
    "last_site_action": "The documents of the last site action.",
    "successful_site_action": "The documents of the last successful site action.",
}
_FLAGS = tuple(f"--{version.replace('_', '-')}" for version in VERSIONS)
_BASES = ("committed", "successful-site-action", "last-site-action")
_cleartext = click.option("--cleartext-secrets", is_flag=True, help="Print secrets; needs a role that may read them.")


def version_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a flag for each version."""
    for flag, summary in reversed(list(zip(_FLAGS, VERSIONS.values(), strict=True))):
        command = click.option(flag, f"-{flag[2]}", is_flag=True, help=summary)(command)
    return command


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
@click.option("--recurse", is_flag=True, help="Include subdirectories.")
@click.option("--empty-collection", is_flag=True, help="Load an empty collection: the next commit deletes it.")
@click.pass_obj
def create(
    options: GlobalOptions,
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

    Without --append or --replace the buffer must be empty. The documents take effect with `shipyard commit configdocs`.
    """
    if append and replace:
        raise click.UsageError("Either append or replace may be selected but not both")
    query = [("buffermode", "append" if append else "replace")] if append or replace else []
    if empty_collection:
        query.append(("empty-collection", "True"))
        stream = document_files.DocumentStream(b"", ())
    else:
        stream = document_files.join_files(document_files.find_files(filenames, directories, recurse=recurse))

    show(
        options,
        lambda api: api.post(f"configdocs/{path_segment(collection)}", query, yaml=stream.body),
        expected=201,
        cli=lambda text: status_text.done("Configuration documents added.", text),
        error_notes=lambda answer: document_files.locate(stream, answer.text),
    )


@click.command(
    "configdocs",
    short_help="Validate the buffer and commit it.",
    epilog=examples("shipyard commit configdocs --dryrun", "shipyard commit configdocs"),
)
@click.option("--force", "-f", is_flag=True, help="Commit despite validation errors.")
@click.option("--dryrun", is_flag=True, help="Only validate.")
@click.pass_obj
def commit(options: GlobalOptions, /, force: bool, dryrun: bool) -> None:
    """Validate everything in the buffer, and commit it unless there are errors."""
    if force and dryrun:
        raise click.UsageError("Either force or dryrun may be selected but not both.")
    title = "Configuration documents committed."
    if dryrun:
        title = "Configuration documents were not committed. Currently in dryrun mode."

    show(
        options,
        lambda api: api.post("commitconfigdocs", [("force", str(force)), ("dryrun", str(dryrun))]),
        cli=lambda text: status_text.done(title, text),
    )


@click.command(
    "configdocs",
    short_help="Compare two versions of the documents, or print a collection.",
    epilog=examples(
        "shipyard get configdocs",
        "shipyard get configdocs --base-version=last-site-action --diff-version=committed",
        "shipyard get configdocs --collection=design --committed",
    ),
)
@click.option("--collection", help="Print the documents of this collection.")
@version_flags
@_cleartext
@click.option("--base-version", type=click.Choice(_BASES), help="Compare with this version. (default: committed)")
@click.option("--diff-version", type=click.Choice(("buffer", *_BASES)), help="Compare this version. (default: buffer)")
@click.option("--rendered", is_flag=True, help="Compare the rendered documents.")
@click.pass_obj
def get(
    options: GlobalOptions,
    /,
    collection: str | None,
    cleartext_secrets: bool,
    base_version: str | None,
    diff_version: str | None,
    rendered: bool,
    **flags: bool,
) -> None:
    """Compare two versions of all collections, or print one version of one collection.

    The default is to compare the committed documents with the buffer, and to print a collection from the buffer.
    --base-version and --diff-version also print the documents' differences line by line.
    """
    chosen = _chosen(flags)
    if base_version or diff_version:
        if chosen or collection is not None:
            raise click.UsageError(
                "--base-version and --diff-version may not be used with --collection, --buffer, --committed, "
                "--last-site-action or --successful-site-action"
            )
        _differences(options, base_version or "committed", diff_version or "buffer", rendered=rendered)
    elif rendered:
        raise click.UsageError("--rendered may only be used with --base-version or --diff-version")
    elif collection is not None:
        _print(options, f"configdocs/{path_segment(collection)}", chosen, cleartext=cleartext_secrets)
    else:
        _compare(options, chosen)


@click.command(
    "renderedconfigdocs",
    short_help="Print the rendered design.",
    epilog=examples("shipyard get renderedconfigdocs", "shipyard get renderedconfigdocs --committed"),
)
@version_flags
@_cleartext
@click.pass_obj
def get_rendered(options: GlobalOptions, /, cleartext_secrets: bool, **flags: bool) -> None:
    """Print the documents after layering and substitution. The default version is the buffer."""
    _print(options, "renderedconfigdocs", _chosen(flags), cleartext=cleartext_secrets)


def _chosen(flags: Mapping[str, bool]) -> list[str]:
    return [version for version in VERSIONS if flags[version]]


def version_of(flags: Mapping[str, bool]) -> str:
    """Return the version that the flags choose, the buffer without one."""
    return _only(_chosen(flags))


def _only(chosen: list[str]) -> str:
    if len(chosen) > 1:
        raise click.UsageError(f"You may only choose one of the following options: {', '.join(_FLAGS)}")
    return chosen[0] if chosen else "buffer"


def _print(options: GlobalOptions, path: str, chosen: list[str], *, cleartext: bool) -> None:
    query = [("version", _only(chosen))]
    if cleartext:
        query.append(("cleartext-secrets", "true"))

    show(options, lambda api: api.get(path, query), cli=str, kind=answers.YAML)


def _compare(options: GlobalOptions, chosen: list[str]) -> None:
    if len(chosen) not in (0, 2):
        raise click.UsageError(
            "Invalid input. Choose none of --buffer, --committed, --last-site-action and --successful-site-action, "
            "which compares committed with buffer, or exactly two of them"
        )
    query = [("versions", version) for version in chosen or ("committed", "buffer")]

    show(options, lambda api: api.get("configdocs", query), cli=configdocs_tables.collections)


def _differences(options: GlobalOptions, base: str, new: str, *, rendered: bool) -> None:
    query = [("base-version", base), ("diff-version", new)]
    if rendered:
        query.append(("rendered", "true"))

    show(options, lambda api: api.get("configdocs", query), cli=configdocs_tables.collections)
    if options.form == "cli":
        show(
            options,
            lambda api: api.get("configdocs", [*query, ("format", "unified")]),
            cli=configdocs_tables.difference,
            kind=answers.TEXT,
        )


@click.command(
    short_help="Explain which documents made a value of the rendered design.",
    epilog=examples(
        "shipyard explain small-site /data/node_labels",
        "shipyard explain drydock/BaremetalNode/v1/n1 /data/hardware_profile --committed",
    ),
)
@click.argument("document")
@click.argument("path")
@version_flags
@click.pass_obj
def explain(options: GlobalOptions, /, document: str, path: str, **flags: bool) -> None:
    """Print the chain of parents, actions and substitutions that made the value at PATH of DOCUMENT.

    DOCUMENT is a name, or a schema and a name: SCHEMA/NAME. PATH is a JSON pointer, such as /data/hardware_profile. The
    default version is the buffer. Secrets are not shown.
    """
    schema, _, name = document.rpartition("/")
    if not name:
        raise click.UsageError(f"DOCUMENT {document!r} is no name: write NAME or SCHEMA/NAME.")
    if path != "/data" and not path.startswith("/data/"):
        raise click.UsageError(f"PATH {path!r} is no JSON pointer into the data: write one such as /data/node_labels.")
    query = [("version", version_of(flags)), ("metadata.name", name), ("explain", path)]
    query += [("schema", schema)] if schema else []

    show(options, lambda api: api.get("renderedconfigdocs", query), cli=configdocs_tables.explanation)
