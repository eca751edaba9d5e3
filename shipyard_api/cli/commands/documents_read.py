"""Commands that look at documents: compare two versions, print a collection, print the rendered design."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import Settings
from shipyard_api.cli.output import answers

# In the order in which two of them are sent (contract: shipyard-cli, 2.1).
VERSIONS = {
    "buffer": "The documents loaded since the last commit.",
    "committed": "The documents in force.",
    "last_site_action": "The documents of the last site action.",
    "successful_site_action": "The documents of the last good site action.",
}
_FLAGS = tuple(f"--{version.replace('_', '-')}" for version in VERSIONS)
_BASES = ("committed", "successful-site-action", "last-site-action")
_cleartext = click.option("--cleartext-secrets", is_flag=True, help="Show secrets; needs a right of its own.")


def _version_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    for flag, told in reversed(list(zip(_FLAGS, VERSIONS.values(), strict=True))):
        command = click.option(flag, f"-{flag[2]}", is_flag=True, help=told)(command)
    return command


@click.command(
    "configdocs",
    short_help="Compare two versions of the documents, or print a collection.",
    epilog=examples(
        "shipyard get configdocs",
        "shipyard get configdocs --base-version=last-site-action --diff-version=committed",
        "shipyard get configdocs --collection=design --committed",
    ),
)
@click.option("--collection", help="Print the documents of this collection instead of comparing.")
@_version_flags
@_cleartext
@click.option(
    "--base-version", type=click.Choice(_BASES), help="Show what differs from this version. (default: committed)"
)
@click.option(
    "--diff-version", type=click.Choice(("buffer", *_BASES)), help="Show what differs in this one. (default: buffer)"
)
@click.option("--rendered", is_flag=True, help="Show what differs in the rendered documents.")
@click.pass_obj
def get(
    settings: Settings,
    /,
    collection: str | None,
    cleartext_secrets: bool,
    base_version: str | None,
    diff_version: str | None,
    rendered: bool,
    **flags: bool,
) -> None:
    """Compare two versions of all collections, or print one version of one collection.

    Without options the committed documents are compared with the buffer; a collection is printed from the buffer.
    With --base-version or --diff-version the documents are compared, too: what differs is shown line by line.
    """
    chosen = _chosen(flags)
    if base_version or diff_version:
        if chosen or collection is not None:
            raise click.UsageError(
                "--base-version and --diff-version may not be used with --collection, --buffer, --committed, "
                "--last-site-action or --successful-site-action"
            )
        _differences(settings, base_version or "committed", diff_version or "buffer", rendered=rendered)
    elif rendered:
        raise click.UsageError("--rendered may only be used with --base-version or --diff-version")
    elif collection is not None:
        _print(settings, f"configdocs/{_segment(collection)}", chosen, cleartext=cleartext_secrets)
    else:
        _compare(settings, chosen)


@click.command(
    "renderedconfigdocs",
    short_help="Print the design that the documents make.",
    epilog=examples("shipyard get renderedconfigdocs", "shipyard get renderedconfigdocs --committed"),
)
@_version_flags
@_cleartext
@click.pass_obj
def get_rendered(settings: Settings, /, cleartext_secrets: bool, **flags: bool) -> None:
    """Print the documents as they are used: after layering and substitution. Without options, those of the buffer."""
    _print(settings, "renderedconfigdocs", _chosen(flags), cleartext=cleartext_secrets)


def _chosen(flags: Mapping[str, bool]) -> list[str]:
    return [version for version in VERSIONS if flags[version]]


def _segment(collection: str) -> str:
    from shipyard_api.cli.client import segment

    return segment(collection)


def _print(settings: Settings, path: str, chosen: list[str], *, cleartext: bool) -> None:
    if len(chosen) > 1:
        raise click.UsageError(f"You may only choose one of the following options: {', '.join(_FLAGS)}")
    query = [("version", chosen[0] if chosen else "buffer")]
    if cleartext:
        query.append(("cleartext-secrets", "true"))
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get(path, query), expected=200, cli=str, kind=answers.YAML)


def _compare(settings: Settings, chosen: list[str]) -> None:
    if len(chosen) not in (0, 2):
        raise click.UsageError(
            "Invalid input. Choose none of --buffer, --committed, --last-site-action and --successful-site-action, "
            "which compares committed with buffer, or exactly two of them"
        )
    query = [("versions", version) for version in chosen or ("committed", "buffer")]
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get("configdocs", query), expected=200, cli=answers.collections)


def _differences(settings: Settings, base: str, new: str, *, rendered: bool) -> None:
    query = [("base-version", base), ("diff-version", new)]
    if rendered:
        query.append(("rendered", "true"))
    from shipyard_api.cli.client import show

    show(settings, lambda api: api.get("configdocs", query), expected=200, cli=answers.collections)
    if settings.form == "cli":
        show(
            settings,
            lambda api: api.get("configdocs", [*query, ("format", "unified")]),
            expected=200,
            cli=answers.difference,
            kind=answers.TEXT,
        )
