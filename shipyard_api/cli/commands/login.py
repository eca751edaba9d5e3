"""``shipyard login`` and ``shipyard logout``: a person of the server's identity provider in place of a token."""

import click

from shipyard_api.cli.commands.syntax import examples
from shipyard_api.cli.global_options import GlobalOptions


@click.command(
    short_help="Log in with the identity provider of the server.",
    epilog=examples("shipyard login", "shipyard --url https://shipyard.example.org login"),
)
@click.pass_obj
def login(options: GlobalOptions, /) -> None:
    """Log in with the identity provider of the server (device code): confirm a code in any browser.

    Commands without a token then use the login until it ends. It is kept in the system's keyring where there is one.
    """
    from shipyard_api.cli import oidc

    url = _url(options)
    try:
        place = oidc.login(url, click.echo)
    except (oidc.LoginError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Logged in to {url}. The login is kept in {place}.")


@click.command(short_help="Forget the login.", epilog=examples("shipyard logout"))
@click.pass_obj
def logout(options: GlobalOptions, /) -> None:
    """Forget the login for the server. The provider ends its own session by its own rules."""
    from shipyard_api.cli import oidc

    url = _url(options)
    try:
        was_there = oidc.logout(url)
    except oidc.LoginError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"Logged out of {url}." if was_there else f"There is no login for {url}.")


def _url(options: GlobalOptions) -> str:
    if not options.url:
        raise click.UsageError("Missing the address of the server: set SHIPYARD_URL or give --url")
    return options.url.rstrip("/").removesuffix("/api/v1.0")
