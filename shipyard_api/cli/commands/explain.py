"""``shipyard explain``: how a value of the rendered design came to be."""

import click

from shipyard_api.cli.commands.configdocs import version_flags, version_of
from shipyard_api.cli.commands.request import show
from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import GlobalOptions
from shipyard_api.cli.output import explanation_text


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

    show(options, lambda api: api.get("renderedconfigdocs", query), cli=explanation_text.explanation)
